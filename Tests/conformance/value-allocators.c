/* Values: NULL, kCFAllocatorDefault and kCFAllocatorSystemDefault all serve to create objects. */
#include "trace.h"

static void test(void)
{
    CFAllocatorRef allocators[] = {NULL, kCFAllocatorDefault, kCFAllocatorSystemDefault};
    for (int i = 0; i < 3; i++) {
        CFRunLoopSourceContext context = {.version = 0};
        CFTypeRef source = CFRunLoopSourceCreate(allocators[i], 0, &context);
        CFTypeRef string = CFStringCreateWithCString(allocators[i], "s", kCFStringEncodingUTF8);
        check("source", CFGetTypeID(source) == CFRunLoopSourceGetTypeID());
        check("string", CFEqual(string, CFSTR("s")));
        CFRelease(source);
        CFRelease(string);
    }
    show("created");
}

int main(void) { return on_thread(test); }
