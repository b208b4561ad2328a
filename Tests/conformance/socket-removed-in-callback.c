/* Semantics 5: a read callback that removes its source is not called again; the write callback of the pass is still
 * made. */
#include "socket.h"

static void remove_it(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFRunLoopRemoveSource(HERE, sock->source, MODE);
}

static void test(void)
{
    static Sock s = {.action = remove_it};
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("removes itself");
    step("removed");
    s.action = NULL;
    s.takes = 9;
    add_to(&s, MODE);
    step("added");
    step("nothing");
}

int main(void) { return on_thread(test); }
