/* Values: collections of collections are equal by their contents, and keys can be any object. */
#include "trace.h"

static CFDictionaryRef make(void)
{
    long number = 7;
    CFNumberRef seven = CFNumberCreate(NULL, kCFNumberLongType, &number);
    const void *list[] = {CFSTR("x"), seven, kCFBooleanTrue};
    CFArrayRef array = CFArrayCreate(NULL, list, 3, &kCFTypeArrayCallBacks);
    CFSetRef set = CFSetCreate(NULL, list, 3, &kCFTypeSetCallBacks);
    const void *keys[] = {seven, array, set, kCFBooleanFalse};
    const void *values[] = {set, seven, array, CFSTR("no")};
    CFDictionaryRef made =
        CFDictionaryCreate(NULL, keys, values, 4, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFRelease(seven);
    CFRelease(array);
    CFRelease(set);
    return made;
}

int main(void)
{
    CFDictionaryRef one = make(), other = make();
    check("equal", CFEqual(one, other));
    check("same hash", CFHash(one) == CFHash(other));
    double number = 7.0;
    CFNumberRef seven = CFNumberCreate(NULL, kCFNumberDoubleType, &number);
    CFSetRef set = CFDictionaryGetValue(one, seven);
    check("a double finds an integer", set != NULL && CFSetGetCount(set) == 3);
    CFArrayRef array = CFDictionaryGetValue(one, set);
    check("a set is a key", array != NULL && CFArrayGetCount(array) == 3);
    check("an array is a key", CFEqual(CFDictionaryGetValue(other, array), seven));
    note("%s", text(CFDictionaryGetValue(one, kCFBooleanFalse)));
    check("true is not there", CFDictionaryContainsKey(one, kCFBooleanTrue));
    show("nested");
    CFRelease(one);
    check("the other one lives", CFSetContainsValue(CFDictionaryGetValue(other, seven), CFSTR("x")));
    show("released");
    return 0;
}
