/* Difference 8: WakeUp, Signal and Stop never wait for a lock that a callback holds (CF calls `equal` with the loop
 * locked). */
#include "../trace.h"

static CFRunLoopRef loop;
static CFRunLoopSourceRef first;
static pthread_t poker;
static sem_t done;
static int asked;

static void poke(void)
{
    CFRunLoopSourceSignal(first);
    CFRunLoopWakeUp(loop);
    CFRunLoopStop(loop);
    sem_post(&done);
}

static Boolean equal(const void *one, const void *two)
{
    struct timespec limit;
    (void)one, (void)two;
    if (asked++)
        return false;
    poker = start_thread(poke);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 2;
    check("poked during equal", sem_timedwait(&done, &limit) == 0);
    return false;
}

static CFHashCode hash(const void *info) { return (void)info, 1; }

static void test(void)
{
    CFRunLoopSourceContext context = {.equal = equal, .hash = hash};
    sem_init(&done, 0, 0);
    loop = HERE;
    first = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(loop, first, MODE);
    CFRunLoopAddSource(loop, CFRunLoopSourceCreate(NULL, 0, &context), MODE);
    pthread_join(poker, NULL);
    show("added");
}

int main(void) { return on_thread(test); }
