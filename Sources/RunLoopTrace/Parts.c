/* The probe of librunloop-trace.so: makes an event of what it is notified of, and forwards it to all parts in use. */
#include "KitCallbacks.h"
#include <stddef.h>
#include <unistd.h>

#define PARTS 4

/* Parts are only added, never removed. The count is written last. */
static const struct ProbePart *parts[PARTS];
static int partCount;

#define FORWARD(name)                                              \
    static void name(const struct ProbeEvent *event)               \
    {                                                              \
        int count = __atomic_load_n(&partCount, __ATOMIC_ACQUIRE); \
        for (int index = 0; index < count; index++)                \
            if (parts[index]->name != NULL)                        \
                parts[index]->name(event);                         \
    }
FORWARD(willCall)
FORWARD(didCall)
FORWARD(willSleep)
FORWARD(didSleep)
FORWARD(sent)
FORWARD(received)
FORWARD(dropped)
FORWARD(willPass)

/* --- events --------------------------------------------------------------------------------------------------------------- */

static inline struct ProbeEvent eventOf(const RLRunLoopProbeCall *call)
{
    struct ProbeEvent event = {
        .kind = call->kind, .object = call->item, .function = call->function, .info = call->info};
    switch (call->kind) {
    case kRLRunLoopProbeSource:
    case kRLRunLoopProbeFunction:
        event.object = NULL;
        break;
    case kRLRunLoopProbeObserver:
    case kRLRunLoopProbeFileDescriptor:
    case kRLRunLoopProbeSocket:
    case kRLRunLoopProbeMessagePort:
    case kRLRunLoopProbeReply:
        event.detail = (uint32_t)call->detail;
        break;
    default:
        break;
    }
    return event;
}

/* The number by which both processes know a request and its reply: made of the sending process, the request's number there, and the name
   of the port, which is the same at both ends. */
static uint64_t flowOf(const void *port, uint64_t number)
{
    RLStringRef name = RLMessagePortGetName((RLMessagePortRef)(uintptr_t)port);
    if (number >> 32 == 0)
        number |= (uint64_t)getpid() << 32;
    return number ^ (name != NULL ? (uint64_t)RLHash(name) : 0) << 20;
}

/* The event of something that is sent, received or dropped. */
static inline struct ProbeEvent eventOfMessage(uint32_t kind, const void *object, uint64_t number,
                                               void (*function)(void), const void *info)
{
    struct ProbeEvent event = {.kind = kind, .object = object};
    switch (kind) {
    case kRLRunLoopProbeSource:
    case kRLRunLoopProbeFunction:
        event.function = function;
        event.info = info;
        break;
    case kRLRunLoopProbeMessagePort:
    case kRLRunLoopProbeReply:
        event.detail = (uint32_t)number != 0;
        event.number = flowOf(object, number);
        break;
    default:
        break;
    }
    return event;
}

/* --- the probe ------------------------------------------------------------------------------------------------------------ */

#define ARGUMENTS const void *object, uint32_t kind, uint64_t number, void (*function)(void), const void *info

static void onWillCall(const RLRunLoopProbeCall *call)
{
    if (isCompanionThread)
        return;
    struct ProbeEvent event = eventOf(call);
    event.function = kitFunctionAtBegin(&event);
    willCall(&event);
}

static void onDidCall(const RLRunLoopProbeCall *call)
{
    if (isCompanionThread)
        return;
    struct ProbeEvent event = eventOf(call);
    event.function = kitFunctionAtEnd(&event);
    didCall(&event);
}

static void onWillSleep(ARGUMENTS)
{
    (void)function;
    if (!isCompanionThread)
        willSleep(&(struct ProbeEvent){
            .kind = kind, .object = object, .info = info, .number = number > INT64_MAX ? UINT64_MAX : number});
}

static void onDidSleep(ARGUMENTS)
{
    (void)function, (void)info;
    if (!isCompanionThread)
        didSleep(&(struct ProbeEvent){.kind = kind, .object = object, .detail = (uint32_t)number});
}

static void onSent(ARGUMENTS)
{
    if (isCompanionThread)
        return;
    struct ProbeEvent event = eventOfMessage(kind, object, number, function, info);
    event.function = kitFunctionWhenSent(&event);
    sent(&event);
}

static void onReceived(ARGUMENTS)
{
    if (isCompanionThread)
        return;
    struct ProbeEvent event = eventOfMessage(kind, object, number, function, info);
    received(&event);
}

static void onDropped(ARGUMENTS)
{
    if (isCompanionThread)
        return;
    struct ProbeEvent event = eventOfMessage(kind, object, number, function, info);
    if (kind == kRLRunLoopProbeFunction)
        event.object = NULL;
    dropped(&event);
}

static void onWillPass(ARGUMENTS)
{
    (void)number, (void)function;
    if (!isCompanionThread)
        willPass(&(struct ProbeEvent){.kind = kind, .object = object, .info = info});
}

int companionUse(const struct ProbePart *part)
{
    static const RLRunLoopProbe probe = {0,      onWillCall, onDidCall, onWillSleep, onDidSleep,
                                         onSent, onReceived, onDropped, onWillPass};
    static int isTaken, isSet;
    kitFind();
    while (__atomic_exchange_n(&isTaken, 1, __ATOMIC_ACQUIRE))
        continue;
    int count = partCount, isNew = 1;
    for (int index = 0; index < count; index++)
        isNew &= parts[index] != part;
    int isPossible = !isNew || count < PARTS;
    if (isNew && isPossible) {
        parts[count] = part;
        __atomic_store_n(&partCount, count + 1, __ATOMIC_RELEASE);
        isSet = 0;
    }
    /* A probe that the program has set since stays, unless the program registers another part here. */
    if (isPossible && !isSet)
        isSet = isPossible = RLRunLoopSetProbe(&probe) != 0;
    __atomic_store_n(&isTaken, 0, __ATOMIC_RELEASE);
    return isPossible;
}
