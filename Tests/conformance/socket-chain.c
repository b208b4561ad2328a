/* Semantics 5: 100 sockets in a row, each of which passes the byte it reads on to the next: libevent's benchmark,
 * ten rounds. */
#include "socket.h"

enum { PAIRS = 100 };
static Sock pairs[PAIRS];
static int handed;

static void hand_on(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    Sock *sock = info, *next = sock + 1 < pairs + PAIRS ? sock + 1 : pairs;
    char byte;
    (void)socket, (void)type, (void)address, (void)data;
    require(read(sock->fd, &byte, 1) == 1);
    if (++handed <= 990)
        say(next->far, "x");
    if (handed == 1000)
        CFRunLoopStop(HERE);
}

static void test(void)
{
    for (int i = 0; i < PAIRS; i++) {
        make_pair(&pairs[i], SOCK_STREAM);
        pairs[i].socket =
            CFSocketCreateWithNative(NULL, pairs[i].fd, READ, hand_on, &(CFSocketContext){.info = &pairs[i]});
        add_to(&pairs[i], MODE);
    }
    for (int i = 0; i < 10; i++)
        say(pairs[i * 10].far, "x");
    run("1000 bytes handed on", MODE, AGES, false);
    note("%d", handed);
    show("calls");
    for (int i = 0; i < PAIRS; i++)
        CFSocketInvalidate(pairs[i].socket);
    step("empty");
}

int main(void) { return on_thread(test); }
