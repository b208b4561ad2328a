/* main-queue.c - libdispatch's main queue, served by the main loop.
 *
 * If the program is linked with -ldispatch, its run loop serves the main queue. Without it, as here, the library
 * reports that there is no such queue. Everything else works in the same way. */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <stdio.h>

int main(void)
{
    errno = 0;
    if (RLRunLoopSetServicesDispatchMainQueue(1)) {
        printf("what is put on the main queue runs in RLRunLoopRun\n");
        RLRunLoopSetServicesDispatchMainQueue(0);
    } else {
        printf("%s\n", errno == ENOSYS ? "there is no libdispatch in this process" : "out of memory or descriptors");
    }
    return 0;
}
