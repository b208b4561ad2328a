/* Difference 7: bytes are read when their callback is made (CF reads them as soon as they arrive, without limit,
 * even while no run serves the mode). */
#include "../socket.h"

static int waiting(int fd)
{
    int bytes = -1;
    require(ioctl(fd, FIONREAD, &bytes) == 0);
    return bytes;
}

static void test(void)
{
    static Sock s;
    add_pair(&s, DATA);
    say(s.far, "abc");
    settle();
    note("%d bytes wait", waiting(s.fd));
    say(s.far, "de");
    settle();
    note("%d bytes wait", waiting(s.fd));
    show("not run yet");
    run("first", MODE, 0, true);
    run("second", MODE, 0, true);
}

int main(void) { return on_thread(test); }
