/* Service.h */
#include "Service.h"
#include "Companion.h"
#include "Explain.h"
#include "Now.h"
#include "Words.h"
#include <RunLoopTrace/RunLoopTrace.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK (512 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Whether there is a thread. Under the lock. */
static int isRunning;
/* Flags of what is asked for; any thread. */
static int hasToAnswer, hasToExplain, hasMainEnded;
/* The thread's loop and the source that pokes it; written by the thread before
 * it runs, read by any. */
static RLRunLoopRef loop;
static RLRunLoopSourceRef control;
/* The thread, and the end of the process. */
static RLMessagePortRef port;
/* The thread alone. */
static int hasTriedPort;
static RLRunLoopTimerRef aloneTimer;
static pthread_key_t mainEnd;

/* --- what it does
 * ---------------------------------------------------------------------------------------------------------
 */

static RLDataRef answer(RLMessagePortRef its, int32_t message, RLDataRef data, void *info)
{
    (void)its, (void)data, (void)info;
    char *text = message == SERVICE_EXPLAIN ? explain(NULL, 1) : NULL;
    RLDataRef reply = text ? RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text)) : NULL;
    free(text);
    return reply;
}

static void openPort(void)
{
    char name[64];
    snprintf(name, sizeof name, "org.runloop.inspect.%d", getpid());
    RLStringRef string = RLStringCreateWithCString(NULL, name, kRLStringEncodingUTF8);
    RLMessagePortRef new = string ? RLMessagePortCreateLocal(NULL, string, answer, NULL, NULL) : NULL;
    RLRunLoopSourceRef source = new ? RLMessagePortCreateRunLoopSource(NULL, new, 0) : NULL;
    __atomic_store_n(&port, new, __ATOMIC_RELEASE);
    if (source == NULL) {
        char line[256];
        snprintf(line, sizeof line, "runloop: explain: process %d cannot be asked: %s: %s", getpid(), name,
                 strerror(errno));
        writeLine(line);
    } else {
        RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
        RLRelease(source);
    }
    if (string != NULL)
        RLRelease(string);
}

static void writeExplanation(void)
{
    char *text = explain(NULL, 1), *all = NULL;
    if (asprintf(&all, "runloop: process %d:\n%s", getpid(), text ? text : "No thread has run a loop yet.\n") > 0) {
        writeLine(all);
        free(all);
    }
    free(text);
}

/* Ends this thread if it is the only one left, and with it the process, as the
 * end of the last thread does. */
static void endIfAlone(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int others = tasks == NULL;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        int thread = atoi(entry->d_name);
        char state = thread > 0 && thread != gettid() ? stateOfThread(thread) : 0;
        others += state != 0 && state != 'Z' && state != 'X';
    }
    if (tasks != NULL)
        closedir(tasks);
    if (others > 0)
        return;
    if (port != NULL)
        RLMessagePortInvalidate(port);
    RLRunLoopStop(loop);
    pthread_exit(NULL);
}

static void performControl(void *info)
{
    (void)info;
    if (__atomic_load_n(&hasToAnswer, __ATOMIC_ACQUIRE) && !hasTriedPort) {
        hasTriedPort = 1;
        openPort();
    }
    if (__atomic_exchange_n(&hasToExplain, 0, __ATOMIC_ACQ_REL))
        writeExplanation();
    if (__atomic_load_n(&hasMainEnded, __ATOMIC_ACQUIRE) && aloneTimer == NULL) {
        aloneTimer = RLRunLoopTimerCreateWithDelay(NULL, 0.02, 0.1, endIfAlone, NULL);
        if (aloneTimer != NULL)
            RLRunLoopAddTimer(loop, aloneTimer, kRLRunLoopDefaultMode);
    }
    stallsUpdate();
}

static void *serve(void *info)
{
    (void)info;
    isCompanionThread = 1;
    prctl(PR_SET_NAME, "runloop-inspect");
    RLRunLoopSourceContext context = {.perform = performControl};
    RLRunLoopRef its = RLRunLoopGetCurrent();
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    if (its == NULL || source == NULL)
        return NULL;
    RLRunLoopAddSource(its, source, kRLRunLoopDefaultMode);
    __atomic_store_n(&control, source, __ATOMIC_RELAXED);
    __atomic_store_n(&loop, its, __ATOMIC_RELEASE);
    RLRunLoopSourceSignal(source);
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) != kRLRunLoopRunFinished)
        continue;
    /* The program has closed the descriptors of this thread's loop. */
    __atomic_store_n(&loop, NULL, __ATOMIC_RELEASE);
    return NULL;
}

