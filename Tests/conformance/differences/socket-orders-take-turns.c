/* Difference 18: sockets of different order take turns in runs that return after one source (CF serves the lowest
 * order every time, while it is ready). */
#include "../socket.h"

static void test(void)
{
    static Sock socks[2] = {{.name = "A ", .takes = 1}, {.name = "B ", .takes = 1}};
    for (int i = 0; i < 2; i++) {
        create_pair(&socks[i], READ);
        socks[i].source = CFSocketCreateRunLoopSource(NULL, socks[i].socket, i);
        add_to(&socks[i], MODE);
        say(socks[i].far, "abcdef");
    }
    for (int i = 0; i < 4; i++)
        step("next");
}

int main(void) { return on_thread(test); }
