/* Values: CFAutorelease gives back what it gets, which is there until the callback returns. */
#include "trace.h"

extern CFTypeRef CFAutorelease(CFTypeRef object); /* Apple's library for Linux has it, its headers hide it */

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
