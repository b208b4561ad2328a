/* values.c - strings, data and arrays: small immutable values, and who owns them.
 *
 * The name of the function that returns an object says who owns it. After Create or Copy the caller owns it and must
 * RLRelease it. After Get it is borrowed, and must be RLRetained if it is kept. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <string.h>

static int check(int condition, const char *sentence)
{
    printf("%s %s\n", condition ? "yes:" : "NO: ", sentence);
    return condition;
}

static int strings(void)
{
    /* RLSTR makes a constant: equal literals are the same object, which is never released. */
    RLStringRef constant = RLSTR("Z\xC3\xBCrich");
    RLStringRef made = RLStringCreateWithCString(kRLAllocatorDefault, "Z\xC3\xBCrich", kRLStringEncodingUTF8);
    RLStringRef other = RLStringCreateWithCString(kRLAllocatorDefault, "Zug", kRLStringEncodingASCII);
    if (made == NULL || other == NULL)
        return 0;

    char buffer[16], small[3];
    int ok = check(constant == RLSTR("Z\xC3\xBCrich"), "equal literals are one object");
    ok &= check(constant == RLStringMakeConstant("Z\xC3\xBCrich"), "and so it is if made without the macro");
    ok &= check(made != constant && RLEqual(made, constant), "a string with the same text is equal to it");
    ok &= check(RLHash(made) == RLHash(constant), "equal objects have the same hash");
    ok &= check(RLStringGetLength(made) == 6 && RLStringGetByteCount(made) == 7, "6 characters, 7 bytes of UTF-8");
    ok &= check(RLStringGetCString(made, buffer, sizeof buffer, kRLStringEncodingUTF8) &&
                    strcmp(buffer, "Z\xC3\xBCrich") == 0,
                "its text can be copied into a buffer");
    ok &= check(!RLStringGetCString(made, small, sizeof small, kRLStringEncodingUTF8), "but not into a small one");
    ok &= check(RLStringCompare(other, made, 0) == kRLCompareLessThan ||
                    RLStringCompare(made, other, 0) == kRLCompareLessThan,
                "one of two different strings comes first");
    ok &= check(strcmp(RLStringGetCStringPtr(other, kRLStringEncodingUTF8), "Zug") == 0, "or be read where it is");

    const uint8_t bytes[] = {'a', 0, 'b'};
    RLStringRef withZero = RLStringCreateWithBytes(kRLAllocatorDefault, bytes, 3, kRLStringEncodingUTF8, 0);
    ok &= check(withZero != NULL && RLStringGetLength(withZero) == 3, "a string may have a zero inside");
    if (withZero != NULL)
        RLRelease(withZero);
    RLRelease(other);
    RLRelease(made);
    return ok;
}

static int data(void)
{
    const uint8_t bytes[] = {'r', 'u', 'n', 0, 'l', 'o', 'o', 'p'};
    uint8_t part[4];
    RLDataRef copy = RLDataCreate(kRLAllocatorDefault, bytes, sizeof bytes);
    if (copy == NULL)
        return 0;
    int ok = check(RLDataGetLength(copy) == 8, "data holds any bytes, a zero among them");
    ok &= check(RLDataGetBytePtr(copy) != bytes && memcmp(RLDataGetBytePtr(copy), bytes, sizeof bytes) == 0,
                "it is a copy of them");
    RLDataGetBytes(copy, (RLRange){.location = 4, .length = 4}, part);
    ok &= check(memcmp(part, "loop", 4) == 0, "a range of it can be copied out");
    RLRelease(copy);
    return ok;
}

static int arrays(void)
{
    RLStringRef made = RLStringCreateWithCString(kRLAllocatorDefault, "made", kRLStringEncodingUTF8);
    if (made == NULL)
        return 0;
    const void *values[] = {made, RLSTR("constant")};
    /* With kRLTypeArrayCallBacks the array retains its values, releases them, and compares them with RLEqual. */
    RLArrayRef array = RLArrayCreate(kRLAllocatorDefault, values, 2, &kRLTypeArrayCallBacks);
    RLRelease(made); /* the array holds its own reference, so this one is no longer needed */
    if (array == NULL)
        return 0;

    RLStringRef borrowed = RLArrayGetValueAtIndex(array, 0); /* Get rule: valid as long as the array */
    RLStringRef kept = RLRetain(borrowed);                   /* owned here, too */
    int ok = check(RLArrayGetCount(array) == 2, "an array has its values");
    ok &= check(RLArrayContainsValue(array, (RLRange){0, 2}, RLSTR("made")), "it finds them by equality");
    ok &= check(!RLArrayContainsValue(array, (RLRange){1, 1}, RLSTR("made")), "in the range asked for");
    RLRelease(array);
    ok &= check(RLEqual(kept, RLSTR("made")), "a retained value outlives its array");
    RLIndex count = RLGetRetainCount(kept);
    RLRetain(kept);
    ok &= check(RLGetRetainCount(kept) == count + 1, "each RLRetain counts, and wants its RLRelease");
    RLRelease(kept);
    RLRelease(kept);
    return ok;
}

/* The caller need not release the result: the loop does so at the end of the pass. */
static RLDataRef answer(void) { return RLAutorelease(RLDataCreate(kRLAllocatorDefault, (const uint8_t *)"42", 2)); }

static RLDataRef kept;
static RLIndex owners; /* while the function runs */

static void use_answer(void *info)
{
    (void)info;
    kept = RLRetain(answer());
    owners = RLGetRetainCount(kept);
}

static int later(void)
{
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, use_answer, NULL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    if (kept == NULL)
        return 0;
    int ok = check(owners == 2, "what was autoreleased lasts until the pass ends");
    ok &= check(RLGetRetainCount(kept) == 1, "and no longer");
    RLRelease(kept);
    return ok;
}

static int kinds(void)
{
    const RLTypeID kinds[] = {RLStringGetTypeID(),         RLDataGetTypeID(),          RLArrayGetTypeID(),
                              RLRunLoopGetTypeID(),        RLRunLoopSourceGetTypeID(), RLRunLoopTimerGetTypeID(),
                              RLRunLoopObserverGetTypeID()};
    int different = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t j = 0; j < i; j++)
            different = different && kinds[i] != kinds[j];
    int ok = check(different, "there are seven kinds of objects");
    ok &= check(RLGetTypeID(kRLRunLoopDefaultMode) == RLStringGetTypeID(), "a mode is a string");
    ok &= check(RLGetTypeID(RLRunLoopGetCurrent()) == RLRunLoopGetTypeID(), "every object knows its kind");

    RLStringRef description = RLCopyDescription(kRLRunLoopDefaultMode); /* Copy rule: owned here */
    ok &= check(description != NULL && RLStringGetByteCount(description) > 0, "and can describe itself, on stderr:");
    if (description != NULL)
        RLRelease(description);
    RLShow(kRLRunLoopDefaultMode);
    return ok;
}

int main(void)
{
    int ok = strings();
    ok &= data();
    ok &= arrays();
    ok &= later();
    ok &= kinds();
    return ok ? 0 : 1;
}
