/* Semantics 2: a source that was signalled while it was only in another loop, and then added to this one, is performed before a
 * source that is signalled after that. */
#include "trace.h"

static Item first = {.name = "first"}, second = {.name = "second"};
static CFRunLoopRef elsewhere;
static sem_t ready, over;

static void wait_for_the_end(void)
{
    elsewhere = HERE;
    sem_post(&ready);
    sem_wait(&over);
}

static void test(void)
{
    static Item other = {.name = "other"};
    CFRunLoopAddSource(HERE, create_source(&other, 0), OTHER);
    for (int variant = 0; variant < 8; variant++) {
        create_source(&first, 0);
        create_source(&second, 0);
        CFRunLoopAddSource(elsewhere, first.source, MODE);
        if (variant & 1)
            CFRunLoopAddSource(HERE, second.source, MODE);
        CFRunLoopSourceSignal(first.source);
        CFRunLoopAddSource(HERE, first.source, variant & 2 ? COMMON : MODE);
        if (!(variant & 1))
            CFRunLoopAddSource(HERE, second.source, MODE);
        if (variant & 4)
            run("another mode", OTHER, 0, false);
        CFRunLoopSourceSignal(second.source);
        run("both", MODE, 0, false);
        CFRunLoopSourceInvalidate(first.source);
        CFRunLoopSourceInvalidate(second.source);
    }
}

int main(void)
{
    sem_init(&ready, 0, 0);
    sem_init(&over, 0, 0);
    pthread_t thread = start_thread(wait_for_the_end);
    sem_wait(&ready);
    on_thread(test);
    sem_post(&over);
    pthread_join(thread, NULL);
    return 0;
}
