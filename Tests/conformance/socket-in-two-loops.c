/* Semantics 5: for a socket in two loops, one event causes one callback, in a loop that runs. */
#include "socket.h"

static Sock *shared;

static void second_thread(void)
{
    add_to(shared, MODE);
    step("second loop, nothing");
    say(shared->far, "abc");
    step("second loop");
    step("none");
}

static void test(void)
{
    static Sock s = {.takes = 9};
    shared = &s;
    create_pair(&s, READ);
    add_to(&s, MODE);
    pthread_join(start_thread(second_thread), NULL);
    say(s.far, "abc");
    step("first loop");
    step("none");
}

int main(void) { return on_thread(test); }
