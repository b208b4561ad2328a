/* Implements Service.h. */
#include "Service.h"
#include "Companion.h"
#include "Explain.h"
#include "Inspection.h"
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
#include <sys/shm.h>
#include <unistd.h>

#define STACK (512 << 10)
#define MILLISECOND 1000000ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Whether there is a thread, whether creating one has failed before, and whether the process is exiting. Under the lock. */
static int isRunning, hasFailed, isEnding;
/* Flags for what the thread has to do; any thread. */
static int hasToAnswer, hasToExplain, hasMainEnded;
/* The word on which the thread sleeps: a private one until the shared memory exists. Written by the thread, read by any. */
static uint32_t ownBell, *bell = &ownBell;
/* Used by the companion's thread only. */
static struct Inspection *inspection;
static int hasTried;
static uint64_t nextCount;
static pthread_key_t mainEnd;

/* --- what it does --------------------------------------------------------------------------------------------------------- */

/* Removes the segments that this user's processes have left behind because they were killed, or executed another program, in the middle of
   openInspection(). */
static void removeForgotten(void)
{
    struct shm_info all;
    struct shmid_ds status;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&all);
    for (int index = 0; index <= last; index++) {
        int number = shmctl(index, SHM_STAT, &status);
        if (number < 0 || status.shm_segsz != sizeof *inspection || status.shm_nattch != 0 ||
            status.shm_perm.uid != geteuid() || status.shm_cpid <= 0)
            continue;
        if ((kill(status.shm_cpid, 0) != 0 && errno == ESRCH) || time(NULL) - status.shm_ctime > 60)
            shmctl(number, IPC_RMID, NULL);
    }
}

/* Creates the shared memory through which the command queries this process. It vanishes when the process exits or executes another program.
   The caller holds the lock: in the middle of this, a fork() would give the child memory that it does not know of, and an exit() would
   leave a segment behind. */
static void openInspection(void)
{
    removeForgotten();
    int number = shmget(IPC_PRIVATE, sizeof *inspection, IPC_CREAT | 0600);
    void *memory = number < 0 ? (void *)-1 : shmat(number, NULL, 0);
    int error = errno;
    if (number >= 0)
        shmctl(number, IPC_RMID, NULL);
    if (memory == (void *)-1) {
        writeFormat("runloop: explain: process %d cannot be queried: %s", getpid(), strerror(error));
        return;
    }
    inspection = memory;
    inspection->size = sizeof *inspection;
    inspection->process = getpid();
    __atomic_store_n(&inspection->magic, INSPECTION_MAGIC, __ATOMIC_RELEASE);
    __atomic_store_n(&bell, &inspection->bell, __ATOMIC_SEQ_CST);
}

