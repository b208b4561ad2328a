/* Semantics 5: SendData works on sockets only: on a pipe it fails. */
#include "socket.h"

static void test(void)
{
    int ends[2];
    CFDataRef hello = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
    require(pipe(ends) == 0);
    CFSocketRef out = CFSocketCreateWithNative(NULL, ends[1], WRITE, NULL, NULL);
    note("%ld", (long)CFSocketSendData(out, NULL, hello, 1));
    check("valid", CFSocketIsValid(out));
    show("pipe");
    CFSocketInvalidate(out);
}

int main(void) { return on_thread(test); }
