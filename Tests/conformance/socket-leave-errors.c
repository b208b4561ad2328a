/* Semantics 5: a connect callback clears the socket's pending error; with kCFSocketLeaveErrors the error stays. */
#include "socket.h"

static void test(void)
{
    for (int leave = 0; leave < 2; leave++) {
        int silent = bound(AF_INET, SOCK_STREAM), error = 0;
        socklen_t size = sizeof error;
        Sock s = {.socket = NULL};
        create_on(&s, socket(AF_INET, SOCK_STREAM, 0), CONNECT | WRITE);
        CFSocketSetSocketFlags(s.socket, CLOSES | (leave ? kCFSocketLeaveErrors : 0));
        note("%ld", (long)CFSocketConnectToAddress(s.socket, address_of(silent), -1));
        await(s.fd, POLLHUP);
        add_to(&s, MODE);
        step(leave ? "left" : "taken");
        require(getsockopt(s.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
        note("%s", error ? error_name(error) : "no error");
        show("socket");
        CFSocketInvalidate(s.socket);
    }
}

int main(void) { return on_thread(test); }
