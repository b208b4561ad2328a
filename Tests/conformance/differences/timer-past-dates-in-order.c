/* Difference 15: due timers fire in the order of their dates, even of dates that were past when the timers were
 * created (CF: in the order of creation); also in a run nested in the timer that creates them. */
#include "../trace.h"

static void fired(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    note("%s", (const char *)info);
}

static void add(const char *name, CFAbsoluteTime date)
{
    CFRunLoopTimerContext context = {.info = (void *)(uintptr_t)name};
    CFRunLoopAddTimer(HERE, CFRunLoopTimerCreate(NULL, date, 0, 0, 0, fired, &context), MODE);
}

static void add_three(void)
{
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    add("second", now - 20);
    add("third", now - 10);
    add("first", now - 30);
}

static void add_and_run(Item *item)
{
    (void)item;
    add_three();
    run_nested(MODE, 0, false);
}

static void test(void)
{
    static Item outer = {.name = "outer", .action = add_and_run};
    add_three();
    run("fired", MODE, 0, false);
    add_timer(&outer, -40, 0);
    run("in a nested run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
