/* Semantics 5: a server echoes the data of three clients, with data callbacks and SendData, until they close. */
#include "socket.h"

static void serve(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    int *sum = info;
    (void)type, (void)address;
    sum[CFDataGetLength(data) > 0 ? 0 : 1]++;
    if (CFDataGetLength(data) > 0 && CFSocketSendData(socket, NULL, data, 1) != kCFSocketSuccess)
        note("not sent!");
}

static int sums[2];
#define echoed sums[0]
#define closed sums[1]

static void accepted(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    CFSocketContext context = {.info = sums};
    (void)socket, (void)type, (void)address;
    CFSocketRef client = CFSocketCreateWithNative(NULL, *(const CFSocketNativeHandle *)data, DATA, serve, &context);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, client, 0);
    CFRunLoopAddSource(HERE, source, MODE);
    CFRelease(source);
    CFRelease(client);
    ++((Sock *)info)->calls;
}

static Sock server;

static void test(void)
{
    server.fd = listener(AF_UNIX);
    server.socket = CFSocketCreateWithNative(NULL, server.fd, ACCEPT, accepted, &(CFSocketContext){.info = &server});
    add_to(&server, MODE);
    int clients[3];
    for (int i = 0; i < 3; i++) {
        clients[i] = client_of(server.fd, AF_UNIX);
        say(clients[i], i == 0 ? "one" : i == 1 ? "three" : "seventeen");
    }
    while (echoed < 3)
        CFRunLoopRunInMode(MODE, AGES, true);
    for (int i = 0; i < 3; i++) {
        take(clients[i], 99);
        close(clients[i]);
    }
    show("echoed");
    while (closed < 3)
        CFRunLoopRunInMode(MODE, AGES, true);
    CFSocketInvalidate(server.socket);
    note("%d accepted %d echoed %d closed", server.calls, echoed, closed);
    step("server is invalid");
}

int main(void) { return on_thread(test); }
