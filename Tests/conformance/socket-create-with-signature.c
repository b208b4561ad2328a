/* Semantics 5: a socket created from a signature is bound and listens; if that fails, there is no socket, and the
 * context is released. */
#include "socket.h"

static int retained;

static const void *plus(const void *info)
{
    retained++;
    return info;
}

static void minus(const void *info)
{
    (void)info;
    retained--;
}

static void test(void)
{
    CFDataRef address = inet_address(0);
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, address};
    Sock s = {.socket = NULL};
    CFSocketContext context = {.info = &s, .retain = plus, .release = minus};
    s.socket = CFSocketCreateWithSocketSignature(NULL, &signature, ACCEPT, sock_called, &context);
    s.fd = CFSocketGetNative(s.socket);
    client_of(s.fd, AF_INET);
    await(s.fd, POLLIN);
    add_to(&s, MODE);
    step("listens");
    signature.address = address_of(s.fd);
    check("address in use", CFSocketCreateWithSocketSignature(NULL, &signature, ACCEPT, sock_called, &context) == NULL);
    note("retained %d", retained);
    signature.protocolFamily = 255;
    check("bad family", CFSocketCreateWithSocketSignature(NULL, &signature, ACCEPT, sock_called, &context) == NULL);
    signature.protocolFamily = PF_INET;
    signature.address = NULL;
    check("no address", CFSocketCreateWithSocketSignature(NULL, &signature, ACCEPT, sock_called, &context) == NULL);
    note("retained %d", retained);
    show("failures");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
