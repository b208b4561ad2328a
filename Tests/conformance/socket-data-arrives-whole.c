/* Semantics 5: a data callback receives all available bytes, here 20 000, in one CFData, and the peer's address. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    static char bytes[20000];
    create_pair(&s, DATA);
    memset(bytes, 'x', sizeof bytes);
    require(write(s.far, bytes, sizeof bytes) == sizeof bytes);
    add_to(&s, MODE);
    step("20 000 bytes");
    step("nothing more");
    say(s.far, "abc");
    step("three");
}

int main(void) { return on_thread(test); }
