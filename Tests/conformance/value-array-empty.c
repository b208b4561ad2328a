/* Values: arrays without values are equal if they have the same equal callback, whatever their other callbacks are. */
#include "trace.h"

static Boolean all_equal(const void *one, const void *two)
{
    (void)one;
    (void)two;
    return true;
}

int main(void)
{
    static const CFArrayCallBacks own = {.equal = all_equal}, none = {0};
    const CFArrayCallBacks kept = {.retain = kCFTypeArrayCallBacks.retain,
                                   .release = kCFTypeArrayCallBacks.release,
                                   .equal = kCFTypeArrayCallBacks.equal};
    const CFArrayCallBacks *callbacks[] = {NULL, &none, &own, &kept, &kCFTypeArrayCallBacks};
    CFArrayRef arrays[5];
    for (int i = 0; i < 5; i++)
        arrays[i] = CFArrayCreate(NULL, NULL, 0, callbacks[i]);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++)
            note("%d", CFEqual(arrays[i], arrays[j]));
        show("equal");
    }
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    check("mutable, to the same", CFEqual(array, arrays[4]));
    check("mutable, to another", CFEqual(array, arrays[0]));
    note("%ld", (long)CFArrayGetFirstIndexOfValue(array, CFRangeMake(0, 0), NULL));
    check("contains", CFArrayContainsValue(array, CFRangeMake(0, 0), NULL));
    show("searched");
    return 0;
}
