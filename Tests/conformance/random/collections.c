/* collections.c - random operations on an array, a set, a dictionary and data. Prints their contents after each
 * step; for unordered ones, which members of the pool they contain. */
#include "pool.h"

static CFComparisonResult by_place(const void *one, const void *two, void *context)
{
    (void)context;
    return place(one) < place(two)   ? kCFCompareLessThan
           : place(one) > place(two) ? kCFCompareGreaterThan
                                     : kCFCompareEqualTo;
}

static void array_step(CFMutableArrayRef array)
{
    CFIndex count = CFArrayGetCount(array);
    CFIndex at = (CFIndex)pick((unsigned)count + 1), length = (CFIndex)pick((unsigned)(count - at) + 1);
    const void *value = pool[pick(POOL)];
    const void *several[3] = {value, pool[pick(POOL)], pool[pick(POOL)]};
    unsigned what = pick(12);
    printf(" arr%u", what);
    switch (what) {
    case 0:
    case 1:
        CFArrayAppendValue(array, value);
        break;
    case 2:
        CFArrayInsertValueAtIndex(array, at, value);
        break;
    case 3:
        CFArraySetValueAtIndex(array, at, value);
        break;
    case 4:
        if (at < count)
            CFArrayRemoveValueAtIndex(array, at);
        break;
    case 5:
        CFArrayReplaceValues(array, CFRangeMake(at, length), several, (CFIndex)pick(4));
        break;
    case 6:
        if (count > 1)
            CFArrayExchangeValuesAtIndices(array, (CFIndex)pick((unsigned)count), (CFIndex)pick((unsigned)count));
        break;
    case 7:
        printf(" first %ld", (long)CFArrayGetFirstIndexOfValue(array, CFRangeMake(at, length), value));
        break;
    case 8:
        printf(" last %ld", (long)CFArrayGetLastIndexOfValue(array, CFRangeMake(at, length), value));
        break;
    case 9:
        printf(" has %ld", (long)CFArrayGetCountOfValue(array, CFRangeMake(at, length), value));
        break;
    case 10:
        CFArraySortValues(array, CFRangeMake(0, count), by_place, NULL);
        printf(" found %ld", (long)CFArrayBSearchValues(array, CFRangeMake(0, count), value, by_place, NULL));
        break;
    default:
        if (count > 20)
            CFArrayRemoveAllValues(array);
    }
    for (CFIndex i = 0; i < CFArrayGetCount(array); i++)
        printf(" %d", place(CFArrayGetValueAtIndex(array, i)));
}

static void set_step(CFMutableSetRef set)
{
    const void *value = pool[pick(POOL)];
    unsigned what = pick(6);
    printf(" set%u", what);
    switch (what) {
    case 0:
    case 1:
        CFSetAddValue(set, value);
        break;
    case 2:
        CFSetSetValue(set, value);
        break;
    case 3:
        CFSetReplaceValue(set, value);
        break;
    case 4:
        CFSetRemoveValue(set, value);
        break;
    default:
        printf(" get %d", place(CFSetGetValue(set, value)));
    }
    printf(" %d %ld:", place(value), (long)CFSetGetCount(set));
    for (int i = 0; i < POOL; i++)
        if (CFSetContainsValue(set, pool[i]))
            printf(" %d=%d", i, place(CFSetGetValue(set, pool[i])));
}

static void dictionary_step(CFMutableDictionaryRef dictionary)
{
    const void *key = pool[pick(POOL)], *value = pool[pick(POOL)];
    unsigned what = pick(6);
    printf(" dic%u", what);
    switch (what) {
    case 0:
    case 1:
        CFDictionaryAddValue(dictionary, key, value);
        break;
    case 2:
        CFDictionarySetValue(dictionary, key, value);
        break;
    case 3:
        CFDictionaryReplaceValue(dictionary, key, value);
        break;
    case 4:
        CFDictionaryRemoveValue(dictionary, key);
        break;
    default:
        printf(" values %ld", (long)CFDictionaryGetCountOfValue(dictionary, value));
    }
    printf(" %ld:", (long)CFDictionaryGetCount(dictionary));
    for (int i = 0; i < POOL; i++)
        if (CFDictionaryContainsKey(dictionary, pool[i]))
            printf(" %d=%d", i, place(CFDictionaryGetValue(dictionary, pool[i])));
}

static void data_step(CFMutableDataRef data)
{
    CFIndex count = CFDataGetLength(data);
    CFIndex at = (CFIndex)pick((unsigned)count + 1), length = (CFIndex)pick((unsigned)(count - at) + 1);
    UInt8 bytes[3] = {(UInt8)pick(3), (UInt8)pick(3), (UInt8)pick(3)};
    CFIndex some = (CFIndex)pick(4);
    CFDataRef part = CFDataCreate(NULL, bytes, some);
    CFRange found;
    unsigned what = pick(7);
    printf(" dat%u", what);
    switch (what) {
    case 0:
        CFDataAppendBytes(data, bytes, some);
        break;
    case 1:
        CFDataReplaceBytes(data, CFRangeMake(at, length), bytes, some);
        break;
    case 2:
        CFDataDeleteBytes(data, CFRangeMake(at, length));
        break;
    case 3:
        CFDataIncreaseLength(data, some);
        break;
    case 4:
        CFDataSetLength(data, count < 30 ? count + some : some);
        break;
    default:
        found = CFDataFind(data, part, CFRangeMake(at, length), pick(2) ? kCFDataSearchBackwards : 0);
        printf(" found %ld+%ld", (long)found.location, (long)found.length);
    }
    CFRelease(part);
    printf(" ");
    for (CFIndex i = 0; i < CFDataGetLength(data); i++)
        printf("%x", CFDataGetBytePtr(data)[i]);
}

static void script(unsigned long seed)
{
    fill_pool();
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    CFMutableSetRef set = CFSetCreateMutable(NULL, 0, &kCFTypeSetCallBacks);
    CFMutableDictionaryRef dictionary =
        CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFMutableDataRef data = CFDataCreateMutable(NULL, 0);
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", seed, step);
        switch (pick(4)) {
        case 0:
            array_step(array);
            break;
        case 1:
            set_step(set);
            break;
        case 2:
            dictionary_step(dictionary);
            break;
        default:
            data_step(data);
        }
        printf("\n");
    }
    CFRelease(array);
    CFRelease(set);
    CFRelease(dictionary);
    CFRelease(data);
    empty_pool();
}

int main(int count, char **arguments) { return run_scripts(count, arguments, script); }
