/* Values: loops, timers and observers are equal to themselves only, and to no object of another type. */
#include "trace.h"

static void test(void)
{
    static Item item = {.name = "x"};
    CFTypeRef timer = create_timer(&item, 0, 0), twin = create_timer(&item, 0, 0);
    CFTypeRef observer = create_observer(&item, 0, true, 0), other = create_observer(&item, 0, true, 0);
    CFTypeRef source = create_source(&item, 0);
    check("timer itself", CFEqual(timer, timer));
    check("timers", CFEqual(timer, twin));
    check("observer itself", CFEqual(observer, observer));
    check("observers", CFEqual(observer, other));
    check("timer and observer", CFEqual(timer, observer));
    check("source and timer", CFEqual(source, timer));
    check("loop and string", CFEqual(HERE, CFSTR("x")));
    check("stable hash", CFHash(timer) == CFHash(timer));
    show("equal");
}

int main(void) { return on_thread(test); }
