#include "CLinuxKit.h"

pthread_mutex_t linux_kit_mutex = PTHREAD_MUTEX_INITIALIZER;
__thread uint8_t linux_kit_signal_depths[65] __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* As in CLinux.c: Swift reports every inout use of a struct as a write to all of it. */
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

uint32_t linux_kit_forks __attribute__((visibility("hidden")));
pthread_t linux_kit_forking_thread __attribute__((visibility("hidden")));
static void process_was_forked(void)
{
    linux_kit_forks++;
    linux_kit_forking_thread = pthread_self();
}
static void watch_forks(void) { pthread_atfork(NULL, NULL, process_was_forked); }

void linux_stream_lock_init(struct linux_stream_lock *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    memset(lock, 0, sizeof *lock);
    pthread_mutex_init(&lock->mutex, NULL);
    lock->forks = linux_kit_forks;
}

int linux_stream_lock_recover(struct linux_stream_lock *lock)
{
    linux_kit_lock();
    int is_first = lock->forks != linux_kit_forks;
    if (is_first) {
        lock->was_broken |= lock->depth > 0;
        lock->depth = 0;
        lock->owner = 0;
        pthread_mutex_init(&lock->mutex, NULL);
        __atomic_store_n(&lock->forks, linux_kit_forks, __ATOMIC_RELEASE);
    }
    linux_kit_unlock();
    return is_first;
}

void linux_call_until_end(void (*call)(void *argument), void (*thread_ends)(void *argument), void *argument)
{
    pthread_cleanup_push(thread_ends, argument);
    call(argument);
    pthread_cleanup_pop(0);
}
