/* Semantics 5: two threads, each with a loop and a socket on one end of a pair, pass a byte back and forth. */
#include "socket.h"

static void hand_on(Sock *sock, CFSocketCallBackType type)
{
    char byte;
    (void)type;
    if (read(sock->fd, &byte, 1) == 0 || sock->calls == 100)
        CFRunLoopStop(HERE);
    else
        say(sock->fd, "x");
}

static void quiet(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    Sock *sock = info;
    (void)socket, (void)address, (void)data;
    sock->calls++;
    hand_on(sock, type);
}

static Sock ping, pong;

static void answer(void)
{
    pong.socket = CFSocketCreateWithNative(NULL, pong.fd, READ, quiet, &(CFSocketContext){.info = &pong});
    add_to(&pong, MODE);
    CFRunLoopRunInMode(MODE, AGES, false);
    CFSocketInvalidate(pong.socket);
}

static void test(void)
{
    make_pair(&ping, SOCK_STREAM);
    ping.socket = CFSocketCreateWithNative(NULL, ping.fd, READ, quiet, &(CFSocketContext){.info = &ping});
    pong.fd = ping.far;
    pthread_t other = start_thread(answer);
    add_to(&ping, MODE);
    say(ping.fd, "x");
    run("ping", MODE, AGES, false);
    CFSocketInvalidate(ping.socket);
    pthread_join(other, NULL);
    note("%d %d", ping.calls, pong.calls);
    show("calls");
}

int main(void) { return on_thread(test); }
