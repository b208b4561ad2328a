/* Values: objects are created by the default allocator; a custom allocator has the allocators' type. */
#include "trace.h"

int main(void)
{
    CFStringRef string = CFStringCreateWithCString(NULL, "an object", kCFStringEncodingUTF8);
    CFAllocatorContext context = {.version = 0, .info = &string, .allocate = NULL};
    check("system default", CFGetAllocator(string) == kCFAllocatorSystemDefault);
    check("version", context.version == 0 && context.info == &string && context.preferredSize == NULL);
    note("%zu bytes", sizeof context);
    show("allocators");
    CFRelease(string);
    return 0;
}
