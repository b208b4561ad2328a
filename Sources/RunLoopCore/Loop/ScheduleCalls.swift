import CLinux
import CRunLoop

/// The calls of a source's schedule or cancel function that are due after its modes have changed. The names of the modes are collected with
/// the lock held, so that the function can be called without it. No step of the iteration: called when a source is added or removed.
struct ScheduleCalls: ~Copyable {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void

    /// Retained, because a call may remove the source from its last loop.
    private var source: SourcePointer?
    /// The names, each retained. The first few need no allocation, so that nothing can fail for a source in few modes.
    private var first = InlineArray<8, StringPointer?>(repeating: nil)
    private var rest = PlainList<StringPointer>()
    private var count = 0

    init() {}

    private subscript(index: Int) -> StringPointer {
        index < first.count ? first[index].unsafelyUnwrapped : rest[index - first.count]
    }

    /// Collects the modes that are in exactly one of the two sets, if the source has a schedule or cancel function. Returns false if out of
    /// memory. The caller holds the lock.
    mutating func collect(_ loop: RunLoopPointer, _ source: SourcePointer, from old: ModeSetPointer?, to new: ModeSetPointer?) -> Bool {
        guard let detail = source.pointee.detail, detail.pointee.schedule != nil || detail.pointee.cancel != nil else { return true }
        if self.source == nil {
            self.source = source
            source.pointee.item.object.retain()
        }
        for number in 1..<loop.pointee.modes.count {
            let wasIn = old.map { $0.pointee.modes.contains(number) } ?? false
            let isIn = new.map { $0.pointee.modes.contains(number) } ?? false
            guard wasIn != isIn, let mode = loop.pointee.modes[number] else { continue }
            if !append(mode.pointee.name) { return false }
        }
        return true
    }

    /// Adds a name and retains it. Returns false if out of memory.
    mutating func append(_ name: StringPointer) -> Bool {
        if count < first.count { first[count] = name } else if !rest.append(name) { return false }
        count += 1
        name.retain()
        return true
    }

    /// Calls `function` once for each name. Call without a lock held. Calls user code.
    func call(_ function: Function, _ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer) {
        let held = HeldWhileCalling()
        if let source { held.register(source) }
        held.registerMemory(rest.elements)
        for index in 0..<count {
            held.register(self[index]) { name, _, _ in (Handle.storage(UnsafeRawPointer(name)) as StringPointer).release() }
        }
        for index in 0..<count {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION(function, info, loop, self[index].handle)
        }
        held.end()
    }

    /// Releases the source and the names. Must always be called, without a lock held. May call user code.
    mutating func release() {
        for index in 0..<count { self[index].release() }
        rest.truncate(to: 0)
        count = 0
        source?.release()
        source = nil
    }
}
