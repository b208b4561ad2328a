"""A run loop inside Python's asyncio: add_reader() on the guest's only descriptor. Run it with the library's path as
argument."""

import asyncio
import sys
import threading
from ctypes import CDLL, CFUNCTYPE, Structure, byref, c_double, c_int, c_long, c_short, c_ubyte, c_ulong, c_void_p

runloop = CDLL(sys.argv[1] if len(sys.argv) > 1 else "librunloop.so.0")
STOPPED, TIMER_IN_DESCRIPTOR = 2, c_ulong(1)


class Handle(c_void_p):
    """A handle, as returned and passed. With a plain c_void_p, ctypes would return a number, and pass it as an int."""


class GuestState(Structure):
    _fields_ = [("version", c_long), ("fd", c_int), ("events", c_short), ("timeout", c_double)]


runloop.RLRunLoopGetCurrent.restype = runloop.RLRunLoopTimerCreateWithDelay.restype = Handle
runloop.RLRunLoopPrepareGuest.restype = c_ubyte
mode = Handle.in_dll(runloop, "kRLRunLoopDefaultMode")


async def main():
    loop, rl, state = asyncio.get_running_loop(), runloop.RLRunLoopGetCurrent(), GuestState(version=0)
    if not runloop.RLRunLoopPrepareGuest(mode, TIMER_IN_DESCRIPTOR, byref(state)):
        raise OSError("no descriptor")
    said, stopped = asyncio.Queue(), asyncio.Event()
    loop.add_reader(state.fd, lambda: runloop.RLRunLoopDispatchGuest(mode) == STOPPED and stopped.set())

    # With ctypes, a callback object must be kept as long as the callback may be called.
    tick = CFUNCTYPE(None, c_void_p, c_void_p)(lambda timer, info: said.put_nowait("a tick of the run loop"))
    timer = runloop.RLRunLoopTimerCreateWithDelay(None, c_double(0.01), c_double(0.01), tick, None)
    runloop.RLRunLoopAddTimer(rl, timer, mode)
    for _ in range(3):
        print(await said.get())
    runloop.RLRunLoopTimerInvalidate(timer)
    runloop.RLRelease(timer)

    greet = CFUNCTYPE(None, c_void_p)(lambda info: (print("a function that a thread has posted"), runloop.RLRunLoopStop(rl)))
    threading.Thread(target=runloop.RLRunLoopPostFunction, args=(rl, mode, greet, None)).start()
    await stopped.wait()
    print("stopped")
    loop.remove_reader(state.fd)
    runloop.RLRunLoopLeaveGuest()


asyncio.run(main())
