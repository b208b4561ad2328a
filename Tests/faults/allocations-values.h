/* Part of allocations.c: strings, data, collections, numbers, dates, notifications. */
#ifndef RUNLOOP_TESTS_FAULTS_ALLOCATIONS_VALUES_H
#define RUNLOOP_TESTS_FAULTS_ALLOCATIONS_VALUES_H

static void use_values(void)
{
    RLStringRef string = MAKE(RLStringCreateWithCString(NULL, "a string", kRLStringEncodingUTF8));
    RLStringRef ascii = MAKE(RLStringCreateWithBytes(NULL, (const uint8_t *)"abc", 3, kRLStringEncodingASCII, 0));
    RLStringRef constant = MAKE(RLStringMakeConstant("a constant"));
    RLDataRef data = MAKE(RLDataCreate(NULL, (const uint8_t *)"data", 4));
    const void *values[] = {string, ascii, constant, data};
    if (string && ascii && constant && data) {
        RLArrayRef array = MAKE(RLArrayCreate(NULL, values, 4, &kRLTypeArrayCallBacks));
        if (array) {
            release_object(MAKE(RLCopyDescription(array)));
            CHECK(RLEqual(array, array) && RLArrayContainsValue(array, (RLRange){0, 4}, string));
            RLRelease(array);
        }
    }
    for (int i = 0; i < 20 && string; i++) {
        errno = 0;
        CHECK(RLAutorelease(RLRetain(string)) == string);
        if (errno == ENOMEM)
            RLRelease(string);
        else
            CHECK(RLGetRetainCount(string) > 1);
    }
    for (int i = 0; i < 4; i++) {
        if (values[i])
            release_object(MAKE(RLCopyDescription(values[i])));
        release_object(values[i]);
    }
}

static void hear(RLNotificationCenterRef center, void *observer, RLNotificationName name, const void *object,
                 RLDictionaryRef info)
{
    (void)center, (void)name, (void)object, (void)info;
    ++*(int *)observer;
}

/* Functions that change a collection return nothing; errno reports a failure. */
static void use_collections(void)
{
    RLMutableArrayRef array = MAKE(RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks));
    RLMutableSetRef set = MAKE(RLSetCreateMutable(NULL, 0, &kRLTypeSetCallBacks));
    RLMutableDictionaryRef dictionary =
        MAKE(RLDictionaryCreateMutable(NULL, 0, &kRLTypeDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks));
    RLMutableDataRef data = MAKE(RLDataCreateMutable(NULL, 0));
    for (int i = 0; array && set && dictionary && data && i < 40; i++) {
        RLNumberRef number = MAKE(RLNumberCreate(NULL, kRLNumberIntType, &i));
        RLIndex before = RLArrayGetCount(array);
        if (number == NULL)
            continue;
        errno = 0;
        RLArrayAppendValue(array, number);
        CHECK(RLArrayGetCount(array) == before + (errno != ENOMEM));
        before = RLSetGetCount(set);
        errno = 0;
        RLSetAddValue(set, number);
        CHECK(RLSetGetCount(set) == before + (errno != ENOMEM));
        before = RLDictionaryGetCount(dictionary);
        errno = 0;
        RLDictionarySetValue(dictionary, number, number);
        CHECK(RLDictionaryGetCount(dictionary) == before + (errno != ENOMEM));
        before = RLDataGetLength(data);
        errno = 0;
        RLDataIncreaseLength(data, 5);
        CHECK(RLDataGetLength(data) == before + (errno != ENOMEM ? 5 : 0));
        RLRelease(number);
    }
    if (array && set && dictionary && data) {
        RLTypeRef copies[] = {MAKE(RLArrayCreateCopy(NULL, array)),
                              MAKE(RLArrayCreateMutableCopy(NULL, 0, array)),
                              MAKE(RLSetCreateCopy(NULL, set)),
                              MAKE(RLDictionaryCreateMutableCopy(NULL, 0, dictionary)),
                              MAKE(RLDataCreateCopy(NULL, data)),
                              MAKE(RLDateCreate(NULL, 1)),
                              MAKE(RLStringCreateWithFormat(NULL, NULL, kRLRunLoopDefaultMode))};
        CHECK(copies[0] == NULL || RLEqual(copies[0], array));
        CHECK(copies[2] == NULL || RLEqual(copies[2], set));
        CHECK(copies[3] == NULL || RLEqual(copies[3], dictionary));
        for (int i = 0; i < 7; i++)
            release_object(copies[i]);
        RLIndex before = RLArrayGetCount(array);
        errno = 0;
        RLArrayRemoveAllValues(array);
        CHECK(RLArrayGetCount(array) == (errno == ENOMEM ? before : 0));
        RLDictionaryRemoveAllValues(dictionary);
        CHECK(RLDictionaryGetCount(dictionary) == 0);
    }
    int heard = 0;
    errno = 0;
    RLNotificationCenterAddObserver(RLNotificationCenterGetLocalCenter(), &heard, hear, NULL, NULL, 0);
    int expected = errno != ENOMEM;
    RLNotificationCenterPostNotification(RLNotificationCenterGetLocalCenter(), kRLRunLoopDefaultMode, NULL, NULL, 0);
    CHECK(heard == expected);
    RLNotificationCenterRemoveEveryObserver(RLNotificationCenterGetLocalCenter(), &heard);
    release_object(array);
    release_object(set);
    release_object(dictionary);
    release_object(data);
}

#endif
