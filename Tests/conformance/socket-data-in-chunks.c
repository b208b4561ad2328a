/* Semantics 5: a stream is delivered in chunks of at most 32 768 bytes, one per pass. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    static char bytes[100000];
    int room = 400000;
    create_pair(&s, DATA);
    require(setsockopt(s.far, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    require(send(s.far, bytes, sizeof bytes, MSG_DONTWAIT) == sizeof bytes);
    add_to(&s, MODE);
    for (int i = 0; i < 5; i++)
        step("chunk");
    note("%ld bytes", (long)s.bytes);
    show("all");
}

int main(void) { return on_thread(test); }
