/* Semantics 5: EnableCallBacks by another thread takes effect in a sleeping loop. */
#include "socket.h"

static CFSocketRef socket_of_loop;

static void enable_read(CFRunLoopRef loop)
{
    (void)loop;
    CFSocketEnableCallBacks(socket_of_loop, READ);
}

static void enable_write(CFRunLoopRef loop)
{
    (void)loop;
    CFSocketEnableCallBacks(socket_of_loop, WRITE);
}

static void stop_it(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock s = {.action = stop_it};
    add_pair(&s, READ | WRITE);
    CFSocketSetSocketFlags(s.socket, CLOSES);
    say(s.far, "abc");
    step("both");
    socket_of_loop = s.socket;
    run_with_helper("read enabled", AGES, false, enable_read);
    run_with_helper("write enabled", AGES, false, enable_write);
    step("nothing");
}

int main(void) { return on_thread(test); }
