/* Semantics 5: sockets have their own type, are equal to themselves only, and can be created with any of the
 * allocators. */
#include "socket.h"

static void test(void)
{
    static Sock a, b;
    create_pair(&a, READ);
    b.socket = CFSocketCreateWithNative(kCFAllocatorDefault, a.far, READ, sock_called, NULL);
    check("type", CFGetTypeID(a.socket) == CFSocketGetTypeID());
    check("source's type", CFSocketGetTypeID() == CFRunLoopSourceGetTypeID());
    check("equal", CFEqual(a.socket, a.socket));
    check("equal to another", CFEqual(a.socket, b.socket));
    check("native", CFSocketGetNative(a.socket) == a.fd);
    check("description", CFCopyDescription(a.socket) != NULL);
    show("socket");
    note("%d %d %d", (int)kCFSocketSuccess, (int)kCFSocketError, (int)kCFSocketTimeout);
    note("%d %d", (int)kCFSocketLeaveErrors, (int)kCFSocketCloseOnInvalidate);
    note("%zu %zu", sizeof(CFSocketSignature), sizeof(CFSocketContext));
    show("constants");
}

int main(void) { return on_thread(test); }
