/* Semantics 5: UDP: data is one datagram with its sender's address, 16 bytes; even the largest is delivered whole. */
#include "socket.h"

static int from;

static void from_whom(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type, (void)info;
    note("%ld bytes from an address of %ld", (long)CFDataGetLength(data), (long)CFDataGetLength(address));
    check("the sender's", CFEqual(address, address_of(from)));
}

static void test(void)
{
    static Sock s;
    static char bytes[60000];
    s.socket = CFSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, DATA, from_whom, NULL);
    s.fd = CFSocketGetNative(s.socket);
    note("%ld", (long)CFSocketSetAddress(s.socket, inet_address(0)));
    show("set address");
    CFDataRef address = CFSocketCopyAddress(s.socket);
    from = bound(AF_INET, SOCK_DGRAM);
    require(sendto(from, bytes, sizeof bytes, 0, (const struct sockaddr *)CFDataGetBytePtr(address),
                   (socklen_t)CFDataGetLength(address)) == sizeof bytes);
    await(s.fd, POLLIN);
    add_to(&s, MODE);
    step("large");
    step("none");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
