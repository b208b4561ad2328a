/* Difference 17: an object autoreleased in a callback is released at the end of the pass. (CF on Linux never
 * releases it.) */
#include "../trace.h"

extern CFTypeRef CFAutorelease(CFTypeRef object); /* exported by Apple's library, but not declared */

static void freed(const void *info) { note("%s", (const char *)info); }

static void use(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    CFRunLoopSourceContext context = {.info = info, .release = freed};
    CFAutorelease(CFRunLoopSourceCreate(NULL, 0, &context));
    note("callback");
}

static void test(void)
{
    CFRunLoopTimerContext context = {.info = (void *)"freed"};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, use, &context);
    CFRunLoopAddTimer(HERE, timer, MODE);
    run("pass", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
