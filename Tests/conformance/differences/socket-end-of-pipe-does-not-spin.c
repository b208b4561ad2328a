/* Difference 9: the end of a pipe causes one read callback, like that of a socket (CF: one in every pass). */
#include "../socket.h"

static void test(void)
{
    static Sock s;
    int ends[2];
    require(pipe(ends) == 0);
    create_on(&s, ends[0], READ);
    add_to(&s, MODE);
    close(ends[1]);
    step("end");
    step("after the end");
}

int main(void) { return on_thread(test); }
