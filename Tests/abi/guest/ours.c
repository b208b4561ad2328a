/* The part of the guest program that uses this library's loop. It is a separate file and, when the library is to be
   loaded late, a separate shared object: the Swift part finds the functions below by name. */
#include <RunLoop/RunLoop.h>

typedef void (*Visit)(void *info);

struct visit {
    Visit visit;
    void *info;
    int left;
};

static void count_down(RLRunLoopTimerRef timer, void *info)
{
    struct visit *it = info;
    it->visit(it->info);
    if (--it->left == 0) {
        RLRunLoopTimerInvalidate(timer);
        RLRunLoopStop(RLRunLoopGetCurrent());
    }
}

/* Calls `visit` that many times from a repeating timer of the calling thread's loop. Returns 0 if that stopped the
 * loop. */
int our_loop_visits(Visit visit, void *info, int times)
{
    struct visit it = {visit, info, times};
    RLRunLoopTimerContext context = {0, &it, NULL, NULL, NULL};
    RLRunLoopTimerRef timer =
        RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 0.001, 0.001, 0, 0, count_down, &context);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    RLRelease(timer);
    return result == kRLRunLoopRunStopped ? 0 : 1;
}

/* Posts to the calling thread's loop, and runs it once: `visit` has been called if this returns 0. */
int our_loop_performs(Visit visit, void *info)
{
    RLStringRef mode = RLStringCreateWithCString(NULL, "guest", kRLStringEncodingUTF8);
    RLRunLoopTimerRef keeper = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 3600, 0, 0, 0, count_down, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), keeper, mode);
    int posted = RLRunLoopPostFunction(RLRunLoopGetCurrent(), mode, visit, info);
    RLRunLoopRunResult result = RLRunLoopRunInMode(mode, 0, 0);
    RLRunLoopTimerInvalidate(keeper);
    RLRelease(keeper);
    RLRelease(mode);
    return posted && result == kRLRunLoopRunTimedOut ? 0 : 1;
}
