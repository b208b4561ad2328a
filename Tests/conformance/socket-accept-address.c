/* Semantics 5: the address passed to an accept callback is the client's: 16 bytes for AF_INET, 2 for an unnamed
 * AF_UNIX client. */
#include "socket.h"

static void compare(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type;
    note("%ld bytes", (long)CFDataGetLength(address));
    check("the client's", CFEqual(address, (CFDataRef)info));
    close(*(const CFSocketNativeHandle *)data);
}

static void test(void)
{
    static const int families[] = {AF_INET, AF_UNIX};
    for (int i = 0; i < 2; i++) {
        int listening = listener(families[i]), client = client_of(listening, families[i]);
        CFDataRef address = address_of(client);
        CFSocketContext context = {.info = (void *)address};
        Sock s = {.socket = CFSocketCreateWithNative(NULL, listening, ACCEPT, compare, &context)};
        await(listening, POLLIN);
        add_to(&s, MODE);
        step(i == 0 ? "inet" : "unix");
        CFSocketInvalidate(s.socket);
        close(client);
    }
}

int main(void) { return on_thread(test); }
