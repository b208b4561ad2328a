/* Semantics 5: of several ready sockets, the one whose source has the lowest order is called first. */
#include "socket.h"

static void test(void)
{
    static Sock socks[3] = {{.name = "A ", .takes = 9}, {.name = "B ", .takes = 9}, {.name = "C ", .takes = 9}};
    static const CFIndex orders[] = {2, -5, 1};
    for (int i = 0; i < 3; i++) {
        create_pair(&socks[i], READ);
        socks[i].source = CFSocketCreateRunLoopSource(NULL, socks[i].socket, orders[i]);
        add_to(&socks[i], MODE);
        say(socks[i].far, "abc");
    }
    for (int i = 0; i < 4; i++)
        step("next");
}

int main(void) { return on_thread(test); }
