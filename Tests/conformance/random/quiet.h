/* quiet.h - whether all other threads of the process sleep. */
#ifndef QUIET_H
#define QUIET_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

/** Whether the kernel has put a thread to sleep. A thread that was woken counts as awake even before it runs. */
static int sleeps(const char *thread)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 1; /* it has exited */
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0)
        return 1;
    line[length] = '\0';
    const char *state = strrchr(line, ')');
    return state == NULL || state[2] == 'S';
}

/** Whether every thread except the caller sleeps. */
static int is_quiet(void)
{
    char own[16];
    int quiet = 1;
    const struct dirent *each;
    DIR *threads = opendir("/proc/self/task");
    snprintf(own, sizeof own, "%ld", (long)syscall(SYS_gettid));
    while (quiet && (each = readdir(threads)) != NULL)
        if (each->d_name[0] != '.' && strcmp(each->d_name, own) != 0)
            quiet = sleeps(each->d_name);
    closedir(threads);
    return quiet;
}

#endif
