/* Difference 4: a timer whose tolerance extends to another timer's date shares its wake-up (CF on Linux: two
 * wake-ups). */
#include "../trace.h"

static void test(void)
{
    static Item t = {.name = "T"}, u = {.name = "U"};
    add_timer(&t, 0.1, 0);
    add_timer(&u, 0.3, 0);
    CFRunLoopTimerSetTolerance(t.timer, 5);
    watch(MODE);
    run("T may be late", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
