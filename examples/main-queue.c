/* main-queue.c - libdispatch's main queue, served by the main loop.
 *
 * Linked with -ldispatch, the program serves the main queue from its run loop; without it, as here, the library says that
 * there is no such queue. Nothing else depends on it. */
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
