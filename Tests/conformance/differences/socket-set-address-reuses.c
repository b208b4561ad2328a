/* Difference 12: a socket can be bound to an address for listening although the kernel still remembers closed
 * connections there. (CF reports that the address is in use, for a minute.) */
#include "../socket.h"

static CFSocketRef listen_on(CFDataRef address)
{
    CFSocketRef s = CFSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kCFSocketNoCallBack, NULL, NULL);
    note("%s", CFSocketSetAddress(s, address) == kCFSocketSuccess ? "listens" : error_name(errno));
    return s;
}

static void test(void)
{
    CFDataRef any = inet_address(0);
    CFSocketRef first = listen_on(any);
    CFDataRef address = CFSocketCopyAddress(first);
    int client = client_of(CFSocketGetNative(first), AF_INET);
    int peer = accept(CFSocketGetNative(first), NULL, NULL);
    char byte;
    require(peer >= 0 && close(peer) == 0);
    require(read(client, &byte, 1) == 0 && close(client) == 0);
    CFSocketInvalidate(first);
    CFSocketInvalidate(listen_on(address));
    show("again");
}

int main(void) { return on_thread(test); }