/* Answers all requests so far with one explanation. */
static void answer(void)
{
    uint32_t asked = __atomic_load_n(&inspection->asked, __ATOMIC_ACQUIRE);
    uint32_t answered = __atomic_load_n(&inspection->answered, __ATOMIC_RELAXED);
    if (asked == answered)
        return;
    char *text = explain(NULL, 1);
    size_t length = text ? strlen(text) : 0;
    if (length > sizeof inspection->text)
        length = sizeof inspection->text;
    __atomic_fetch_add(&inspection->changes, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(inspection->text, text ? text : "", length);
    __atomic_store_n(&inspection->length, (uint32_t)length, __ATOMIC_RELAXED);
    __atomic_fetch_add(&inspection->changes, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&inspection->answered, asked - 1, __ATOMIC_RELEASE);
    ringBell(&inspection->answered);
    free(text);
}

static void writeExplanation(void)
{
    char *text = explain(NULL, 1);
    writeFormat("runloop: process %d:\n%s", getpid(), text ? text : "No thread has run a loop yet.\n");
    free(text);
}

/* Whether all other threads of the process have exited. Then this one exits, too, and with it the process, as it would without the
   companion. */
static int isAlone(void)
{
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
    return others == 0;
}

/* Does what is requested. Returns when to look again at the latest; 0: the thread is to end. */
static uint64_t work(void)
{
    if (__atomic_load_n(&hasToAnswer, __ATOMIC_SEQ_CST) && !hasTried) {
        hasTried = 1;
        pthread_mutex_lock(&lock);
        if (!isEnding)
            openInspection();
        pthread_mutex_unlock(&lock);
        return clockNow(); /* the word to sleep on has changed */
    }
    if (inspection != NULL)
        answer();
    if (__atomic_exchange_n(&hasToExplain, 0, __ATOMIC_SEQ_CST))
        writeExplanation();
    uint64_t next = stallsLook();
    if (__atomic_load_n(&hasMainEnded, __ATOMIC_SEQ_CST)) {
        uint64_t now = clockNow();
        if (nextCount != 0 && now >= nextCount && isAlone())
            return 0;
        if (nextCount <= now)
            nextCount = now + (nextCount == 0 ? 20 : 100) * MILLISECOND;
        next = next < nextCount ? next : nextCount;
    }
    return next;
}

static void *serve(void *info)
{
    (void)info;
    isCompanionThread = 1;
    prctl(PR_SET_NAME, "runloop-inspect");
    for (;;) {
        uint32_t *its = bell, heard = __atomic_load_n(its, __ATOMIC_SEQ_CST);
        uint64_t next = work(), now = clockNow();
        if (next == 0)
            return NULL;
        if (next > now)
            awaitBell(its, heard, next == UINT64_MAX ? next : next - now);
    }
}

/* --- beginning ------------------------------------------------------------------------------------------------------------ */

void servicePoke(void) { ringBell(__atomic_load_n(&bell, __ATOMIC_SEQ_CST)); }

/* Starts the thread with all signals blocked, because signals sent to the process are for the program's own threads. */
static int startThread(int isRetry)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_mutex_lock(&lock);
    int error = 0;
    if (!isRunning && (isRetry || !hasFailed)) {
        sigfillset(&all);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, &attributes, serve, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        isRunning = error == 0;
        if (error != 0 && !hasFailed)
            writeFormat("runloop: explain: cannot create a thread: %s", strerror(error));
        hasFailed |= error != 0;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return error == 0;
}

/* Called on each new thread, so a failure is not retried. */
static void begun(void) { startThread(0); }

int serviceStart(int isLazy) { return nowUse(begun) && (isLazy || startThread(1)); }

void serviceAnswer(void)
{
    __atomic_store_n(&hasToAnswer, 1, __ATOMIC_SEQ_CST);
    servicePoke();
}

static void beforeFork(void) { pthread_mutex_lock(&lock); }
static void afterForkInParent(void) { pthread_mutex_unlock(&lock); }

/* The thread and its shared memory belong to the parent. */
static void afterForkInChild(void)
{
    pthread_mutex_init(&lock, NULL);
    isRunning = 0;
    bell = &ownBell;
    if (inspection != NULL)
        shmdt(inspection);
    inspection = NULL;
    hasTried = 0;
    nextCount = 0;
}

__attribute__((destructor)) static void ends(void)
{
    pthread_mutex_lock(&lock);
    isEnding = 1;
    pthread_mutex_unlock(&lock);
}

static void mainEnds(void *value)
{
    (void)value;
    __atomic_store_n(&hasMainEnded, 1, __ATOMIC_SEQ_CST);
    servicePoke();
}

void serviceLoaded(void)
{
    if (pthread_key_create(&mainEnd, mainEnds) == 0 && gettid() == getpid())
        pthread_setspecific(mainEnd, &mainEnd);
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
}

/* --- signals -------------------------------------------------------------------------------------------------------------- */

static void explainSoon(int number)
{
    (void)number;
    int saved = errno;
    __atomic_store_n(&hasToExplain, 1, __ATOMIC_SEQ_CST);
    servicePoke();
    errno = saved;
}

int serviceExplainOn(int number)
{
    struct sigaction action = {.sa_handler = explainSoon, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

/* Declared in RLStallWatch.h. 0: no signal. On failure, what was set up so far remains. */
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
        const char *onMisuse = secure_getenv("RUNLOOP_MISUSE");
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
                                                        : "Nothing is known about this loop yet: it has neither "
                                                          "called a function nor slept.\n",
                                                   kRLStringEncodingUTF8);
    free(text);
    return string;
}
