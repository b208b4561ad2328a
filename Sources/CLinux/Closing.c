/* Threads that close descriptors which other processes have passed, because close(2) can block: on a file system, on a
   socket that lingers, or on anything behind FUSE. They exist only while there is something to close. A program that no
   peer attacks hardly ever has one. */
#include "CLinux.h"

enum { thread_limit = 8 };

/* Descriptors that one thread closes one after the other. */
struct linux_closing {
    struct linux_closing *next;
    uint64_t sender; /* stands for the process that has passed them; 0 for sockets of this process */
    int taken;       /* whether a thread is closing them */
    int count;       /* the number of those that are left */
    int fds[];
};

/* Guarded by the mutex: the list of what is to be closed or is being closed, in which passed descriptors come before
   sockets of this process, and the number of threads. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct linux_closing *closings;
static int threads;
/* Whether the list contains passed descriptors. Written under the mutex, read by any thread. */
int linux_closes_passed;

static struct linux_closing *next_closing(void)
{
    struct linux_closing *next = closings;
    while (next != NULL && next->taken)
        next = next->next;
    return next;
}

static void remove_closing(struct linux_closing *closing)
{
    struct linux_closing **link = &closings;
    while (*link != closing)
        link = &(*link)->next;
    *link = closing->next;
    free(closing);
    __atomic_store_n(&linux_closes_passed, closings != NULL && closings->sender != 0, __ATOMIC_RELAXED);
}

static void *close_all(void *unused)
{
    struct linux_closing *closing;
    pthread_mutex_lock(&mutex);
    while ((closing = next_closing()) != NULL) {
        closing->taken = 1;
        while (closing->count > 0) {
            int fd = closing->fds[--closing->count];
            pthread_mutex_unlock(&mutex);
            syscall(SYS_close, fd);
            pthread_mutex_lock(&mutex);
        }
        remove_closing(closing);
    }
    threads--;
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* Starts another thread if something in the list has no thread yet. If that fails, the next call tries again. The caller
   holds the mutex. */
static void start_thread(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (threads == thread_limit || next_closing() == NULL || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    /* The program's signals are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    threads += pthread_create(&thread, &attributes, close_all, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void linux_close_apart(const int *fds, int count, uint64_t sender)
{
    struct linux_closing *closing = malloc(sizeof *closing + (size_t)count * sizeof(int));
    if (closing == NULL)
        return;
    *closing = (struct linux_closing){.sender = sender, .count = count};
    memcpy(closing->fds, fds, (size_t)count * sizeof(int));
    pthread_mutex_lock(&mutex);
    struct linux_closing **link = &closings;
    while (*link != NULL && (sender == 0 || (*link)->sender != 0))
        link = &(*link)->next;
    closing->next = *link;
    *link = closing;
    if (sender != 0)
        __atomic_store_n(&linux_closes_passed, 1, __ATOMIC_RELAXED);
    start_thread();
    pthread_mutex_unlock(&mutex);
}

int linux_finds_passed(uint64_t sender)
{
    pthread_mutex_lock(&mutex);
    struct linux_closing *closing = closings;
    while (closing != NULL && closing->sender != 0 && closing->sender != sender)
        closing = closing->next;
    int finds = closing != NULL && closing->sender == sender;
    start_thread();
    pthread_mutex_unlock(&mutex);
    return finds;
}

void linux_lock_closings(void) { pthread_mutex_lock(&mutex); }

/* The threads do not exist in the child of a fork(). What was left in the list is closed there together with the next
   descriptors that the child adds. A descriptor that a thread was closing during the fork() may stay open. */
void linux_unlock_closings(int in_child)
{
    if (in_child) {
        threads = 0;
        linux_closes_passed = 0;
        for (struct linux_closing *closing = closings; closing != NULL; closing = closing->next)
            closing->taken = 0, closing->sender = 0;
    }
    pthread_mutex_unlock(&mutex);
}
