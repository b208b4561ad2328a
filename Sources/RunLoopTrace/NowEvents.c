/* The effects of events on the state of their thread. */
#include "NowWriter.h"
#include <string.h>

#define MILLISECOND 1000000
/* A busy loop calls at least this many callbacks per sleep of a millisecond or more. A loop may appear to sleep while another thread has
   its processor. */
#define CALLS_PER_SLEEP 50
#define MOST_CREDIT (20 * CALLS_PER_SLEEP)

/* Whether the running callback has signalled or posted itself again. Signal handlers write it, too. */
static THREAD_LOCAL volatile int wasAskedAgain;

static void copyName(RLStringRef name, uint64_t words[NOW_NAME_WORDS])
{
    char text[NOW_NAME_WORDS * sizeof(uint64_t)] = "";
    if (name == NULL || !RLStringGetCString(name, text, sizeof text, kRLStringEncodingUTF8))
        strcpy(text, "?");
    putWords(words, text, sizeof text);
}

/* Returns the entry that counts a callback: its own, a free one, or else that of the callback called least often. */
static struct NowCallee *calleeOf(const struct NowState *state, const struct ProbeEvent *event)
{
    uint64_t key = ((uintptr_t)event->function >> 4 ^ (uintptr_t)event->info >> 4) * 0x9E3779B97F4A7C15u;
    struct NowCallee *callees = mine->state.callees, *place = callees + (key >> 61);
    for (int index = 0; index < NOW_CALLEES; index++) {
        struct NowCallee *one = callees + index;
        if (one->round == state->round && one->function == (uintptr_t)event->function &&
            one->info == (uintptr_t)event->info)
            return one;
        if (place->round == state->round && (one->round != state->round || one->count < place->count))
            place = one;
    }
    return place;
}

static uint64_t descriptorOf(const struct ProbeEvent *event)
{
    int descriptor = -1;
    if (event->kind == kRLRunLoopProbeFileDescriptor)
        descriptor = RLFileDescriptorGetNativeDescriptor((RLFileDescriptorRef)(uintptr_t)event->object);
    else if (event->kind == kRLRunLoopProbeSocket)
        descriptor = RLSocketGetNative((RLSocketRef)(uintptr_t)event->object);
    return descriptor < 0 ? NOW_NOTHING : (uint64_t)descriptor;
}

static void countCall(const struct ProbeEvent *event, uint64_t descriptor)
{
    struct NowState *state = &mine->state;
    struct NowCallee *callee = calleeOf(state, event);
    int isNew = callee->round != state->round || callee->function != (uintptr_t)event->function ||
                callee->info != (uintptr_t)event->info;
    if (isNew) {
        double interval = 0;
        if (event->kind == kRLRunLoopProbeTimer)
            interval = RLRunLoopTimerGetInterval((RLRunLoopTimerRef)(uintptr_t)event->object);
        put(&callee->round, state->round);
        put(&callee->kind, event->kind);
        put(&callee->function, (uintptr_t)event->function);
        putPointer(&callee->info, event->info);
        put(&callee->again, 0);
        put(&callee->descriptor, descriptor);
        put(&callee->interval, interval < 1e9 ? (uint64_t)(interval * 1e9) : NOW_NOTHING);
    }
    put(&callee->count, isNew ? 1 : callee->count + 1);
    put(&state->callsInRound, state->callsInRound + 1);
    if (state->credit < MOST_CREDIT)
        put(&state->credit, state->credit + 1);
}

static void willCall(const struct ProbeEvent *event)
{
    if (!nowIsReady())
        return;
    struct NowState *state = &mine->state;
    uint64_t now = clockNow(), descriptor = descriptorOf(event);
    beginChange();
    put(&state->changed, now);
    put(&state->calls, state->calls + 1);
    countCall(event, descriptor);
    if (state->waking.thread == 0 && state->waking.kind == 0 && event->kind != kRLRunLoopProbeObserver) {
        put(&state->waking.kind, event->kind);
        put(&state->waking.function, (uintptr_t)event->function);
    }
    if (state->depth < NOW_FRAMES) {
        struct NowCall *frame = &state->frames[state->depth];
        put(&frame->kind, event->kind);
        putPointer(&frame->object, event->object);
        put(&frame->function, (uintptr_t)event->function);
        putPointer(&frame->info, event->info);
        put(&frame->since, now);
        put(&frame->descriptor, descriptor);
    }
    put(&state->depth, state->depth + 1);
    endChange();
    wasAskedAgain = 0;
}

