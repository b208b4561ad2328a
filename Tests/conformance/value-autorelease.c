/* Values: CFAutorelease returns its argument, which is valid until the callback returns. */
#include "trace.h"

extern CFTypeRef CFAutorelease(CFTypeRef object); /* exported by Apple's library, but not declared */

static CFStringRef made(void) { return CFAutorelease(CFStringCreateWithFormat(NULL, NULL, CFSTR("number %d"), 7)); }

static void use(CFRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    CFStringRef string = made();
    note("%s", text(string));
    check("constant", CFAutorelease(MODE) == (CFTypeRef)MODE);
}

static void test(void)
{
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, use, NULL);
    CFRunLoopAddTimer(HERE, timer, MODE);
    run("pass", MODE, AGES, false);
}

int main(void) { return on_thread(test); }
