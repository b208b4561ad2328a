/* Difference 5: after fork() the child may continue to use its own loop (CF hangs in it: its timeout thread is
 * missing). */
#include "../trace.h"

#include <sys/wait.h>

int main(void)
{
    static Item idle = {.name = "I"};
    int status;
    add_source(&idle, 0);
    run("parent, before", MODE, SOON, false);
    pid_t child = fork();
    if (child == 0) {
        alarm(2); /* ends a hang */
        _exit(CFRunLoopRunInMode(MODE, SOON, false));
    }
    waitpid(child, &status, 0);
    note("%s", WIFEXITED(status) ? result_name(WEXITSTATUS(status)) : "hangs");
    show("child");
    run("parent, after", MODE, SOON, false);
    return 0;
}