/* Ignores the end of a callback whose beginning was not seen. Also removes frames inside the callback that has ended: those callbacks never
   returned, as when a coroutine is abandoned. */
static void didCall(const struct ProbeEvent *event)
{
    if (!nowIsReady() || mine->state.depth == 0)
        return;
    struct NowState *state = &mine->state;
    uint64_t depth = state->depth - 1, now = clockNow();
    if (depth < NOW_FRAMES) {
        while (depth > 0 && (state->frames[depth].function != (uintptr_t)event->function ||
                             state->frames[depth].info != (uintptr_t)event->info))
            depth--;
        if (state->frames[depth].function != (uintptr_t)event->function)
            return;
    }
    beginChange();
    put(&state->changed, now);
    put(&state->depth, depth);
    if (wasAskedAgain) {
        struct NowCallee *callee = calleeOf(state, event);
        if (callee->round == state->round && callee->function == (uintptr_t)event->function &&
            callee->info == (uintptr_t)event->info)
            put(&callee->again, callee->again + 1);
        wasAskedAgain = 0;
    }
    endChange();
}

static void willSleep(const struct ProbeEvent *event)
{
    if (!nowIsReady())
        return;
    struct NowState *state = &mine->state;
    uint64_t now = clockNow();
    beginChange();
    put(&state->changed, now);
    put(&state->asleep, now);
    put(&state->until, event->number);
    copyName((RLStringRef)event->info, state->mode);
    endChange();
}

static void didSleep(const struct ProbeEvent *event)
{
    if (!nowIsReady())
        return;
    struct NowState *state = &mine->state;
    struct NowWaking waking = {0};
    uint64_t now = clockNow();
    if (event->detail == kRLRunLoopProbeByItself || !wakingTake(event->object, &waking))
        waking = (struct NowWaking){.when = now};
    beginChange();
    put(&state->changed, now);
    if (event->detail != kRLRunLoopProbeAdjusted)
        putWords((uint64_t *)&state->waking, &waking, sizeof waking);
    if (state->asleep != 0 && now - state->asleep >= MILLISECOND) {
        int isBusy = state->credit >= CALLS_PER_SLEEP && now - state->asleep < 100 * MILLISECOND;
        put(&state->credit, isBusy ? state->credit - CALLS_PER_SLEEP : 0);
        if (!isBusy) {
            put(&state->busy, now);
            put(&state->round, state->round + 1);
            put(&state->callsInRound, 0);
        }
    }
    put(&state->asleep, 0);
    endChange();
}

static void noteRequest(const struct ProbeEvent *event)
{
    struct NowRequest *place = mine->state.requests;
    for (int index = 0; index < NOW_REQUESTS; index++) {
        struct NowRequest *one = &mine->state.requests[index];
        if (one->since == 0 || (place->since != 0 && one->since < place->since))
            place = one;
        if (one->since == 0)
            break;
    }
    RLStringRef name = RLMessagePortGetName((RLMessagePortRef)(uintptr_t)event->object);
    beginChange();
    put(&place->number, event->number);
    put(&place->since, clockNow());
    copyName(name, place->port);
    endChange();
}

/* May run in a signal handler, but not for requests. Also records what threads without a loop send, so that it is known which thread woke
   which. */
static void sent(const struct ProbeEvent *event)
{
    switch (event->kind) {
    case kRLRunLoopProbeWake:
        wakingNote(event->object);
        break;
    case kRLRunLoopProbeMessagePort:
        if (event->detail != 0 && nowIsReady())
            noteRequest(event);
        /* fallthrough */
    case kRLRunLoopProbePort:
    case kRLRunLoopProbeReply:
    case kRLRunLoopProbeSource:
    case kRLRunLoopProbeFunction:
        wakingSent(event, event->kind == kRLRunLoopProbeFunction ? event->object : NULL);
        if (event->function != NULL && mine != NULL && mine->state.depth - 1 < NOW_FRAMES) {
            const struct NowCall *frame = &mine->state.frames[mine->state.depth - 1];
            if (frame->function == (uintptr_t)event->function && frame->info == (uintptr_t)event->info)
                wasAskedAgain = 1;
        }
        break;
    default:
        break;
    }
}

static void received(const struct ProbeEvent *event)
{
    if (event->kind != kRLRunLoopProbeReply || mine == NULL)
        return;
    for (int index = 0; index < NOW_REQUESTS; index++)
        if (mine->state.requests[index].number == event->number) {
            beginChange();
            put(&mine->state.requests[index].since, 0);
            endChange();
        }
}

const struct ProbePart nowPart = {willCall, didCall, willSleep, didSleep, sent, received, NULL, NULL};
