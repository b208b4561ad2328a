/* Values: what a release callback finds in the array, set or dictionary that is being freed. */
#include "trace.h"

static CFMutableArrayRef array;
static CFMutableSetRef set;
static CFMutableDictionaryRef dictionary;

static void release_of_array(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    note("-%s of %d, first %s", (const char *)value, (int)CFArrayGetCount(array),
         (const char *)CFArrayGetValueAtIndex(array, 0));
}

static void release_of_set(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    note("-%s of %d", (const char *)value, (int)CFSetGetCount(set));
}

static void release_of_dictionary(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    note("-%s of %d", (const char *)value, (int)CFDictionaryGetCount(dictionary));
}

int main(void)
{
    CFArrayCallBacks of_array = {.release = release_of_array};
    array = CFArrayCreateMutable(NULL, 0, &of_array);
    CFArrayAppendValue(array, "one");
    CFArrayAppendValue(array, "two");
    CFRelease(array);
    show("array");

    CFSetCallBacks of_set = {.release = release_of_set};
    set = CFSetCreateMutable(NULL, 0, &of_set);
    CFSetAddValue(set, "one");
    CFRelease(set);
    show("set");

    CFDictionaryValueCallBacks of_dictionary = {.release = release_of_dictionary};
    dictionary = CFDictionaryCreateMutable(NULL, 0, NULL, &of_dictionary);
    CFDictionarySetValue(dictionary, "key", "one");
    CFRelease(dictionary);
    show("dictionary");
    return 0;
}
