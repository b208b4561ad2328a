"""A run loop inside Python's asyncio: add_reader() on the one descriptor of a guest. Run with the library's path as the argument."""

import asyncio
import ctypes
import sys

runloop = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "librunloop.so.0")


class GuestState(ctypes.Structure):
    _fields_ = [("version", ctypes.c_long), ("fd", ctypes.c_int), ("events", ctypes.c_short), ("timeout", ctypes.c_double)]


TIMER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
for name in ("RLRunLoopGetCurrent", "RLRunLoopTimerCreateWithDelay"):
    getattr(runloop, name).restype = ctypes.c_void_p
runloop.RLRunLoopTimerCreateWithDelay.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double, TIMER, ctypes.c_void_p]
runloop.RLRunLoopAddTimer.argtypes = [ctypes.c_void_p] * 3
runloop.RLRunLoopTimerInvalidate.argtypes = [ctypes.c_void_p]
runloop.RLRelease.argtypes = [ctypes.c_void_p]
runloop.RLRunLoopPrepareGuest.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.POINTER(GuestState)]
runloop.RLRunLoopDispatchGuest.argtypes = [ctypes.c_void_p]
mode = ctypes.c_void_p.in_dll(runloop, "kRLRunLoopDefaultMode")
TIMER_IN_DESCRIPTOR = 1


def attach():
    """The calling thread's run loop becomes a guest of the running asyncio loop."""
    state = GuestState(version=0)
    if not runloop.RLRunLoopPrepareGuest(mode, TIMER_IN_DESCRIPTOR, ctypes.byref(state)):
        raise OSError("no descriptor")
    asyncio.get_running_loop().add_reader(state.fd, runloop.RLRunLoopDispatchGuest, mode)


async def main():
    attach()
    ticks = asyncio.Queue()
    callback = TIMER(lambda timer, info: ticks.put_nowait("a tick of the run loop"))  # keep it as long as the timer lives
    timer = runloop.RLRunLoopTimerCreateWithDelay(None, 0.01, 0.01, callback, None)
    runloop.RLRunLoopAddTimer(runloop.RLRunLoopGetCurrent(), timer, mode)
    for _ in range(3):
        print(await ticks.get())
        await asyncio.sleep(0.001)
    runloop.RLRunLoopTimerInvalidate(timer)
    runloop.RLRelease(timer)


asyncio.run(main())
