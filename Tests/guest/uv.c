/* What adapters/uv.h promises beyond the matrix: libuv as the guest of a run loop. */
#include <RunLoop/adapters/uv.h>
#include <pthread.h>
#include <stdio.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static RLRunLoopRef rl;
static int calls, passes, ends[2];
static uv_timer_t timer, other;
static uv_async_t async;
static uv_poll_t polled;

static void stop(void)
{
    calls++;
    RLRunLoopStop(rl);
}
static void on_timer(uv_timer_t *its) { (void)its, stop(); }
static void on_async(uv_async_t *its) { (void)its, stop(); }
static void on_poll(uv_poll_t *its, int status, int events)
{
    char byte;
    (void)its;
    CHECK(status == 0 && events == UV_READABLE && read(ends[0], &byte, 1) == 1);
    uv_poll_stop(&polled);
    stop();
}
static void *send_async(void *info)
{
    uv_async_send(&async);
    return info;
}
/* libuv issue 1565: what is started outside of uv_run() is not in the descriptor of uv_backend_fd() before the next one. */
static void start_later(void *info)
{
    (void)info;
    uv_poll_init(uv_default_loop(), &polled, ends[0]);
    uv_poll_start(&polled, UV_READABLE, on_poll);
    CHECK(write(ends[1], "x", 1) == 1);
}
static void start_timer_later(void *info)
{
    (void)info;
    uv_timer_start(&timer, on_timer, 5, 0);
}
static void nest(uv_timer_t *its)
{
    (void)its;
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0) == kRLRunLoopRunTimedOut);
    stop();
}
static void count_pass(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    passes++;
}

int main(int count, char **arguments)
{
    const char *scenario = count > 1 ? arguments[1] : "";
    uv_loop_t *loop = uv_default_loop();
    pthread_t thread;
    rl = RLRunLoopGetCurrent();
    RLUvLoopRef uv = RLUvLoopAdd(loop, kRLRunLoopCommonModes);
    CHECK(uv != NULL && pipe(ends) == 0);
    uv_timer_init(loop, &timer);
    uv_timer_init(loop, &other);
    uv_async_init(loop, &async, on_async);
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, count_pass, NULL);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    int hasThread = strcmp(scenario, "async-from-thread") == 0;
    if (strcmp(scenario, "timer") == 0) {
        uv_timer_start(&timer, on_timer, 5, 0);
        uv_timer_start(&other, on_timer, 1000000, 0);
    } else if (hasThread) {
        CHECK(pthread_create(&thread, NULL, send_async, NULL) == 0);
    } else if (strcmp(scenario, "libuv-1565") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, start_later, NULL));
    } else if (strcmp(scenario, "timer-in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, start_timer_later, NULL));
    } else if (strcmp(scenario, "nested") == 0) {
        uv_timer_start(&timer, nest, 1, 0);
    } else if (strcmp(scenario, "quiet") == 0) {
        uv_timer_start(&timer, on_timer, 200, 0);
    } else {
        return 2;
    }
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0) == kRLRunLoopRunStopped);
    CHECK(calls == 1);
    if (hasThread)
        pthread_join(thread, NULL);
    if (strcmp(scenario, "quiet") == 0)
        CHECK(passes <= 6);
    RLUvLoopRemove(uv);
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
    return 0;
}
