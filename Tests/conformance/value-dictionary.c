/* Values: a dictionary has a value for each of its keys. */
#include "trace.h"

int main(void)
{
    const void *keys[] = {CFSTR("a"), CFSTR("b"), CFSTR("c"), CFSTR("b")};
    const void *values[] = {CFSTR("1"), CFSTR("2"), CFSTR("3"), CFSTR("4")};
    CFStringRef b = CFStringCreateWithCString(NULL, "b", kCFStringEncodingUTF8);
    CFDictionaryRef dictionary =
        CFDictionaryCreate(NULL, keys, values, 4, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    note("count %ld", (long)CFDictionaryGetCount(dictionary));
    note("b=%s x=%s", text(CFDictionaryGetValue(dictionary, b)), text(CFDictionaryGetValue(dictionary, CFSTR("x"))));
    check("key", CFDictionaryContainsKey(dictionary, b));
    check("no key", CFDictionaryContainsKey(dictionary, values[0]));
    check("value", CFDictionaryContainsValue(dictionary, CFSTR("3")));
    check("no value", CFDictionaryContainsValue(dictionary, CFSTR("5")));
    note("%ld %ld", (long)CFDictionaryGetCountOfKey(dictionary, b),
         (long)CFDictionaryGetCountOfValue(dictionary, values[0]));
    show("made");
    const void *found = keys[0];
    check("absent", CFDictionaryGetValueIfPresent(dictionary, CFSTR("x"), &found));
    check("untouched", found == keys[0]);
    check("present", CFDictionaryGetValueIfPresent(dictionary, b, &found));
    check("without a place", CFDictionaryGetValueIfPresent(dictionary, b, NULL));
    note("%s", text(found));
    show("if present");
    CFMutableDictionaryRef other = CFDictionaryCreateMutableCopy(NULL, 0, dictionary);
    check("equal", CFEqual(other, dictionary) && CFHash(other) == CFHash(dictionary));
    CFDictionaryAddValue(other, b, CFSTR("9"));
    note("add %s", text(CFDictionaryGetValue(other, b)));
    CFDictionaryReplaceValue(other, b, CFSTR("9"));
    note("replace %s", text(CFDictionaryGetValue(other, b)));
    check("equal", CFEqual(other, dictionary));
    CFDictionaryReplaceValue(other, CFSTR("new"), CFSTR("9"));
    CFDictionarySetValue(other, CFSTR("d"), CFSTR("4"));
    CFDictionaryRemoveValue(other, CFSTR("a"));
    CFDictionaryRemoveValue(other, CFSTR("nothing"));
    note("%ld", (long)CFDictionaryGetCount(other));
    show("changed");
    const void *all_keys[3], *all_values[3];
    CFDictionaryGetKeysAndValues(other, all_keys, all_values);
    for (char key = 'a'; key <= 'd'; key++)
        for (int i = 0; i < 3; i++)
            if (text(all_keys[i])[0] == key)
                note("%s=%s", text(all_keys[i]), text(all_values[i]));
    show("pairs");
    CFDictionaryRemoveAllValues(other);
    note("%ld %s", (long)CFDictionaryGetCount(other), text(CFDictionaryGetValue(other, b)));
    show("emptied");
    return 0;
}
