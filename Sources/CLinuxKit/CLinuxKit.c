#include "CLinuxKit.h"

pthread_mutex_t linux_kit_mutex = PTHREAD_MUTEX_INITIALIZER;
__thread uint64_t linux_kit_chained_signals __attribute__((tls_model("initial-exec"), visibility("hidden")));

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

int linux_become_worker(struct linux_worker *worker)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_worker_key);
    prctl(PR_SET_NAME, "runloop-worker", 0UL, 0UL, 0UL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return has_worker_key && pthread_setspecific(worker_key, worker) == 0;
}

void linux_end_worker(void) { pthread_setspecific(worker_key, NULL); }
