/*
 * launch.c -- measures "startup" from outside: starts a program n times, and prints the median time from its start
 * until it is reaped, and its peak resident memory. launch is small and static, because the peak of a child starts at
 * that of the process that forked it.
 *
 *     launch <n> <program> <arguments>...
 */
#include "support.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    int n = atoi(argv[1]);
    CHECK(n > 0 && n <= 100);
    uint64_t nanoseconds[100];
    long peak = 0;
    for (int i = 0; i < n; i++) {
        uint64_t begin = now_ns();
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
            dup2(null, STDOUT_FILENO);
            execv(argv[2], argv + 2);
            _exit(127);
        }
        int status;
        struct rusage usage;
        CHECK(wait4(child, &status, 0, &usage) == child);
        nanoseconds[i] = now_ns() - begin;
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_UNSUPPORTED)
            return EXIT_UNSUPPORTED;
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (usage.ru_maxrss > peak)
            peak = usage.ru_maxrss;
    }
    qsort(nanoseconds, (size_t)n, sizeof *nanoseconds, compare);
    printf("{\"value\": %llu, \"peak_kilobytes\": %ld, \"operations\": %d}\n",
           (unsigned long long)nanoseconds[n / 2], peak, n);
    return 0;
}
