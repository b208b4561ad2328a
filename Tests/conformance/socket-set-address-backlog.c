/* Semantics 5: SetAddress listens with a backlog of 256 clients. */
#include "socket.h"

static void test(void)
{
    CFSocketRef server = CFSocketCreate(NULL, PF_UNIX, SOCK_STREAM, 0, ACCEPT, NULL, NULL);
    note("%ld", (long)CFSocketSetAddress(server, unix_address()));
    CFDataRef address = CFSocketCopyAddress(server);
    int clients = 0, fd;
    do {
        require((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0);
        clients++;
    } while (connect(fd, (const struct sockaddr *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address)) == 0);
    note("client %d: %s", clients, error_name(errno));
    show("clients");
    CFSocketInvalidate(server);
}

int main(void) { return on_thread(test); }
