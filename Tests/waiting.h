/* How tests wait for another thread: until it is in a certain state, never for a certain time. */
#ifndef RUNLOOP_TESTS_WAITING_H
#define RUNLOOP_TESTS_WAITING_H
#include <RunLoop/RunLoop.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns once the loop reports that it is asleep, or about to be. */
static inline void until_asleep(RLRunLoopRef loop)
{
    while (!RLRunLoopIsWaiting(loop))
        usleep(20);
}

/* Returns whether a thread of this process sleeps in the kernel, for instance to wait for a lock. */
static inline bool is_asleep(pid_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    const char *end = strrchr(text, ')');
    return end != NULL && end[2] == 'S';
}

#endif
