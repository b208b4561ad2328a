/* churn SECONDS [THREADS]: threads with loops start and exit, 10 000 by default, until the time has elapsed or all
 * have run. They exit in every possible way, with items left in their loops, while others post to them. In the end
 * no descriptor is open, and memory use is the same as after the first tenth. */
#include "stress.h"

#include <malloc.h>
#include <sys/eventfd.h>

enum { AT_ONCE = 8 };

struct life {
    uint64_t dice;
    RLRunLoopRef loop; /* retained; NULL while there is none */
    pthread_mutex_t lock;
    int fd;
};
static struct life lives[AT_ONCE];
static atomic_long infos, calls;

static const void *retain(const void *info)
{
    infos++;
    return info;
}
static void release(UNUSED const void *info) { infos--; }
static void release_function(UNUSED void *info) { infos--; }
static int port_of(void *info) { return ((struct life *)info)->fd; }

static void call(UNUSED void *info) { calls++; }
static void fire(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { calls++; }
static void hear(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    calls++;
}
static void receive(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, UNUSED void *info) { calls++; }
static void end_thread(UNUSED void *info) { pthread_exit(NULL); }
static void stop(UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

static void add_items(struct life *life, RLRunLoopRef loop)
{
    RLRunLoopSourceContext context = {.info = life, .retain = retain, .release = release, .perform = call};
    RLRunLoopSourceContext1 readable = {
        .version = 1, .info = life, .retain = retain, .release = release, .getPort = port_of, .perform = call};
    RLRunLoopTimerContext timing = {.info = life, .retain = retain, .release = release};
    RLRunLoopObserverContext observing = {.info = life, .retain = retain, .release = release};
    RLPortContext receiving = {.info = life, .retain = retain, .release = release};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopSourceRef watch = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&readable);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 1e-4, 0, 0, fire, &timing);
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopAllActivities, 1, 0, hear, &observing);
    RLPortRef port = RLPortCreate(NULL, receive, &receiving, NULL);
    RLRunLoopSourceRef port_source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(loop, source, kRLRunLoopCommonModes);
    RLRunLoopSourceSignal(source);
    if (roll(&life->dice, 2) == 0)
        RLRunLoopAddSource(loop, watch, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, port_source, RLSTR("another"));
    RLRelease(source);
    RLRelease(watch);
    RLRelease(timer);
    RLRelease(observer);
    RLRelease(port_source);
    RLRelease(port);
}

static void *live(void *info)
{
    struct life *life = info;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    pthread_mutex_lock(&life->lock);
    RLRunLoopRef old = life->loop;
    life->loop = (RLRunLoopRef)RLRetain(loop);
    pthread_mutex_unlock(&life->lock);
    if (old != NULL)
        RLRelease(old);
    add_items(life, loop);
    infos++;
    if (!RLRunLoopPerformFunctionWithRelease(loop, RLSTR("never run"), call, NULL, release_function))
        infos--;
    unsigned end = roll(&life->dice, 4);
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, end == 0 ? end_thread : stop, NULL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, end == 1 ? 0 : PATIENCE, 0);
    return NULL;
}

/* Does something to the loop from another thread, possibly just as its thread exits. */
static void disturb(struct life *life)
{
    pthread_mutex_lock(&life->lock);
    RLRunLoopRef loop = life->loop == NULL ? NULL : (RLRunLoopRef)RLRetain(life->loop);
    pthread_mutex_unlock(&life->lock);
    if (loop == NULL)
        return;
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, call, NULL);
    RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, call, NULL, 0.0001);
    add_items(life, loop);
    RLRelease(loop);
}

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(int count, char **arguments)
{
    double end = now() + (count > 1 ? atof(arguments[1]) : 10);
    long wanted = count > 2 ? atol(arguments[2]) : 10000, begun = 0;
    for (int index = 0; index < AT_ONCE; index++) {
        lives[index] = (struct life){.dice = (uint64_t)index, .lock = PTHREAD_MUTEX_INITIALIZER};
        require((lives[index].fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
    }
    int descriptors = open_descriptors();
    size_t memory = 0;
    while (begun < wanted && now() < end) {
        pthread_t threads[AT_ONCE];
        for (int index = 0; index < AT_ONCE; index++)
            threads[index] = start_thread(live, &lives[index]);
        for (int index = 0; index < AT_ONCE; index++)
            disturb(&lives[(begun + index) % AT_ONCE]);
        for (int index = 0; index < AT_ONCE; index++)
            require(pthread_join(threads[index], NULL) == 0);
        begun += AT_ONCE;
        if (memory == 0 && begun >= wanted / 10)
            memory = memory_in_use();
    }
    for (int index = 0; index < AT_ONCE; index++)
        if (lives[index].loop != NULL)
            RLRelease(lives[index].loop);
    long more = memory == 0 ? 0 : (long)(memory_in_use() - memory);
    printf("%ld threads, %ld calls, %ld bytes more\n", begun, calls, more);
    require(calls > 0);
    if (infos != 0)
        fail("%ld infos were not released", infos);
    if (open_descriptors() != descriptors)
        fail("%d descriptors are left", open_descriptors() - descriptors);
    /* What arenas and slabs keep depends on how threads overlapped; a leak grows with their number. */
    if (more > 16 * begun)
        fail("memory grows: %ld bytes after %ld threads", more, begun);
    return 0;
}
