/* Detects callbacks that last too long, by sampling: a few times in each interval that counts as a stall, it checks whether a thread is
   still where it was. */
#include "Companion.h"
#include "Now.h"
#include "Service.h"
#include "SignalName.h"
#include "Words.h"
#include <RunLoopTrace/RunLoopTrace.h>
#include <errno.h>
#include <execinfo.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 4 /* samples in each interval */
#define FRAMES 64

/* What to watch for. Under the lock, which is held while the stall callback runs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t threshold; /* in nanoseconds; 0: stalls are not watched for */
static int mustAbort, backtraceSignal;
static RLStallCallBack callout;
static void *calloutInfo;

/* Used by the companion's thread only. */
static uint64_t watched, lastLook; /* the threshold in use, and the time of the last sample */
static THREAD_LOCAL int isReporting;

/* --- backtraces ----------------------------------------------------------------------------------------------------------- */

/* The backtrace that is being taken, one at a time. The handler may run late, so both sides change the state by an atomic exchange. */
static struct {
    enum { IDLE, ASKED, WRITING, DONE } state;
    int thread, count;
    void *frames[FRAMES];
} backtraced;

/* The signal handler: stores the backtrace of its thread, if that is requested. */
static void noteBacktrace(int number)
{
    int saved = errno, asked = ASKED;
    (void)number;
    if (__atomic_load_n(&backtraced.thread, __ATOMIC_ACQUIRE) == gettid() &&
        __atomic_compare_exchange_n((int *)&backtraced.state, &asked, WRITING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        backtraced.count = backtrace(backtraced.frames, FRAMES);
        __atomic_store_n((int *)&backtraced.state, DONE, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* Appends a thread's backtrace. Waits for it for a second at most, as the thread may block the signal. The first two frames are the
   handler's. */
static void sayBacktrace(FILE *text, struct Module *modules, int thread)
{
    int asked = ASKED;
    struct sigaction action;
    /* If the program has reset all signals, this handler is gone, and the signal would end the program. */
    if (sigaction(backtraceSignal, NULL, &action) != 0 || action.sa_handler != noteBacktrace)
        return;
    __atomic_store_n(&backtraced.thread, thread, __ATOMIC_RELEASE);
    __atomic_store_n((int *)&backtraced.state, ASKED, __ATOMIC_RELEASE);
    if (syscall(SYS_tgkill, getpid(), thread, backtraceSignal) != 0)
        return;
    for (int attempt = 0; attempt < 1000; attempt++) {
        if (__atomic_load_n((int *)&backtraced.state, __ATOMIC_ACQUIRE) == DONE)
            break;
        usleep(1000);
    }
    if (__atomic_compare_exchange_n((int *)&backtraced.state, &asked, IDLE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
        asked != DONE)
        return;
    for (int index = 2; index < backtraced.count; index++) {
        int isOurs;
        uint64_t address = (uintptr_t)backtraced.frames[index];
        /* The return address may be past the end of the function. */
        const char *name = functionName(modules, address - 1, &isOurs);
        if (isOurs)
            break;
        fprintf(text, "\n    0x%llx %s", (unsigned long long)address, name ? name : "?");
    }
}

RLBoolean RLStallWatchSetSignal(int number)
{
    struct sigaction action = {.sa_handler = noteBacktrace, .sa_flags = SA_RESTART};
    void *frame;
    /* The first call loads the unwinder, which no handler can do. */
    backtrace(&frame, 1);
    if (number != 0 && sigaction(number, &action, NULL) != 0)
        return 0;
    pthread_mutex_lock(&lock);
    backtraceSignal = number;
    pthread_mutex_unlock(&lock);
    return 1;
}

/* --- looking -------------------------------------------------------------------------------------------------------------- */

/* Reports a stall to the callback, or as a line on stderr, then aborts if that was requested. The caller holds the lock. */
static void report(const struct NowSnapshot *now, uint64_t lasted, uint64_t waited)
{
    const struct NowCall *call = &now->state.frames[now->state.depth - 1];
    struct Module *modules = readModules("/proc/thread-self/maps");
    char *line = NULL;
    size_t size;
    int isOurs;
    FILE *text = open_memstream(&line, &size);
    RLStall stall = {.thread = now->thread, .kind = (uint32_t)call->kind, .object = (const void *)call->object};
    stall.function = (void (*)(void))call->function;
    stall.info = (const void *)call->info;
    stall.functionName = functionName(modules, call->function, &isOurs);
    stall.seconds = (double)lasted * 1e-9;
    if (text != NULL) {
        fputs("runloop: stall: ", text);
        sayThread(text, now->thread);
        fputs(" has been in ", text);
        sayCallback(text, modules, call->kind, call->function, call->descriptor);
        fputs(" for ", text);
        sayTime(text, lasted);
        if (waited >= lasted / LOOKS) {
            fputs(", not counting ", text);
            sayTime(text, waited);
            fputs(" spent waiting for a processor", text);
        }
        saySystemCall(text, now->thread);
        if (backtraceSignal != 0)
            sayBacktrace(text, modules, now->thread);
        fclose(text);
    }
    stall.text = line ? line : "runloop: stall";
    if (callout != NULL) {
        isReporting = 1;
        callout(&stall, calloutInfo);
        isReporting = 0;
    } else
        writeLine(stall.text);
    if (mustAbort)
        abort();
    free(line);
    freeModules(modules);
}

/* Samples one thread, and reports a stall. Of the time since the last sample, no more counts than one and a half times the usual interval.
   So time in which the companion's thread did not run either, because the process was stopped or the machine suspended, does not count; nor
   does time in which the sampled thread waited for a processor. */
static void look(const struct NowSnapshot *now, uint64_t time, uint64_t elapsed)
{
    struct NowWatch *watch = &now->live->watch;
    const struct NowState *state = &now->state;
    uint64_t most = threshold / LOOKS * 3 / 2, inThis = time > state->changed ? time - state->changed : 0;
    if (elapsed > most)
        elapsed = most;
    if (watch->thread != now->thread || watch->changed != state->changed || watch->calls != state->calls)
        *watch = (struct NowWatch){.thread = now->thread, .changed = state->changed, .calls = state->calls};
    if (state->depth == 0 || state->depth > NOW_FRAMES || state->asleep != 0 || watch->isReported)
        return;
    if (elapsed > inThis - watch->lasted - watch->waits.known)
        elapsed = inThis - watch->lasted - watch->waits.known;
    struct ProcessorTimes times = processorTimes(now->thread);
    watch->lasted += elapsed - processorWaited(&watch->waits, &times, elapsed);
    if (watch->lasted < threshold)
        return;
    if (times.state == 'T' || times.state == 't') {
        watch->lasted = 0;
        return;
    }
    watch->isReported = 1;
    report(now, watch->lasted, watch->waits.known);
}

static void lookAtAll(void)
{
    struct NowSnapshot *snapshots;
    uint64_t time = clockNow(), elapsed = time - lastLook;
    lastLook = time;
    int count = nowCopy(NULL, &snapshots);
    pthread_mutex_lock(&lock);
    for (int index = 0; index < count && threshold != 0; index++)
        look(&snapshots[index], clockNow(), elapsed);
    pthread_mutex_unlock(&lock);
    nowFree(snapshots, count);
}

uint64_t stallsLook(void)
{
    pthread_mutex_lock(&lock);
    uint64_t wanted = threshold;
    pthread_mutex_unlock(&lock);
    if (wanted != watched)
        lastLook = clockNow();
    watched = wanted;
    if (wanted == 0)
        return UINT64_MAX;
    if (clockNow() >= lastLook + wanted / LOOKS)
        lookAtAll();
    return lastLook + wanted / LOOKS;
}

/* --- beginning ------------------------------------------------------------------------------------------------------------ */

static int isSpan(double seconds) { return seconds >= 0.001 && seconds <= 1e6; }

/* Sets what to watch for; 0 seconds: nothing. The stall callback itself may call this, and then the lock is already held. */
static void set(double seconds, RLStallCallBack function, void *info, int abortToo)
{
    if (!isReporting)
        pthread_mutex_lock(&lock);
    threshold = (uint64_t)(seconds * 1e9);
    callout = function;
    calloutInfo = info;
    mustAbort = abortToo;
    if (!isReporting)
        pthread_mutex_unlock(&lock);
    servicePoke();
}

RLBoolean RLStallWatchStart(RLTimeInterval seconds, RLStallCallBack function, void *info)
{
    if (!isSpan(seconds)) {
        errno = EINVAL;
        return 0;
    }
    set(seconds, function, info, 0);
    return serviceStart(0) != 0;
}

void RLStallWatchStop(void) { set(0, NULL, NULL, 0); }

int stallsBegin(const char *value, const char *name)
{
    char *end;
    double seconds = strtod(value, &end);
    int abortToo = strcmp(end, ",abort") == 0;
    int number = name && *name ? signalNamed(name) : 0;
    if (!isSpan(seconds) || end == value || (*end != 0 && !abortToo)) {
        writeFormat(
            "runloop: RUNLOOP_STALL=%s: expected seconds from 0.001 to 1000000, optionally followed by \",abort\"",
            value);
        return 0;
    }
    if (name && *name && (number == 0 || !RLStallWatchSetSignal(number)))
        writeFormat("runloop: RUNLOOP_STALL_SIGNAL=%s: no such signal, or it cannot be caught", name);
    set(seconds, NULL, NULL, abortToo);
    return 1;
}

static void forgetInChild(void)
{
    pthread_mutex_init(&lock, NULL);
    watched = 0;
    backtraced.state = IDLE;
}

/* At exit: waits until a report that has begun is written. The signal for a backtrace interrupts the callback's sleep, and that may lead
   the program to exit. Waits for two seconds at most, as a stall callback may not return. (ThreadSanitizer does not know
   pthread_mutex_clocklock().) */
__attribute__((destructor)) static void finishReport(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 2;
    if (!isReporting && pthread_mutex_timedlock(&lock, &limit) == 0)
        pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void prepareForFork(void) { pthread_atfork(NULL, NULL, forgetInChild); }
