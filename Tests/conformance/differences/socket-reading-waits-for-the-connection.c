/* Difference 13: a socket that is added before it is connected gets no read or data callback until there is
 * something to read, even if its write callback is made in each pass. (In CF the unconnected socket polled as
 * readable: a read callback is made once, with nothing to read, or a data callback without bytes, which invalidates
 * the socket.) */
#include "../socket.h"

static void connect_later(CFOptionFlags types, CFOptionFlags flags)
{
    int listening = listener(AF_INET);
    Sock s = {.socket = NULL};
    create_on(&s, socket(AF_INET, SOCK_STREAM, 0), types);
    CFSocketSetSocketFlags(s.socket, CLOSES | flags);
    add_to(&s, MODE);
    settle();
    CFSocketConnectToAddress(s.socket, address_of(listening), -1);
    await(s.fd, POLLOUT);
    note("types %lu flags %lu", types, flags);
    step("connected");
    step("again");
    step("again");
    check("valid", CFSocketIsValid(s.socket));
    show("end");
    CFSocketInvalidate(s.socket);
    close(listening);
}

static void test(void)
{
    static const CFOptionFlags types[] = {READ | WRITE, DATA | WRITE, READ | CONNECT | WRITE, DATA | CONNECT | WRITE};
    for (int i = 0; i < 4; i++) {
        connect_later(types[i], 0);
        connect_later(types[i], WRITE);
    }
}

int main(void) { return on_thread(test); }
