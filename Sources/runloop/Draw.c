/* Draws records: slices for callbacks and sleeps, instants for what was sent, and arrows from there to what it led to. */
#include "Command.h"
#include "Arrows.h"
#include <RunLoop/RLRunLoopObserver.h>
#include <RunLoop/RLRunLoopProbe.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEEPEST = 256, TEXT = 300 };

/* The state of drawing a thread. */
struct Drawing {
    uint64_t track, lateness; /* tracks: the thread's, and that of its lateness counter (0: none yet) */
    struct {
        uint64_t function;
        int isHidden;
    } calls[DEEPEST]; /* the running callbacks, outermost first */
    int depth, isAsleep;
    struct Arrivals arrived; /* arrows for the next callback, from a request taken out of a queue */
};

static const char *const kindNames[16] = {"callback",     "source", "timer", "observer",     "function",
                                          "descriptor",   "socket", "port",  "message port", "reply",
                                          "invalidation", "sleep",  "wake"};
static const char *const sentNames[16] = {
    [kRLRunLoopProbeSource] = "signal",       [kRLRunLoopProbeFunction] = "post", [kRLRunLoopProbePort] = "message",
    [kRLRunLoopProbeMessagePort] = "request", [kRLRunLoopProbeReply] = "reply",   [kRLRunLoopProbeWake] = "wake"};

static uint64_t trackOfProcess(int process) { return (uint64_t)(uint32_t)process << 32; }
static uint64_t trackOfThread(const struct Thread *its)
{
    return trackOfProcess(its->process) | (uint32_t)its->header.thread;
}
static uint64_t trackOfPosts(int process) { return trackOfProcess(process) | 1ull << 31; }
static uint64_t trackOfLateness(const struct Thread *its) { return trackOfThread(its) | 1ull << 30; }

static const char *kindName(const struct TraceRecord *record)
{
    return kindNames[record->kind] ? kindNames[record->kind] : kindNames[0];
}

/* Returns the name of a record's function; if unknown, its kind and address, written to `text`. Sets `*isOurs` if the function is
   librunloop's own; clears it if no library is known for it. */
static const char *nameOf(const struct Thread *thread, const struct TraceRecord *record, char text[TEXT], int *isOurs)
{
    const char *name = functionName(thread->modules, record->function, isOurs);
    if (name != NULL)
        return name;
    snprintf(text, TEXT, "%s 0x%llx", kindName(record), (unsigned long long)record->function);
    return text;
}

static const char *activityName(unsigned activity)
{
    switch (activity) {
    case kRLRunLoopEntry:
        return "Entry";
    case kRLRunLoopBeforeTimers:
        return "BeforeTimers";
    case kRLRunLoopBeforeSources:
        return "BeforeSources";
    case kRLRunLoopBeforeWaiting:
        return "BeforeWaiting";
    case kRLRunLoopAfterWaiting:
        return "AfterWaiting";
    case kRLRunLoopExit:
        return "Exit";
    default:
        return "?";
    }
}

/* Returns how late a timer was called, in seconds. The timer's date is wall clock time since 2001. */
static double latenessOf(const struct Event *event)
{
    struct timespec wall, boot;
    double date;
    memcpy(&date, &event->record.what, sizeof date);
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    double start = (double)(wall.tv_sec - boot.tv_sec) - 978307200.0 + (double)(wall.tv_nsec - boot.tv_nsec) * 1e-9;
    double late = start + (double)event->time * 1e-9 - date;
    return late > 0 ? late : 0;
}

static void drawLateness(FILE *file, const struct Thread *thread, struct Drawing *drawing, uint64_t time,
                         double seconds)
{
    if (drawing->lateness == 0) {
        drawing->lateness = trackOfLateness(thread);
        writeCounterTrack(file, drawing->lateness, drawing->track, "timer lateness", "ms");
    }
    struct Entry entry = {.shape = COUNTER, .time = time, .track = drawing->lateness, .count = seconds * 1e3};
    writeEntry(file, &entry);
}

