/* The data symbols of the public headers. @_cdecl makes functions only, so the constants are C.
   Their layout is struct StringStorage in Sources/RunLoopCore/Value/String.swift; a test of that
   room compares the two. */
#include <RunLoop/RunLoop.h>

struct constant_string {
    uint32_t tag;
    uint32_t references;
    uint32_t byteCount;
    uint32_t hash; /* 0: not computed yet */
    const char *bytes;
};

enum { STRING_TAG = 0x524C0001, IMMORTAL = 0x80000000 };

#define CONSTANT_STRING(name, text)                                                                  \
    static struct constant_string name##Storage = {STRING_TAG, IMMORTAL, sizeof(text) - 1, 0, text}; \
    const RLStringRef name = (RLStringRef)(const void *)&name##Storage

CONSTANT_STRING(kRLRunLoopDefaultMode, "kCFRunLoopDefaultMode");
CONSTANT_STRING(kRLRunLoopCommonModes, "kCFRunLoopCommonModes");
CONSTANT_STRING(kRLRunLoopConnectionReplyMode, "NSConnectionReplyMode");
CONSTANT_STRING(kRLRunLoopModalPanelMode, "NSModalPanelRunLoopMode");
CONSTANT_STRING(kRLRunLoopEventTrackingMode, "NSEventTrackingRunLoopMode");

const RLAllocatorRef kRLAllocatorDefault = NULL;
const RLTimeInterval kRLAbsoluteTimeIntervalSince1970 = 978307200.0;

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
