/* Semantics 5: the address passed to a data callback is the peer's sockaddr_in, of 16 bytes. */
#include "socket.h"

static void compare(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    CFDataRef far = address_of(((Sock *)info)->far);
    (void)socket, (void)type;
    note("%ld bytes from an address of %ld", (long)CFDataGetLength(data), (long)CFDataGetLength(address));
    check("the peer's", CFEqual(address, far));
    CFRelease(far);
}

static void test(void)
{
    int listening = listener(AF_INET);
    Sock s = {.far = client_of(listening, AF_INET)};
    s.fd = accept(listening, NULL, NULL);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, DATA, compare, &(CFSocketContext){.info = &s});
    say(s.far, "abc");
    await(s.fd, POLLIN);
    add_to(&s, MODE);
    step("data");
    CFDataRef peer = CFSocketCopyPeerAddress(s.socket), far = address_of(s.far);
    check("peer address", CFEqual(peer, far));
    show("socket");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