static void drawPosts(FILE *file, const struct Arrows *arrows, int process, uint64_t time)
{
    struct Entry entry = {.shape = COUNTER, .time = time, .track = trackOfPosts(process)};
    entry.count = (double)countPosts(arrows, process);
    writeEntry(file, &entry);
}

/* Draws the beginning of a callback. One of librunloop's own is not shown; the callbacks that it calls are. */
static void begin(FILE *file, const struct Thread *thread, struct Drawing *drawing, struct Arrows *arrows,
                  const struct Event *event)
{
    const struct TraceRecord *record = &event->record;
    char text[TEXT], note[TEXT];
    int isOurs;
    struct Entry entry = {.shape = SLICE_BEGIN, .time = event->time, .track = drawing->track};
    entry.name = nameOf(thread, record, text, &isOurs);
    entry.category = kindName(record);
    if (drawing->depth < DEEPEST) {
        drawing->calls[drawing->depth].function = record->function;
        drawing->calls[drawing->depth].isHidden = isOurs;
    }
    drawing->depth++;
    if (record->kind == kRLRunLoopProbeTimer) {
        double late = latenessOf(event);
        drawLateness(file, thread, drawing, event->time, late);
        snprintf(note, sizeof note, "%.3f ms", late * 1e3);
        entry.noteName = "late by", entry.note = note;
    } else if (record->kind == kRLRunLoopProbeObserver) {
        entry.noteName = "activity", entry.note = activityName(record->detail);
    }
    if (isOurs)
        return;
    struct Arrivals arrived = drawing->arrived;
    drawing->arrived.count = 0;
    takeArrivals(arrows, thread->process, record, &arrived);
    entry.arriving = arrived.numbers, entry.arrivingCount = arrived.count;
    writeEntry(file, &entry);
    if (record->kind == kRLRunLoopProbeFunction && arrived.count > 0)
        drawPosts(file, arrows, thread->process, event->time);
}

/* Draws the end of a callback. Callbacks that began inside it and never returned are ended with it, as records may have been lost. */
static void end(FILE *file, struct Drawing *drawing, const struct Event *event)
{
    int level = drawing->depth < DEEPEST ? drawing->depth - 1 : DEEPEST - 1;
    while (level >= 0 && drawing->depth <= DEEPEST && drawing->calls[level].function != event->record.function)
        level--;
    if (level < 0)
        return;
    for (; drawing->depth > DEEPEST || drawing->depth > level; drawing->depth--) {
        struct Entry entry = {.shape = SLICE_END, .time = event->time, .track = drawing->track};
        if (drawing->depth > DEEPEST) {
            writeEntry(file, &entry);
            drawing->depth--;
            return;
        }
        if (!drawing->calls[drawing->depth - 1].isHidden)
            writeEntry(file, &entry);
    }
}

/* Draws an instant for something that was sent, from which an arrow starts. */
static void drawSent(FILE *file, const struct Thread *thread, struct Drawing *drawing, struct Arrows *arrows,
                     const struct Event *event)
{
    const struct TraceRecord *record = &event->record;
    char text[TEXT], name[2 * TEXT];
    int isOurs;
    uint64_t number = noteDeparture(arrows, thread->process, record);
    snprintf(name, sizeof name, "%s%s%s", sentNames[record->kind] ? sentNames[record->kind] : "sent",
             record->function ? " " : "", record->function ? nameOf(thread, record, text, &isOurs) : "");
    struct Entry entry = {
        .shape = INSTANT, .time = event->time, .track = drawing->track, .name = name, .category = "sent"};
    entry.departing = &number, entry.departingCount = 1;
    writeEntry(file, &entry);
    if (record->kind == kRLRunLoopProbeFunction)
        drawPosts(file, arrows, thread->process, event->time);
}

/* Draws an instant where arrows end, if there are any. */
static void drawArrival(FILE *file, const struct Drawing *drawing, const char *name, uint64_t time,
                        const struct Arrivals *arrived)
{
    struct Entry entry = {
        .shape = INSTANT, .time = time, .track = drawing->track, .name = name, .category = "received"};
    entry.arriving = arrived->numbers, entry.arrivingCount = arrived->count;
    if (arrived->count > 0)
        writeEntry(file, &entry);
}

