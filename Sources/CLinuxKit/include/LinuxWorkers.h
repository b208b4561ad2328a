/* Worker threads: their lock, their signals, their exit. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_WORKERS_H
#define CLINUXKIT_WORKERS_H
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* A mutex and a condition variable, opaque to Swift, in memory that does not move. */
struct linux_gate {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
};
static inline struct linux_gate *linux_make_gate(void)
{
    struct linux_gate *gate = malloc(sizeof *gate);
    if (gate != NULL) {
        pthread_mutex_init(&gate->mutex, NULL);
        pthread_cond_init(&gate->condition, NULL);
    }
    return gate;
}
static inline void linux_free_gate(struct linux_gate *gate)
{
    pthread_cond_destroy(&gate->condition);
    pthread_mutex_destroy(&gate->mutex);
    free(gate);
}
static inline void linux_lock_gate(struct linux_gate *gate) { pthread_mutex_lock(&gate->mutex); }
static inline void linux_unlock_gate(struct linux_gate *gate) { pthread_mutex_unlock(&gate->mutex); }
static inline void linux_wait_at_gate(struct linux_gate *gate) { pthread_cond_wait(&gate->condition, &gate->mutex); }
static inline void linux_wake_at_gate(struct linux_gate *gate) { pthread_cond_signal(&gate->condition); }
static inline void linux_wake_all_at_gate(struct linux_gate *gate) { pthread_cond_broadcast(&gate->condition); }

/* Starts a thread with all signals blocked: it inherits its creator's mask, so they are blocked there meanwhile.
   Returns 0 or an error number. */
static inline int linux_start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
/* A worker thread. In C because thread-specific values need a C destructor. */
struct linux_worker {
    void (*atEnd)(struct linux_worker *worker);
    void *pool, *work;
    pthread_t thread;
    struct linux_worker *following;
    int isDetached; /* no thread joins it, so it frees this struct itself */
};
/* Creates, once, the key whose destructor detects the end of a worker thread. Returns 0 if the process has no key
   left. */
int linux_prepare_workers(void);
/* Makes the calling thread a worker: sets its name, for debuggers and top(1), disables cancellation, and has atEnd
   called if the thread ends before linux_end_worker(). Returns 0 if the process has no key or memory left for that. */
int linux_become_worker(struct linux_worker *worker);
void linux_end_worker(void);
/* The calling thread cannot be cancelled meanwhile. */
static inline int linux_join(pthread_t thread)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int error = pthread_join(thread, NULL);
    pthread_setcancelstate(state, NULL);
    return error;
}
static inline int linux_is_this_thread(pthread_t thread) { return pthread_equal(thread, pthread_self()); }
static inline pthread_t linux_this_thread(void) { return pthread_self(); }

#endif
