/* Difference 7: a socket that wakes the loop is called back right after AfterWaiting (CF: in the next pass, because
 * its source has version 0). */
#include "../socket.h"

static int woken;

static void write_it(CFRunLoopRef loop)
{
    (void)loop;
    say(woken, "abc");
}

static void stop_it(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock s = {.takes = 9, .action = stop_it};
    add_pair(&s, READ);
    woken = s.far;
    watch(MODE);
    run_with_helper("asleep", AGES, false, write_it);
}

int main(void) { return on_thread(test); }
