/* What adapters/sd-event.h promises in addition to the matrix: sd-event as the guest of a run loop. */
#include "latency.h"
#include <RunLoop/adapters/sd-event.h>
#include <time.h>

static sd_event *event;
static int deferred;

static int on_time(sd_event_source *source, uint64_t date, void *info)
{
    (void)source, (void)date, (void)info;
    stop();
    return 0;
}
static int on_read(sd_event_source *source, int fd, uint32_t events, void *info)
{
    (void)source, (void)info;
    CHECK(fd == ends[0] && events == EPOLLIN);
    read_byte();
    stop();
    return 0;
}
static int on_defer(sd_event_source *source, void *info)
{
    (void)source, (void)info;
    deferred++;
    return 0;
}
static int on_exit_of_event(sd_event_source *source, void *info)
{
    (void)source, (void)info;
    calls++;
    return 0;
}
static void add_time(unsigned milliseconds, sd_event_time_handler_t handler)
{
    CHECK(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, milliseconds * 1000, 1, handler, NULL) >= 0);
}
static void add_descriptor(void) { CHECK(sd_event_add_io(event, NULL, ends[0], EPOLLIN, on_read, NULL) >= 0); }
static void add_descriptor_later(void *info)
{
    (void)info;
    add_descriptor();
    write_byte(NULL);
}
static void add_time_later(void *info)
{
    (void)info;
    add_time(5, on_time);
}
static int exit_event(sd_event_source *source, uint64_t date, void *info)
{
    (void)source, (void)date, (void)info;
    return sd_event_exit(event, 0);
}

/* A callback of sd-event that runs the run loop. That run does not serve sd-event, and is not woken by it. */
static int nest(sd_event_source *source, uint64_t date, void *info)
{
    (void)source, (void)date, (void)info;
    int before = passes;
    write_byte(NULL);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0) == kRLRunLoopRunTimedOut);
    CHECK(passes - before <= 6 && calls == 0);
    return 0;
}

/* Called by sd-event, in the run loop; or by the run loop itself. */
static int call_readable(sd_event_source *source, int fd, uint32_t events, void *readable)
{
    (void)source, (void)fd, (void)events;
    ((void (*)(void))readable)();
    return 0;
}
static void watch(int fd, void (*readable)(void))
{
    CHECK(sd_event_add_io(event, NULL, fd, EPOLLIN, call_readable, (void *)readable) >= 0);
}

int main(int count, char **arguments)
{
    const char *scenario = count > 1 ? arguments[1] : "";
    RLRunLoopObserverRef observer = begin_counting_passes();
    CHECK(sd_event_new(&event) >= 0);
    RLSdEventRef sd = RLSdEventAdd(event, kRLRunLoopCommonModes);
    CHECK(sd != NULL);
    if (strcmp(scenario, "timer") == 0) {
        add_time(1000000, on_time);
        add_time(5, on_time);
        run_loop();
    } else if (strcmp(scenario, "descriptor") == 0) {
        add_descriptor();
        run_beside(write_byte, run_loop);
    } else if (strcmp(scenario, "descriptor-in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, add_descriptor_later, NULL));
        run_loop();
    } else if (strcmp(scenario, "timer-in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, add_time_later, NULL));
        run_loop();
    } else if (strcmp(scenario, "pending") == 0) {
        /* Each iteration of an sd_event serves one source. The descriptor's source is the last of several pending
         * ones. */
        sd_event_source *source;
        for (int i = 0; i < 10; i++)
            CHECK(sd_event_add_defer(event, NULL, on_defer, NULL) >= 0);
        CHECK(sd_event_add_io(event, &source, ends[0], EPOLLIN, on_read, NULL) >= 0);
        CHECK(sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE) >= 0);
        write_byte(NULL);
        run_loop();
        CHECK(deferred == 10);
        sd_event_source_unref(source);
    } else if (strcmp(scenario, "nested") == 0) {
        add_descriptor();
        add_time(1, nest);
        run_loop();
    } else if (strcmp(scenario, "nested-in-its-own-run") == 0) {
        add_descriptor();
        add_time(1, nest);
        while (calls == 0)
            CHECK(sd_event_run(event, UINT64_MAX) >= 0);
    } else if (strcmp(scenario, "exit") == 0) {
        CHECK(sd_event_add_exit(event, NULL, on_exit_of_event, NULL) >= 0);
        add_time(1, exit_event);
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunFinished);
        CHECK(RLSdEventAdd(event, kRLRunLoopDefaultMode) == NULL && errno == ESTALE);
    } else if (strcmp(scenario, "quiet") == 0) {
        add_time(200, on_time);
        run_loop();
        CHECK(passes <= 6);
    } else if (strcmp(scenario, "latency") == 0 && count == 3) {
        measure_latency(arguments[2], watch, run_loop, stop);
    } else {
        return 2;
    }
    CHECK(calls == 1);
    RLSdEventRemove(sd);
    sd_event_unref(event);
    end_counting_passes(observer);
    return 0;
}
