/* Actions of another thread while the main thread waits for messages. The main thread has to serve them as in any sleep;
 * otherwise the test hangs until its time limit. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_MEANWHILE_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_MEANWHILE_H
#include "message-port.h"

static RLRunLoopRef main_loop;
static RLRunLoopMode mode;
static sem_t served;

static void say_served(UNUSED void *info) { sem_post(&served); }
static void timer_serves(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { sem_post(&served); }
static void observer_serves(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    sem_post(&served);
}

static void add_timer(void)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, timer_serves, NULL);
    RLRunLoopAddTimer(main_loop, timer, mode);
    RLRelease(timer);
    sem_wait(&served);
}

static void post_function(void)
{
    RLRunLoopPostFunction(main_loop, mode, say_served, NULL);
    sem_wait(&served);
}

static void signal_source(void)
{
    RLRunLoopSourceRef source = make_source(0, say_served, NULL);
    RLRunLoopAddSource(main_loop, source, mode);
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(main_loop);
    sem_wait(&served);
    drop_source(source);
}

static void add_descriptor(void)
{
    int ends[2];
    make_pipe(ends);
    struct watch watch = {.fd = ends[0], .reads = true};
    RLRunLoopSourceContext1 context = {.version = 1, .info = &watch, .getPort = watch_port, .perform = watch_perform};
    watch.source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLRunLoopAddSource(main_loop, watch.source, mode);
    require(write(ends[1], "x", 1) == 1);
    await_count(&watch.performed, 1);
    drop_source(watch.source);
    close_pipe(ends);
}

static void add_observer(void)
{
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, true, 0, observer_serves, NULL);
    RLRunLoopAddObserver(main_loop, observer, mode);
    RLRunLoopWakeUp(main_loop);
    sem_wait(&served);
    drop_observer(observer);
}

static void wake_up(void)
{
    for (int round = 0; round < 100; round++)
        RLRunLoopWakeUp(main_loop);
}

#define MEANWHILE add_timer, post_function, signal_source, add_descriptor, add_observer, wake_up

#endif
