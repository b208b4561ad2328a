/* Values: a set contains each value once, and returns the one it contains. */
#include "trace.h"

static void count(const void *value, void *context)
{
    (void)value;
    ++*(int *)context;
}

int main(void)
{
    CFStringRef made = CFStringCreateWithCString(NULL, "two", kCFStringEncodingUTF8);
    const void *values[] = {CFSTR("one"), CFSTR("two"), CFSTR("three"), made};
    CFSetRef set = CFSetCreate(NULL, values, 4, &kCFTypeSetCallBacks);
    note("count %ld", (long)CFSetGetCount(set));
    check("has two", CFSetContainsValue(set, made));
    check("has four", CFSetContainsValue(set, CFSTR("four")));
    note("%ld %ld", (long)CFSetGetCountOfValue(set, made), (long)CFSetGetCountOfValue(set, CFSTR("four")));
    check("the first of equals", CFSetGetValue(set, made) == values[1]);
    check("none", CFSetGetValue(set, CFSTR("four")) == NULL);
    const void *found = NULL;
    check("if present", CFSetGetValueIfPresent(set, made, &found) && found == values[1]);
    check("if absent", CFSetGetValueIfPresent(set, CFSTR("four"), &found));
    show("set");
    CFMutableSetRef other = CFSetCreateMutableCopy(NULL, 0, set);
    check("equal", CFEqual(set, other) && CFHash(set) == CFHash(other));
    CFSetAddValue(other, made);
    check("adding keeps the old", CFSetGetValue(other, made) == values[1]);
    CFSetReplaceValue(other, CFSTR("four"));
    note("%ld", (long)CFSetGetCount(other));
    CFSetReplaceValue(other, made);
    check("replacing does not", CFSetGetValue(other, made) == made);
    CFSetSetValue(other, values[1]);
    check("nor setting", CFSetGetValue(other, made) == values[1]);
    CFSetSetValue(other, CFSTR("four"));
    CFSetRemoveValue(other, CFSTR("one"));
    CFSetRemoveValue(other, CFSTR("five"));
    check("equal", CFEqual(set, other));
    int applied = 0;
    CFSetApplyFunction(other, count, &applied);
    note("%ld %d", (long)CFSetGetCount(other), applied);
    CFSetRemoveAllValues(other);
    note("%ld", (long)CFSetGetCount(other));
    show("changed");
    CFMutableSetRef numbers = CFSetCreateMutable(NULL, 0, NULL);
    for (long i = 0; i < 1000; i++)
        CFSetAddValue(numbers, (const void *)(i % 300));
    long sum = 0;
    const void *all[300];
    CFSetGetValues(numbers, all);
    for (int i = 0; i < 300; i++)
        sum += (long)all[i];
    note("%ld sum %ld", (long)CFSetGetCount(numbers), sum);
    show("numbers, 0 among them");
    return 0;
}
