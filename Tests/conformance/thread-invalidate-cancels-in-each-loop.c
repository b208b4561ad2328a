/* Semantics 2: Invalidate of a source in two loops cancels it in both, on the invalidating thread. */
#include "trace.h"

static pthread_t tester;
static CFRunLoopRef here, other_loop;
static sem_t added, finished;
static CFRunLoopSourceRef source;
static int cancelled_here, cancelled_there, elsewhere;

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)info, (void)mode;
    cancelled_here += loop == here;
    cancelled_there += loop == other_loop;
    elsewhere += !pthread_equal(pthread_self(), tester);
}

static void work(void)
{
    other_loop = HERE;
    CFRunLoopAddSource(HERE, source, MODE);
    sem_post(&added);
    sem_wait(&finished);
    check("contained there", CFRunLoopContainsSource(HERE, source, MODE));
}

static void test(void)
{
    CFRunLoopSourceContext context = {.cancel = cancel};
    sem_init(&added, 0, 0);
    sem_init(&finished, 0, 0);
    tester = pthread_self();
    here = HERE;
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(here, source, MODE);
    pthread_t other = start_thread(work);
    sem_wait(&added);
    CFRunLoopSourceInvalidate(source);
    sem_post(&finished);
    pthread_join(other, NULL);
    note("here %d there %d on another thread %d", cancelled_here, cancelled_there, elsewhere);
    show("cancelled");
}

int main(void) { return on_thread(test); }
