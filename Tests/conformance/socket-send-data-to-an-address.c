/* Semantics 5: SendData sends a datagram to the given address; the receiver's data callback gets the sender's
 * address. */
#include "socket.h"

static void from_whom(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type;
    note("%ld bytes", (long)CFDataGetLength(data));
    check("the sender's", CFEqual(address, address_of(((Sock *)info)->fd)));
}

static void test(void)
{
    static Sock to, from;
    CFDataRef hello = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
    create_on(&from, bound(AF_INET, SOCK_DGRAM), 0);
    to.fd = bound(AF_INET, SOCK_DGRAM);
    to.socket = CFSocketCreateWithNative(NULL, to.fd, DATA, from_whom, &(CFSocketContext){.info = &from});
    note("%ld", (long)CFSocketSendData(from.socket, CFSocketCopyAddress(to.socket), hello, 0));
    show("sent");
    await(to.fd, POLLIN);
    add_to(&to, MODE);
    step("received");
    note("nowhere %ld", (long)CFSocketSendData(from.socket, NULL, hello, 0));
    show("no address");
}

int main(void) { return on_thread(test); }
