/* Semantics 5: CFSocketCreate with zeros creates a blocking IPv4 TCP socket; unknown families return NULL. */
#include "socket.h"

static void describe(CFSocketRef socket)
{
    static const int options[] = {SO_DOMAIN, SO_TYPE, SO_PROTOCOL};
    for (int i = 0; socket && i < 3; i++) {
        int value = -1;
        socklen_t size = sizeof value;
        require(getsockopt(CFSocketGetNative(socket), SOL_SOCKET, options[i], &value, &size) == 0);
        note("%d", value);
    }
    if (socket) {
        check("blocks", !(fcntl(CFSocketGetNative(socket), F_GETFL) & O_NONBLOCK));
        CFSocketInvalidate(socket);
        CFRelease(socket);
    }
    show(socket ? "socket" : "NULL");
}

static void test(void)
{
    describe(CFSocketCreate(NULL, 0, 0, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, -1, -1, -1, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_INET, SOCK_STREAM, IPPROTO_TCP, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_UNIX, SOCK_STREAM, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_UNIX, SOCK_DGRAM, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_UNIX, 0, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, 255, SOCK_STREAM, 0, 0, NULL, NULL));
    describe(CFSocketCreate(NULL, PF_INET, 77, 0, 0, NULL, NULL));
}

int main(void) { return on_thread(test); }
