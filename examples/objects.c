/* objects.c - sets, and the small objects that collections contain: numbers, truth values, dates, data. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <string.h>

static RLNumberRef number(int value) { return RLNumberCreate(NULL, kRLNumberIntType, &value); }

static void count(const void *value, void *context)
{
    (void)value;
    ++*(int *)context;
}

static void sets(void)
{
    RLMutableSetRef kinds = RLSetCreateMutable(NULL, 0, &kRLTypeSetCallBacks);
    const char *const sold[] = {"bread", "tea", "tea", "salt", "bread"};
    for (int i = 0; i < 5; i++)
        RLSetAddValue(kinds, RLStringMakeConstant(sold[i]));
    RLSetReplaceValue(kinds, RLSTR("pepper"));
    RLSetSetValue(kinds, RLSTR("milk"));
    RLSetRemoveValue(kinds, RLSTR("tea"));
    RLSetRef copy = RLSetCreateCopy(NULL, kinds);
    RLMutableSetRef empty = RLSetCreateMutableCopy(NULL, 0, copy);
    RLSetRemoveAllValues(empty);
    const void *found = NULL, *list[8];
    int counted = 0;
    RLSetApplyFunction(copy, count, &counted);
    RLSetGetValues(copy, list);
    RLSetRef same = RLSetCreate(NULL, list, counted, &kRLTypeSetCallBacks);
    printf("%d kinds: %s, %s, %s; %s\n", counted, RLSetContainsValue(copy, RLSTR("milk")) ? "milk" : "no milk",
           RLSetGetCountOfValue(copy, RLSTR("tea")) ? "tea" : "no tea",
           RLSetGetValueIfPresent(copy, RLSTR("bread"), &found) && found == RLSetGetValue(copy, found) ? "bread"
                                                                                                       : "no bread",
           RLEqual(same, copy) && RLSetGetCount(empty) == 0 ? "as expected" : "miscounted");
    RLRelease(same);
    RLRelease(empty);
    RLRelease(copy);
    RLRelease(kinds);
}

static void numbers_and_dates(void)
{
    double half = 0.5;
    int8_t small;
    RLNumberRef big = number(1000), fraction = RLNumberCreate(NULL, kRLNumberDoubleType, &half);
    printf("1000 %s an int8_t; 0.5 is %s and takes %ld bytes; it is %s\n",
           RLNumberGetValue(big, kRLNumberSInt8Type, &small) ? "fits into" : "does not fit into",
           RLNumberIsFloatType(fraction) && RLNumberGetType(fraction) == kRLNumberFloat64Type ? "a double" : "whole",
           (long)RLNumberGetByteSize(fraction),
           RLNumberCompare(fraction, big, NULL) == kRLCompareLessThan ? "the smaller one" : "not smaller");
    printf("the null object is %s\n", RLGetTypeID(kRLNull) == RLNullGetTypeID() ? "an object, too" : "nothing");
    printf("true is %d, false is %d\n", RLBooleanGetValue(kRLBooleanTrue), RLBooleanGetValue(kRLBooleanFalse));

    RLDateRef opens = RLDateCreate(NULL, 28800), closes = RLDateCreate(NULL, 64800);
    printf("open %.0f hours, %s\n", RLDateGetTimeIntervalSinceDate(closes, opens) / 3600,
           RLDateCompare(opens, closes, NULL) == kRLCompareLessThan && RLDateGetAbsoluteTime(opens) == 28800
               ? "from the morning on"
               : "at night");

    printf("kinds of objects are told apart: %s\n",
           RLGetTypeID(opens) == RLDateGetTypeID() && RLGetTypeID(big) == RLNumberGetTypeID() &&
                   RLGetTypeID(kRLBooleanTrue) == RLBooleanGetTypeID() && RLSetGetTypeID() != RLDictionaryGetTypeID()
               ? "yes"
               : "no");
    RLRelease(opens);
    RLRelease(closes);
    RLRelease(big);
    RLRelease(fraction);
}

static void data(void)
{
    RLMutableDataRef bytes = RLDataCreateMutable(NULL, 0);
    RLDataAppendBytes(bytes, (const uint8_t *)"receipt 7", 9);
    RLDataReplaceBytes(bytes, (RLRange){8, 1}, (const uint8_t *)"12", 2);
    RLDataIncreaseLength(bytes, 1); /* appends a 0 byte */
    memcpy(RLDataGetMutableBytePtr(bytes), "R", 1);
    RLMutableDataRef longer = RLDataCreateMutableCopy(NULL, 64, bytes);
    RLDataDeleteBytes(longer, (RLRange){0, 8});
    RLDataRef pattern = RLDataCreateWithBytesNoCopy(NULL, (const uint8_t *)"12", 2, kRLAllocatorNull);
    RLRange place = RLDataFind(bytes, pattern, (RLRange){0, RLDataGetLength(bytes)}, kRLDataSearchBackwards);
    RLDataRef frozen = RLDataCreateCopy(NULL, bytes);
    RLDataSetLength(bytes, 0);
    printf("%s: the number is at %ld; alone it is %s\n", (const char *)RLDataGetBytePtr(frozen), (long)place.location,
           (const char *)RLDataGetBytePtr(longer));
    RLRelease(frozen);
    RLRelease(pattern);
    RLRelease(longer);
    RLRelease(bytes);
}

int main(void)
{
    sets();
    numbers_and_dates();
    data();
    return 0;
}
