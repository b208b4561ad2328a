/* Semantics 5: a socket created connected to a signature is connected, or connects in the background; if refused,
 * there is none. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET);
    CFDataRef silent = address_of(bound(AF_INET, SOCK_STREAM));
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address_of(listening)};
    for (int i = 0; i < 2; i++) {
        Sock s = {.socket = NULL};
        CFSocketContext context = {.info = &s};
        CFTimeInterval timeout = i ? -1 : 10;
        s.socket = CFSocketCreateConnectedToSocketSignature(NULL, &signature, CONNECT, sock_called, &context, timeout);
        await(CFSocketGetNative(s.socket), POLLOUT);
        add_to(&s, MODE);
        step(i ? "background" : "timeout");
        CFSocketInvalidate(s.socket);
    }
    signature.address = silent;
    check("refused", !CFSocketCreateConnectedToSocketSignature(NULL, &signature, CONNECT, sock_called, NULL, 10));
    signature.protocolFamily = 255;
    check("family", !CFSocketCreateConnectedToSocketSignature(NULL, &signature, CONNECT, sock_called, NULL, 10));
    show("no socket");
}

int main(void) { return on_thread(test); }
