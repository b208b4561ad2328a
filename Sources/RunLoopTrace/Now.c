/* Implements Now.h: the list of threads, and reading their states. */
#include "Now.h"
#include "Companion.h"
#include "NowWriter.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All threads that run a loop, and the memory of those that have exited, which is reused. Under the lock, except in a child of fork(),
   which has no other thread. */
static struct NowThread *threads;
static pthread_key_t threadEnd;
static void (*whenBegun)(void);
/* Set in a child of fork() until its thread has called whenBegun. */
static int isNewProcess;

THREAD_LOCAL struct NowThread *mine;
static THREAD_LOCAL int destructorCalls, hasFailed;

/* --- words ---------------------------------------------------------------------------------------------------------------- */

/* Copies a thread's state. If the thread was stopped in the middle of a change, the reader gives up waiting after 100 attempts, and the
   copy may be inconsistent. */
static void copyState(const struct NowThread *its, struct NowState *state)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint32_t before = __atomic_load_n(&its->sequence, __ATOMIC_ACQUIRE);
        for (size_t index = 0; index < sizeof *state / sizeof(uint64_t); index++)
            ((uint64_t *)state)[index] = __atomic_load_n((const uint64_t *)&its->state + index, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && before == __atomic_load_n(&its->sequence, __ATOMIC_RELAXED))
            return;
        sched_yield();
    }
}

/* --- threads -------------------------------------------------------------------------------------------------------------- */

static void callWhenBegun(void)
{
    void (*function)(void) = __atomic_load_n(&whenBegun, __ATOMIC_ACQUIRE);
    if (function != NULL)
        function();
}

int nowIsReady(void)
{
    if (isNewProcess) {
        isNewProcess = 0;
        callWhenBegun();
    }
    if (mine != NULL)
        return 1;
    if (hasFailed)
        return 0;
    int saved = errno;
    RLRunLoopRef loop = RLRunLoopGetCurrent(), old = NULL;
    pthread_mutex_lock(&lock);
    struct NowThread *its = threads;
    while (its != NULL && its->thread != 0)
        its = its->next;
    if (its == NULL && (its = calloc(1, sizeof *its)) != NULL) {
        its->next = threads;
        threads = its;
    }
    hasFailed = its == NULL || pthread_setspecific(threadEnd, its) != 0;
    if (!hasFailed) {
        static const struct NowState fresh;
        mine = its;
        old = its->loop;
        its->thread = gettid();
        its->loop = (RLRunLoopRef)(uintptr_t)RLRetain(loop);
        beginChange();
        putWords((uint64_t *)&its->state, &fresh, sizeof fresh);
        put(&its->state.busy, clockNow());
        put(&its->state.round, 1);
        endChange();
    }
    pthread_mutex_unlock(&lock);
    if (old != NULL)
        RLRelease(old);
    if (!hasFailed)
        callWhenBegun();
    errno = saved;
    return !hasFailed;
}

/* Called twice: another such destructor tears down the thread's loop, which calls callbacks. The loop is released by the thread that reuses
   the memory. */
static void endThread(void *its)
{
    if (destructorCalls++ == 0) {
        pthread_setspecific(threadEnd, its);
        return;
    }
    mine = NULL;
    hasFailed = 1;
    pthread_mutex_lock(&lock);
    ((struct NowThread *)its)->thread = 0;
    pthread_mutex_unlock(&lock);
}

static void beforeFork(void) { pthread_mutex_lock(&lock); }
static void afterForkInParent(void) { pthread_mutex_unlock(&lock); }

/* In a child of fork(): the other threads do not exist, and this one has another thread ID. */
static void afterForkInChild(void)
{
    pthread_mutex_init(&lock, NULL);
    for (struct NowThread *its = threads; its != NULL; its = its->next)
        its->thread = its == mine ? gettid() : 0;
    isNewProcess = 1;
}

int nowCopy(RLRunLoopRef only, struct NowSnapshot **snapshots)
{
    int count = 0, room = 0;
    pthread_mutex_lock(&lock);
    for (struct NowThread *its = threads; its != NULL; its = its->next)
        room++;
    *snapshots = calloc((size_t)room + 1, sizeof **snapshots);
    for (struct NowThread *its = threads; its != NULL && *snapshots != NULL; its = its->next)
        if (its->thread != 0 && (only == NULL || its->loop == only)) {
            struct NowSnapshot *next = *snapshots + count++;
            next->thread = its->thread;
            next->loop = (RLRunLoopRef)(uintptr_t)RLRetain(its->loop);
            next->live = its;
            copyState(its, &next->state);
        }
    pthread_mutex_unlock(&lock);
    return count;
}

void nowFree(struct NowSnapshot *snapshots, int count)
{
    for (int index = 0; index < count; index++)
        RLRelease(snapshots[index].loop);
    free(snapshots);
}

int nowRefresh(struct NowSnapshot *snapshot)
{
    pthread_mutex_lock(&lock);
    int isThere = snapshot->live->thread == snapshot->thread;
    if (isThere)
        copyState(snapshot->live, &snapshot->state);
    pthread_mutex_unlock(&lock);
    return isThere;
}

static int isPrepared;
static void prepare(void)
{
    isPrepared = pthread_key_create(&threadEnd, endThread) == 0 &&
                 pthread_atfork(beforeFork, afterForkInParent, afterForkInChild) == 0;
}

int nowUse(void (*began)(void))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (began != NULL)
        __atomic_store_n(&whenBegun, began, __ATOMIC_RELEASE);
    pthread_once(&once, prepare);
    return isPrepared && companionUse(&nowPart);
}
