"""A Python program that knows only CF's names: a timer, an observer and a source on the main loop, which then waits,
although empty, until another thread stops it."""

import ctypes
import sys
import threading

cf = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_void_p
for name, result, arguments in [
    ("CFRunLoopGetCurrent", pointer, []), ("CFRunLoopGetMain", pointer, []), ("CFRunLoopRun", None, []),
    ("CFRunLoopIsWaiting", ctypes.c_ubyte, [pointer]), ("CFRunLoopSourceInvalidate", None, [pointer]),
    ("CFRunLoopTimerInvalidate", None, [pointer]),
    ("CFRunLoopRunInMode", ctypes.c_int32, [pointer, ctypes.c_double, ctypes.c_ubyte]),
    ("CFRunLoopAddTimer", None, [pointer] * 3), ("CFRunLoopAddObserver", None, [pointer] * 3),
    ("CFRunLoopAddSource", None, [pointer] * 3), ("CFRunLoopStop", None, [pointer]),
    ("CFRunLoopTimerCreate", pointer, [pointer, ctypes.c_double, ctypes.c_double, ctypes.c_ulong, ctypes.c_long, pointer, pointer]),
    ("CFRunLoopObserverCreate", pointer, [pointer, ctypes.c_ulong, ctypes.c_ubyte, ctypes.c_long, pointer, pointer]),
    ("CFRunLoopSourceCreate", pointer, [pointer, ctypes.c_long, pointer]), ("CFRunLoopSourceSignal", None, [pointer]),
    ("CFAbsoluteTimeGetCurrent", ctypes.c_double, []), ("CFRelease", None, [pointer]),
    ("CFStringCreateWithCString", pointer, [pointer, ctypes.c_char_p, ctypes.c_uint32]),
    ("CFStringGetCStringPtr", ctypes.c_char_p, [pointer, ctypes.c_uint32]), ("CFEqual", ctypes.c_ubyte, [pointer] * 2),
]:
    function = getattr(cf, name)
    function.restype, function.argtypes = result, arguments

mode = pointer.in_dll(cf, "kCFRunLoopDefaultMode")
loop = cf.CFRunLoopGetCurrent()
events = []


class SourceContext(ctypes.Structure):
    _fields_ = [("version", ctypes.c_long), ("info", pointer)] + \
        [(name, pointer) for name in ("retain", "release", "describe", "equal", "hash", "schedule", "cancel", "perform")]


@ctypes.CFUNCTYPE(None, pointer, pointer)
def tick(timer, info):
    events.append("timer")
    if events.count("timer") == 3:
        cf.CFRunLoopSourceSignal(source)


@ctypes.CFUNCTYPE(None, pointer, ctypes.c_ulong, pointer)
def observe(observer, activity, info):
    events.append(f"activity {activity}")


@ctypes.CFUNCTYPE(None, pointer)
def perform(info):
    events.append("source")
    cf.CFRunLoopStop(loop)


timer = cf.CFRunLoopTimerCreate(None, cf.CFAbsoluteTimeGetCurrent(), 0.01, 0, 0, ctypes.cast(tick, pointer), None)
observer = cf.CFRunLoopObserverCreate(None, 1 | 128, 1, 0, ctypes.cast(observe, pointer), None)
context = SourceContext(version=0, perform=ctypes.cast(perform, pointer))
source = cf.CFRunLoopSourceCreate(None, 0, ctypes.byref(context))
cf.CFRunLoopAddTimer(loop, timer, mode)
cf.CFRunLoopAddObserver(loop, observer, mode)
cf.CFRunLoopAddSource(loop, source, mode)
assert loop == cf.CFRunLoopGetMain()
result = cf.CFRunLoopRunInMode(mode, 30, 0)
cf.CFRunLoopTimerInvalidate(timer)
cf.CFRunLoopSourceInvalidate(source)
events.append(f"empty {cf.CFRunLoopRunInMode(mode, 0.01, 0)}")


def stop_when_asleep():
    while not cf.CFRunLoopIsWaiting(loop):
        pass
    cf.CFRunLoopStop(loop)


thread = threading.Thread(target=stop_when_asleep)
thread.start()
cf.CFRunLoopRun()
thread.join()
events.append("stopped")
own = cf.CFStringCreateWithCString(None, b"kCFRunLoopDefaultMode", 0x08000100)
print(result, cf.CFStringGetCStringPtr(mode, 0x08000100).decode(), cf.CFEqual(own, mode), *events, sep=", ")
