/* Semantics 5: data that arrives while the loop sleeps wakes it: read, data and accept callbacks. */
#include "socket.h"

static int woken;

static void write_it(CFRunLoopRef loop)
{
    (void)loop;
    say(woken, "abc");
}

static void connect_it(CFRunLoopRef loop)
{
    (void)loop;
    client_of(woken, AF_UNIX);
}

static void stop_it(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock r = {.takes = 9, .action = stop_it}, d = {.action = stop_it}, a = {.action = stop_it};
    add_pair(&r, READ);
    woken = r.far;
    run_with_helper("read", AGES, false, write_it);
    add_pair(&d, DATA);
    woken = d.far;
    run_with_helper("data", AGES, false, write_it);
    create_on(&a, listener(AF_UNIX), ACCEPT);
    add_to(&a, MODE);
    woken = a.fd;
    run_with_helper("accept", AGES, true, connect_it);
}

int main(void) { return on_thread(test); }
