/* Difference 12: SendData to a peer that has closed returns an error (CF: SIGPIPE ends the process). */
#include "../socket.h"

#include <sys/wait.h>

static void test(void)
{
    static Sock s;
    CFDataRef hello = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
    create_pair(&s, 0);
    close(s.far);
    note("%ld", (long)CFSocketSendData(s.socket, NULL, hello, 1));
    show("send");
}

int main(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return on_thread(test);
    waitpid(child, &status, 0);
    puts(WIFSIGNALED(status) ? "killed" : "ended");
    return 0;
}
