/* Semantics 2: sources of equal order are performed in the order in which they were first signalled, in each loop,
 * even if one source is in several loops and the other is not. */
#include "trace.h"

static Item shared = {.name = "shared"}, own = {.name = "own"};
static CFRunLoopRef loops[3];
static sem_t ready[3], go[3];

static void *serve(void *info)
{
    int index = (int)(intptr_t)info;
    loops[index] = HERE;
    sem_post(&ready[index]);
    sem_wait(&go[index]);
    char label[16];
    snprintf(label, sizeof label, "loop %d", index);
    run(label, MODE, 0, false);
    sem_post(&ready[index]);
    return NULL;
}

int main(void)
{
    for (int server = 0; server < 3; server++)
        for (int own_is_first = 0; own_is_first < 2; own_is_first++) {
            pthread_t threads[3];
            create_source(&shared, 0);
            create_source(&own, 0);
            for (int i = 0; i < 3; i++) {
                sem_init(&ready[i], 0, 0);
                sem_init(&go[i], 0, 0);
                pthread_create(&threads[i], NULL, serve, (void *)(intptr_t)i);
                sem_wait(&ready[i]);
                CFRunLoopAddSource(loops[i], shared.source, MODE);
            }
            CFRunLoopAddSource(loops[server], own.source, MODE);
            CFRunLoopSourceSignal(own_is_first ? own.source : shared.source);
            CFRunLoopSourceSignal(own_is_first ? shared.source : own.source);
            for (int i = 0; i < 3; i++) {
                int next = (server + i) % 3;
                sem_post(&go[next]);
                sem_wait(&ready[next]);
                pthread_join(threads[next], NULL);
            }
            CFRunLoopSourceInvalidate(shared.source);
            CFRunLoopSourceInvalidate(own.source);
        }
    return 0;
}