/* --- beginning
 * ------------------------------------------------------------------------------------------------------------
 */

void servicePoke(void)
{
    RLRunLoopRef its = __atomic_load_n(&loop, __ATOMIC_ACQUIRE);
    if (its == NULL)
        return;
    int saved = isCompanionThread;
    isCompanionThread = 1; /* the program has not signalled anything */
    RLRunLoopSourceSignal(__atomic_load_n(&control, __ATOMIC_RELAXED));
    RLRunLoopWakeUp(its);
    isCompanionThread = saved;
}

/* Signals that are sent to the process are for the program's threads. */
static int startThread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_mutex_lock(&lock);
    int error = 0;
    if (!isRunning) {
        sigfillset(&all);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, &attributes, serve, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        isRunning = 1;
        if (error != 0)
            fprintf(stderr, "runloop: explain: no thread: %s\n", strerror(error));
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return error == 0;
}

static void begun(void) { startThread(); }

int serviceStart(int isLazy) { return nowUse(begun) && (isLazy || startThread()); }

void serviceAnswer(void)
{
    __atomic_store_n(&hasToAnswer, 1, __ATOMIC_RELEASE);
    servicePoke();
}

static void beforeFork(void) { pthread_mutex_lock(&lock); }
static void afterForkInParent(void) { pthread_mutex_unlock(&lock); }

/* The thread and its objects are the parent's. */
static void afterForkInChild(void)
{
    pthread_mutex_init(&lock, NULL);
    isRunning = 0;
    loop = NULL;
    control = NULL;
    port = NULL;
    hasTriedPort = 0;
    aloneTimer = NULL;
}

static void mainEnds(void *value)
{
    (void)value;
    __atomic_store_n(&hasMainEnded, 1, __ATOMIC_RELEASE);
    servicePoke();
}

void serviceLoaded(void)
{
    if (pthread_key_create(&mainEnd, mainEnds) == 0 && gettid() == getpid())
        pthread_setspecific(mainEnd, &mainEnd);
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
}

/* --- signals
 * --------------------------------------------------------------------------------------------------------------
 */

int signalNamed(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    if (strncmp(name, "RTMIN+", 6) == 0)
        number = SIGRTMIN + strtol(name + 6, &end, 10);
    else if (end == name || *end != 0) {
        for (number = 1; number < SIGRTMIN; number++)
            if (sigabbrev_np((int)number) != NULL && strcmp(sigabbrev_np((int)number), name) == 0)
                break;
        return number < SIGRTMIN ? (int)number : 0;
    }
    return *end == 0 && number > 0 && number <= SIGRTMAX ? (int)number : 0;
}

static void explainSoon(int number)
{
    (void)number;
    int saved = errno;
    __atomic_store_n(&hasToExplain, 1, __ATOMIC_RELEASE);
    servicePoke();
    errno = saved;
}

int serviceExplainOn(int number)
{
    struct sigaction action = {.sa_handler = explainSoon, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

RLBoolean RLExplainStart(int number)
{
    if (number != 0 && !serviceExplainOn(number))
        return 0;
    serviceAnswer();
    return serviceStart(0) != 0;
}

RLStringRef RLRunLoopCopyExplanation(RLRunLoopRef rl)
{
    if (rl == NULL || RLGetTypeID(rl) != RLRunLoopGetTypeID()) {
        const char *onMisuse = getenv("RUNLOOP_MISUSE");
        writeLine("runloop: RLRunLoopCopyExplanation: rl: expected RLRunLoop");
        if (onMisuse != NULL && strcmp(onMisuse, "abort") == 0)
            abort();
        errno = EINVAL;
        return NULL;
    }
    if (!nowUse(NULL))
        return NULL;
    char *text = explain(rl, 0);
    RLStringRef string = RLStringCreateWithCString(NULL,
                                                   text ? text
                                                        : "Nothing is known of this loop yet: it has neither called a "
                                                          "function nor slept.\n",
                                                   kRLStringEncodingUTF8);
    free(text);
    return string;
}

__attribute__((destructor)) static void end(void)
{
    RLMessagePortRef its = __atomic_load_n(&port, __ATOMIC_ACQUIRE);
    isCompanionThread = 1;
    if (its != NULL)
        RLMessagePortInvalidate(its);
}
