/* Semantics 5: SetAddress returns kCFSocketError for no address, an empty one, one in use, a second one, and an
 * invalid socket. */
#include "socket.h"

static void test(void)
{
    CFDataRef any = inet_address(0), empty = CFDataCreate(NULL, NULL, 0);
    CFSocketRef socket = CFSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, ACCEPT, NULL, NULL);
    CFSocketRef other = CFSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, ACCEPT, NULL, NULL);
    note("none %ld", (long)CFSocketSetAddress(socket, NULL));
    note("empty %ld", (long)CFSocketSetAddress(socket, empty));
    note("first %ld", (long)CFSocketSetAddress(socket, any));
    note("second %ld", (long)CFSocketSetAddress(socket, any));
    note("in use %ld", (long)CFSocketSetAddress(other, address_of(CFSocketGetNative(socket))));
    note("wrong family %ld", (long)CFSocketSetAddress(other, unix_address()));
    check("valid", CFSocketIsValid(socket) && CFSocketIsValid(other));
    CFSocketInvalidate(other);
    note("invalid %ld", (long)CFSocketSetAddress(other, any));
    show("set address");
}

int main(void) { return on_thread(test); }
