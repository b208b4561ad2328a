/* Semantics 5: callbacks are enabled and disabled in each combination, before and after data arrives: a disabled
 * callback is postponed, not lost. */
#include "socket.h"

/* CF delivers whatever its thread noticed before the callback was disabled. */
static void drop_what_is_ready(Sock *sock)
{
    settle();
    sock->name = "dropped ";
    CFRunLoopRunInMode(MODE, 0, true);
    sock->name = NULL;
    log_line[0] = 0;
}

static void test(void)
{
    static Sock s = {.takes = 99};
    create_pair(&s, READ | WRITE);
    CFSocketSetSocketFlags(s.socket, CLOSES | READ | WRITE);
    add_to(&s, MODE);
    CFSocketDisableCallBacks(s.socket, READ | WRITE);
    drop_what_is_ready(&s);
    for (CFOptionFlags enabled = 0; enabled < 4; enabled++) {
        CFOptionFlags types = (enabled & 1 ? READ : 0) | (enabled & 2 ? WRITE : 0);
        char label[40];
        snprintf(label, sizeof label, "enabled%s%s", types & READ ? " read" : "", types & WRITE ? " write" : "");
        CFSocketEnableCallBacks(s.socket, types);
        step(label);
        CFSocketDisableCallBacks(s.socket, READ | WRITE);
        drop_what_is_ready(&s);
        say(s.far, "abc");
        step("disabled, then data");
        CFSocketEnableCallBacks(s.socket, types);
        step("data, then enabled");
        CFSocketDisableCallBacks(s.socket, READ | WRITE);
        drop_what_is_ready(&s);
        drain(s.fd);
    }
}

int main(void) { return on_thread(test); }
