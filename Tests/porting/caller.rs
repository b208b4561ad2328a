// A Rust program that knows only CF's names: a timer, an observer and a source, and CF's constants.
use std::os::raw::{c_double, c_long, c_uchar, c_ulong, c_void};
use std::ptr::null_mut;

type Ref = *mut c_void;

#[repr(C)]
struct SourceContext {
    version: c_long,
    info: Ref,
    unused: [Ref; 7],
    perform: extern "C" fn(Ref),
}

#[repr(C)]
struct Context {
    version: c_long,
    info: Ref,
    unused: [Ref; 3],
}

#[repr(C)]
struct ArrayCallBacks {
    version: c_long,
    functions: [Ref; 4],
}

#[link(name = "runloop-cf")]
extern "C" {
    static kCFRunLoopDefaultMode: Ref;
    static kCFTypeArrayCallBacks: ArrayCallBacks;
    static kCFAbsoluteTimeIntervalSince1970: c_double;
    fn CFRunLoopGetCurrent() -> Ref;
    fn CFRunLoopRunInMode(mode: Ref, seconds: c_double, once: c_uchar) -> i32;
    fn CFRunLoopStop(rl: Ref);
    fn CFRunLoopAddTimer(rl: Ref, timer: Ref, mode: Ref);
    fn CFRunLoopAddObserver(rl: Ref, observer: Ref, mode: Ref);
    fn CFRunLoopAddSource(rl: Ref, source: Ref, mode: Ref);
    fn CFRunLoopTimerCreate(a: Ref, date: c_double, interval: c_double, flags: c_ulong, order: c_long,
        callout: extern "C" fn(Ref, Ref), context: *mut Context) -> Ref;
    fn CFRunLoopObserverCreate(a: Ref, activities: c_ulong, repeats: c_uchar, order: c_long,
        callout: extern "C" fn(Ref, c_ulong, Ref), context: *mut Context) -> Ref;
    fn CFRunLoopSourceCreate(a: Ref, order: c_long, context: *mut SourceContext) -> Ref;
    fn CFRunLoopSourceSignal(source: Ref);
    fn CFAbsoluteTimeGetCurrent() -> c_double;
    fn CFArrayCreate(a: Ref, values: *const Ref, count: c_long, callbacks: *const ArrayCallBacks) -> Ref;
    fn CFGetRetainCount(object: Ref) -> c_long;
    fn CFRelease(object: Ref);
}

struct State {
    ticks: u32,
    passes: u32,
    performed: u32,
    source: Ref,
}

extern "C" fn tick(_timer: Ref, info: Ref) {
    let state = unsafe { &mut *(info as *mut State) };
    state.ticks += 1;
    if state.ticks == 3 {
        unsafe { CFRunLoopSourceSignal(state.source) }
    }
}

extern "C" fn observe(_observer: Ref, _activity: c_ulong, info: Ref) {
    unsafe { (*(info as *mut State)).passes += 1 }
}

extern "C" fn perform(info: Ref) {
    unsafe {
        (*(info as *mut State)).performed += 1;
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
}

fn main() {
    let mut state = State { ticks: 0, passes: 0, performed: 0, source: null_mut() };
    let info = &mut state as *mut State as Ref;
    unsafe {
        let mut source_context = SourceContext { version: 0, info, unused: [null_mut(); 7], perform };
        let mut context = Context { version: 0, info, unused: [null_mut(); 3] };
        let rl = CFRunLoopGetCurrent();
        state.source = CFRunLoopSourceCreate(null_mut(), 0, &mut source_context);
        let timer = CFRunLoopTimerCreate(null_mut(), CFAbsoluteTimeGetCurrent(), 0.01, 0, 0, tick, &mut context);
        let observer = CFRunLoopObserverCreate(null_mut(), 1, 1, 0, observe, &mut context);
        CFRunLoopAddSource(rl, state.source, kCFRunLoopDefaultMode);
        CFRunLoopAddTimer(rl, timer, kCFRunLoopDefaultMode);
        CFRunLoopAddObserver(rl, observer, kCFRunLoopDefaultMode);
        let array = CFArrayCreate(null_mut(), &timer, 1, &kCFTypeArrayCallBacks);
        let held = CFGetRetainCount(timer);
        CFRelease(array);
        let result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 30.0, 0);
        println!("{} ticks {} entries {} performed {} array holds {} epoch {}", result, state.ticks, state.passes,
            state.performed, held - CFGetRetainCount(timer), kCFAbsoluteTimeIntervalSince1970);
    }
}