/* Draws the beginning or end of a sleep. `function` is the index of the mode's name; the 17th and later modes share the last one. An end
   without a beginning (a lost record) is skipped. */
static void drawSleep(FILE *file, const struct Thread *thread, struct Drawing *drawing, struct Arrows *arrows,
                      const struct Event *event)
{
    struct Entry entry = {.time = event->time, .track = drawing->track};
    if (event->record.part == TRACE_WILL_SLEEP) {
        entry.shape = SLICE_BEGIN, entry.name = "asleep", entry.category = "sleep", entry.noteName = "mode";
        entry.note = thread->header.modeNames[event->record.function % TRACE_MODES];
        drawing->isAsleep = 1;
        writeEntry(file, &entry);
    } else if (drawing->isAsleep) {
        struct Arrivals arrived = {0};
        entry.shape = SLICE_END;
        drawing->isAsleep = 0;
        writeEntry(file, &entry);
        takeArrivals(arrows, thread->process, &event->record, &arrived);
        drawArrival(file, drawing, "woken", event->time, &arrived);
    }
}

static void draw(FILE *file, const struct Thread *thread, struct Drawing *drawing, struct Arrows *arrows,
                 const struct Event *event)
{
    struct Arrivals arrived = {0};
    switch (event->record.part) {
    case TRACE_WILL_CALL:
        begin(file, thread, drawing, arrows, event);
        break;
    case TRACE_DID_CALL:
        end(file, drawing, event);
        break;
    case TRACE_WILL_SLEEP:
    case TRACE_DID_SLEEP:
        drawSleep(file, thread, drawing, arrows, event);
        break;
    case TRACE_SENT:
        drawSent(file, thread, drawing, arrows, event);
        break;
    case TRACE_DROPPED:
        forgetDeparture(arrows, thread->process, &event->record);
        if (event->record.kind == kRLRunLoopProbeFunction)
            drawPosts(file, arrows, thread->process, event->time);
        break;
    case TRACE_RECEIVED:
        takeArrivals(arrows, thread->process, &event->record, &arrived);
        if (event->record.kind == kRLRunLoopProbeReply)
            drawArrival(file, drawing, "reply", event->time, &arrived);
        else
            drawing->arrived = arrived;
    }
}

void drawTrace(const struct Recording *recording, FILE *file)
{
    struct Drawing *drawings = allocate((recording->threadCount + 1) * sizeof *drawings);
    struct Arrows *arrows = makeArrows();
    for (size_t index = 0; index < recording->threadCount; index++) {
        const struct Thread *thread = &recording->threads[index];
        const struct TraceHeader *its = &thread->header;
        drawings[index] = (struct Drawing){.track = trackOfThread(thread)};
        if (its->process == its->thread || index == 0 || thread[-1].process != thread->process)
            writeProcessTrack(file, trackOfProcess(thread->process), its->process, its->processName);
        writeThreadTrack(file, drawings[index].track, its->process, its->thread, its->threadName);
        writeCounterTrack(file, trackOfPosts(thread->process), trackOfProcess(thread->process),
                          "posted, not yet called", "functions");
        if (thread->overwritten > 0)
            warn("thread %d of %s (%d): the first %llu events were overwritten; keep more with -n", its->thread,
                 its->processName, its->process, (unsigned long long)thread->overwritten);
        if (its->lost > 0)
            warn("thread %d of %s (%d): events lost: %llu, in signal handlers while its file was created", its->thread,
                 its->processName, its->process, (unsigned long long)its->lost);
    }
    for (size_t index = 0; index < recording->eventCount; index++) {
        const struct Event *event = &recording->events[index];
        draw(file, &recording->threads[event->thread], &drawings[event->thread], arrows, event);
    }
    free(drawings);
    freeArrows(arrows);
}
