/* The data symbols of the public headers. They are in C, because Swift's @c exports only functions. The layout of
   strings is that of StringStorage in Sources/RunLoopCore/Value/String.swift; a test of that room compares the two. */
#include <RunLoop/RunLoop.h>

struct constant_string {
    uint32_t tag;
    uint32_t references;
    uint32_t form;
    uint32_t hash; /* 0 until it is computed */
    const char *bytes;
    long count;
};

enum { STRING_TAG = 0x524C0001, NARROW = 0x7C8, IMMORTAL = 0x80000000 };

#define CONSTANT_STRING(name, text)                                                                          \
    static struct constant_string name##Storage = {STRING_TAG, IMMORTAL, NARROW, 0, text, sizeof(text) - 1}; \
    const RLStringRef name = (RLStringRef)(const void *)&name##Storage

CONSTANT_STRING(kRLRunLoopDefaultMode, "kCFRunLoopDefaultMode");
CONSTANT_STRING(kRLRunLoopCommonModes, "kCFRunLoopCommonModes");
CONSTANT_STRING(kRLRunLoopConnectionReplyMode, "NSConnectionReplyMode");
CONSTANT_STRING(kRLRunLoopModalPanelMode, "NSModalPanelRunLoopMode");
CONSTANT_STRING(kRLRunLoopEventTrackingMode, "NSEventTrackingRunLoopMode");
CONSTANT_STRING(kRLMessagePortPrivateReplyMode, "RLMessagePortPrivateReplyMode");

/* Numbers and truth values, with the layouts of NumberStorage and TruthStorage in Value/Number.swift. The objects
   that have only a header follow: null, and the notification center. */
struct constant_number {
    uint32_t tag;
    uint32_t references;
    long type;
    double value;
};
struct constant_truth {
    uint32_t tag;
    uint32_t references;
    uint64_t value;
};

enum { NUMBER_TAG = 0x524C000C, BOOLEAN_TAG = 0x524C000D, CENTER_TAG = 0x524C000F, NULL_TAG = 0x524C0020 };

#define CONSTANT_NUMBER(name, value)                                                                         \
    static const struct constant_number name##Storage = {NUMBER_TAG, IMMORTAL, kRLNumberFloat64Type, value}; \
    const RLNumberRef name = (RLNumberRef)(const void *)&name##Storage
#define CONSTANT_TRUTH(name, value)                                                    \
    static const struct constant_truth name##Storage = {BOOLEAN_TAG, IMMORTAL, value}; \
    const RLBooleanRef name = (RLBooleanRef)(const void *)&name##Storage

CONSTANT_NUMBER(kRLNumberPositiveInfinity, __builtin_inf());
CONSTANT_NUMBER(kRLNumberNegativeInfinity, -__builtin_inf());
CONSTANT_NUMBER(kRLNumberNaN, __builtin_nan(""));
CONSTANT_TRUTH(kRLBooleanTrue, 1);
CONSTANT_TRUTH(kRLBooleanFalse, 0);

static const uint32_t nullStorage[2] __attribute__((aligned(8))) = {NULL_TAG, IMMORTAL};
const RLNullRef kRLNull = (RLNullRef)(const void *)nullStorage;

static uint32_t localCenter[2] = {CENTER_TAG, IMMORTAL};

RLNotificationCenterRef RLNotificationCenterGetLocalCenter(void)
{
    return (RLNotificationCenterRef)(void *)localCenter;
}

static const char null_allocator;
const RLAllocatorRef kRLAllocatorDefault = NULL;
const RLAllocatorRef kRLAllocatorNull = (RLAllocatorRef)(const void *)&null_allocator;
const RLTimeInterval kRLAbsoluteTimeIntervalSince1970 = 978307200.0;
const RLTimeInterval kRLAbsoluteTimeIntervalSince1904 = 3061152000.0;

static const void *retain_object(RLAllocatorRef allocator, const void *value)
{
    (void)allocator;
    return RLRetain(value);
}

static void release_object(RLAllocatorRef allocator, const void *value)
{
    (void)allocator;
    RLRelease(value);
}

const RLArrayCallBacks kRLTypeArrayCallBacks = {0, retain_object, release_object, RLCopyDescription, RLEqual};
const RLDictionaryValueCallBacks kRLTypeDictionaryValueCallBacks = {0, retain_object, release_object, RLCopyDescription,
                                                                    RLEqual};

/* The callbacks that copy strings do not differ from the others, because strings are retained like any other object. So
   they are second names for the same structs: in a struct of their own, each pointer would cost a relocation. */
#define SAME_AS(name) __attribute__((alias(#name)))
#define HASHING_CALLBACKS                                                    \
    {                                                                        \
        0, retain_object, release_object, RLCopyDescription, RLEqual, RLHash \
    }
const RLSetCallBacks kRLTypeSetCallBacks = HASHING_CALLBACKS;
extern const RLSetCallBacks kRLCopyStringSetCallBacks SAME_AS(kRLTypeSetCallBacks);
const RLDictionaryKeyCallBacks kRLTypeDictionaryKeyCallBacks = HASHING_CALLBACKS;
extern const RLDictionaryKeyCallBacks kRLCopyStringDictionaryKeyCallBacks SAME_AS(kRLTypeDictionaryKeyCallBacks);
