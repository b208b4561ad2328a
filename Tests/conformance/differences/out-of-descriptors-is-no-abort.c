/* Difference 6: without free file descriptors a loop fails or works without them, and the process lives (CF aborts). */
#include "../trace.h"

#include <sys/resource.h>
#include <sys/wait.h>

static void use_a_loop(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    CFRunLoopRunInMode(MODE, 0, false);
}

int main(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_NOFILE, &none);
        use_a_loop();
        _exit(0);
    }
    waitpid(child, &status, 0);
    note("%s", WIFEXITED(status) ? "lives" : "aborted");
    show("process");
    return 0;
}
