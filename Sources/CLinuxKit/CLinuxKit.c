#include "CLinuxKit.h"
#include "LinuxRaces.h"

#include <linux/futex.h>

pthread_mutex_t linux_kit_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t linux_fork_handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
__thread uint8_t linux_kit_signal_depths[65] __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* Linked in place of the ThreadSanitizer runtime's function (--wrap), to drop the report: Swift reports every inout use of a struct as a
   write to all of it, although each field has its own synchronization rule. CLinux.c does this for librunloop. */
void __wrap___tsan_external_write(void *address, void *caller, void *tag);
void __wrap___tsan_external_write(void *address, void *caller, void *tag)
{
    (void)address;
    (void)caller;
    (void)tag;
}
#endif
#endif

static pthread_key_t worker_key;
static int has_worker_key;
static void worker_has_ended(void *worker) { ((struct linux_worker *)worker)->atEnd(worker); }
static void make_worker_key(void) { has_worker_key = pthread_key_create(&worker_key, worker_has_ended) == 0; }

int linux_prepare_workers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_worker_key);
    return has_worker_key;
}

int linux_become_worker(struct linux_worker *worker)
{
    prctl(PR_SET_NAME, "runloop-worker", 0UL, 0UL, 0UL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return has_worker_key && pthread_setspecific(worker_key, worker) == 0;
}

void linux_end_worker(void) { pthread_setspecific(worker_key, NULL); }

__thread struct linux_stream_thread linux_stream_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
uint32_t linux_kit_forks __attribute__((visibility("hidden")));
struct linux_stream_thread *linux_kit_forking_thread __attribute__((visibility("hidden")));
/* The value of linux_kit_forks before linux_kit_forking_thread called the first of its consecutive fork()s. */
static uint32_t forking_thread_since;
void linux_kit_note_fork(void)
{
    if (linux_kit_forking_thread != &linux_stream_thread)
        forking_thread_since = linux_kit_forks;
    linux_kit_forks++;
    linux_kit_forking_thread = &linux_stream_thread;
}

void linux_stream_lock_init(struct linux_stream_lock *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, linux_detect_valgrind);
    memset(lock, 0, sizeof *lock);
    lock->forks = linux_kit_forks;
}

int linux_stream_lock_recover(struct linux_stream_lock *lock)
{
    linux_kit_lock();
    int is_first = lock->forks != linux_kit_forks;
    if (is_first) {
        /* The owner exists here only if it called fork() itself. Comparing addresses is not enough, because after a
           fork() by another thread, a new thread may have the address. */
        int is_held = linux_is_forking_thread(lock->owner) && lock->forks >= forking_thread_since;
        if (!is_held) {
            lock->was_broken |= lock->depth > 0;
            lock->depth = 0;
            lock->owner = NULL;
            lock->word = 0;
        }
        __atomic_store_n(&lock->forks, linux_kit_forks, __ATOMIC_RELEASE);
    }
    linux_kit_unlock();
    return is_first;
}

void linux_stream_lock_acquire(struct linux_stream_lock *lock)
{
    uint32_t expected = 0;
    if (!__atomic_compare_exchange_n(&lock->word, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        int error = errno;
        while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
            syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        errno = error;
    }
    if (linux_is_watched())
        linux_happens_after(lock);
}

void linux_stream_lock_release(struct linux_stream_lock *lock)
{
    if (linux_is_watched())
        linux_happens_before(lock);
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2) {
        int error = errno;
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        errno = error;
    }
}
