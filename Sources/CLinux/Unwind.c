/*
 * Unwind.c -- what happens when a C++ exception leaves a client's function.
 *
 * The library's frames can be walked by debuggers, profilers and unwinders, so an exception could pass through them, and would
 * leave a loop that still believes to be in the middle of a pass. No frame of the library lets one through: the Makefile
 * makes this function the personality routine of each. The unwinder calls it while it looks for a handler, before anything has
 * been unwound: a debugger, or the core file, shows where the exception was thrown.
 *
 * The end of a thread unwinds, too (pthread_exit, pthread_cancel). That may pass: RunLoop+Calls.swift clears up behind it.
 */
#include <stdlib.h>
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
        static const char line[] =
            "runloop: an exception left a callback of a run loop; catch it there: see RLBase.h. The process ends.\n";
        (void)!write(STDERR_FILENO, line, sizeof line - 1);
        abort();
    }
    return _URC_CONTINUE_UNWIND;
}
