/*
 * Unwind.c -- what happens when a C++ exception leaves a client's callback.
 *
 * Debuggers, profilers and unwinders can walk the library's frames, so an exception could pass through them. It would
 * leave a loop that still considers itself in the middle of a pass. No frame of the library lets an exception through:
 * the Makefile makes this function the personality routine of each. The unwinder calls it while it searches for a
 * handler, before anything has been unwound, so a debugger or the core file shows where the exception was thrown.
 *
 * Thread exit (pthread_exit, pthread_cancel) unwinds, too. That may pass: RunLoop+Calls.swift cleans up after it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

_Unwind_Reason_Code linux_stop_exception(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context);

__attribute__((visibility("hidden"), used)) _Unwind_Reason_Code
linux_stop_exception(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                     struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    (void)version, (void)class, (void)exception, (void)context;
    if ((actions & _UA_FORCE_UNWIND) == 0) {
        static const char line[] = "runloop: an exception escaped from a run loop callback; catch it in the callback "
                                   "(see RLBase.h); aborting\n";
        syscall(SYS_write, STDERR_FILENO, line, sizeof line - 1);
        abort();
    }
    return _URC_CONTINUE_UNWIND;
}
