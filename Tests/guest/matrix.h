/* What a run loop does as the guest of a host: the same scenarios for every host. A program defines the functions
 * below, and is called with the name of a scenario; it returns 0 if the scenario works. */
#ifndef RUNLOOP_TESTS_GUEST_MATRIX_H
#define RUNLOOP_TESTS_GUEST_MATRIX_H
#include <errno.h>
#include "latency.h"

/* The host. `stopped` is called after RLRunLoopStop(). */
static void host_begin(void (*stopped)(void));
static void host_run(void);  /* until host_quit(), also nested */
static void host_quit(void); /* the innermost host_run() */
static void host_after(unsigned milliseconds, void (*function)(void));
static void host_watch(int fd, void (*readable)(void));
static void host_end(void);
#ifdef HOST_ATTACHES
static int host_attaches_again(void); /* to another mode; sets errno if that fails */
#endif

static void quit(void)
{
    calls++;
    host_quit();
}
static void quit_function(void *info)
{
    (void)info;
    quit();
}
static void stop_loop(void *info) { RLRunLoopStop((RLRunLoopRef)info); }
static void quit_timer(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
    quit();
}
static void add_timer(double seconds)
{
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, seconds, 0, quit_timer, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

static void *post(void *info)
{
    CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, quit_function, NULL));
    return info;
}
static void *stop_on_thread(void *info)
{
    RLRunLoopStop(rl);
    return info;
}
static void *add_earlier_timer(void *info)
{
    add_timer(0.005);
    return info;
}
static void quit_after_read(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)f;
    (void)types;
    (void)info;
    read_byte();
    quit();
}
static void quit_after_read_by_host(void)
{
    read_byte();
    quit();
}

/* A callback of the run loop that runs the host's loop, in which the run loop is served. */
static void nest_host(void *info)
{
    (void)info;
    run_beside(post, host_run);
    CHECK(calls == 1);
    quit();
}

/* A callback of the host that runs the run loop. */
static void nest_loop(void)
{
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.005, 0, quit_timer, NULL);
    int before = calls;
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, stop_loop, rl));
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0) == kRLRunLoopRunStopped);
    CHECK(calls == before);
    /* Afterwards the loop is a guest again. */
    add_timer(0.005);
}

static void stopped(void) { quit(); }

int main(int count, char **arguments)
{
    const char *scenario = count > 1 ? arguments[1] : "";
    RLRunLoopObserverRef observer = begin_counting_passes();
    RLRunLoopSourceContext nothing = {.perform = NULL};
    RLRunLoopSourceRef keeper = RLRunLoopSourceCreate(NULL, 0, &nothing);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    host_begin(stopped);
    int wanted = 1;
    if (strcmp(scenario, "timer") == 0) {
        add_timer(0.005);
        host_run();
    } else if (strcmp(scenario, "post") == 0) {
        run_beside(post, host_run);
    } else if (strcmp(scenario, "stop") == 0) {
        run_beside(stop_on_thread, host_run);
    } else if (strcmp(scenario, "earlier-timer") == 0) {
        add_timer(1000);
        run_beside(add_earlier_timer, host_run);
    } else if (strcmp(scenario, "descriptor") == 0) {
        RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, ends[0], 1, quit_after_read, NULL);
        RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
        RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
        run_beside(write_byte, host_run);
        RLFileDescriptorInvalidate(f);
        RLRelease(source);
        RLRelease(f);
        close(ends[1]);
#ifdef HOST_ATTACHES
    } else if (strcmp(scenario, "attached-again") == 0) {
        CHECK(!host_attaches_again() && errno == EBUSY);
        run_beside(post, host_run);
#endif
    } else if (strcmp(scenario, "nested") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, nest_host, NULL));
        host_run();
        wanted = 2;
    } else if (strcmp(scenario, "nested-loop") == 0) {
        host_after(1, nest_loop);
        host_run();
    } else if (strcmp(scenario, "host") == 0) {
        /* The host's own work continues in addition, even from a callback of the run loop. */
        host_after(5, quit);
        host_run();
        host_after(5, quit);
        host_run();
        host_watch(ends[0], quit_after_read_by_host);
        run_beside(write_byte, host_run);
        wanted = 3;
    } else if (strcmp(scenario, "latency") == 0 && count == 3) {
        measure_latency(arguments[2], host_watch, host_run, quit);
    } else if (strcmp(scenario, "idle") == 0) {
        add_timer(1000);
        host_after(200, quit);
        host_run();
        CHECK(passes <= 3);
    } else {
        return 2;
    }
    CHECK(calls == wanted);
    host_end();
    /* The loop is an ordinary one again. */
    calls = 0;
    CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, stop_loop, rl));
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0) == kRLRunLoopRunStopped);
    end_counting_passes(observer);
    RLRunLoopSourceInvalidate(keeper);
    RLRelease(keeper);
    return 0;
}
#endif
