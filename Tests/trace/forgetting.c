/* Preloaded into a program: it ends at once where the companion attaches its segment, which nothing has removed by then. */
#include <stdio.h>
#include <sys/shm.h>
#include <unistd.h>

void *shmat(int number, const void *address, int flags)
{
    (void)address, (void)flags;
    dprintf(STDOUT_FILENO, "%d\n", number);
    _exit(0);
}
