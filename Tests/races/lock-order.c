/* Two threads, one after the other, acquire two locks of the library: `same` in one order, `opposite` in both
 * orders. They never wait for each other, but opposite orders must still be reported. Compiled with
 * Sources/CLinux/Races.c. */
#include <pthread.h>
#include <string.h>

#include "LinuxRaces.h"

static const char first, second;

static void take(const char *outer, const char *inner)
{
    linux_note_lock(outer);
    linux_note_lock(inner);
    linux_note_unlock(inner);
    linux_note_unlock(outer);
}

static void *take_same(void *unused)
{
    (void)unused;
    take(&first, &second);
    return NULL;
}

static void *take_opposite(void *unused)
{
    (void)unused;
    take(&second, &first);
    return NULL;
}

/* Acquires more locks than ThreadSanitizer can record: fork() acquires those of all loops. */
static void take_many(void)
{
    static const char locks[200];
    for (int index = 0; index < 200; index++)
        linux_note_lock(&locks[index]);
    for (int index = 0; index < 200; index++)
        linux_note_unlock(&locks[index]);
}

int main(int count, char **arguments)
{
    pthread_t thread;
    take_many();
    pthread_create(&thread, NULL, take_same, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, count > 1 && strcmp(arguments[1], "opposite") == 0 ? take_opposite : take_same, NULL);
    pthread_join(thread, NULL);
    return 0;
}
