/*
 * counts.c -- counts instead of times: allocations, system calls and descriptors opened per operation.
 * Counts are the same on every machine, so they have committed limits (counts.limits).
 *
 *     counts <operation>      runs it, prints its counts as JSON (no argument: lists the operations)
 *
 * Allocations are counted here: the program defines malloc and friends, and the library uses them.
 * System calls are counted by counts.py from strace's output, in which write(-1, "counts:...") marks
 * where counting begins and ends and which thread is which: "loop" runs the loop, "other" is another.
 * Every loop waits without spinning, and each operation has a warm-up.
 */
#define _GNU_SOURCE
#include <RunLoop/RunLoop.h>
#include <RunLoopKit/RunLoopKit.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static _Noreturn void fail(int line, const char *what)
{
    fprintf(stderr, "counts.c:%d: not true: %s (errno %d)\n", line, what, errno);
    _exit(1);
}

/* ---- allocations -------------------------------------------------------------------------------- */

static atomic_bool counting;
static atomic_long allocations;

static inline void count_allocation(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { count_allocation(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { count_allocation(); return __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { count_allocation(); return __libc_realloc(p, size); }
void *memalign(size_t to, size_t size) { count_allocation(); return __libc_memalign(to, size); }
void *aligned_alloc(size_t to, size_t size) { return memalign(to, size); }

int posix_memalign(void **result, size_t to, size_t size)
{
    *result = memalign(to, size);
    return *result ? 0 : ENOMEM;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    count_allocation();
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

/* ---- the window that is counted ------------------------------------------------------------------- */

static long operations, descriptors_before, descriptors_opened;

static void mark(const char *text)
{
    char line[64];
    int length = snprintf(line, sizeof line, "counts:%s", text);
    CHECK(write(-1, line, (size_t)length) < 0);
}

static long open_descriptors(void)
{
    long n = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static void begin(void)
{
    descriptors_before = open_descriptors();
    mark("begin");
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
}

/* `own` is the number of system calls that the loop's thread made for this program, not for the library. */
static void end(long n, long own)
{
    atomic_store(&counting, false);
    char text[32];
    snprintf(text, sizeof text, "end %ld", own);
    mark(text);
    operations = n;
    descriptors_opened = open_descriptors() - descriptors_before;
}

/* ---- a loop, and a thread that runs one -------------------------------------------------------------- */

static RLRunLoopRef loop;
static RLRunLoopSourceRef source;
static void (*on_source)(void);
static atomic_long done;

static void perform_source(void *info) { (void)info; if (on_source) on_source(); }

static RLRunLoopSourceRef new_source(RLRunLoopMode mode)
{
    RLRunLoopSourceContext context = { .perform = perform_source };
    RLRunLoopSourceRef new = RLRunLoopSourceCreate(NULL, 0, &context);
    CHECK(new != NULL);
    RLRunLoopAddSource(loop, new, mode);
    return new;
}

static void prepare_loop(void)
{
    mark("thread loop");
    loop = RLRunLoopGetCurrent();
    CHECK(loop != NULL);
    RLRunLoopSetSpinInterval(loop, 0);
    source = new_source(kRLRunLoopDefaultMode);
}

struct watched { int reader, writer; };

static int watched_port(void *info) { return ((struct watched *)info)->reader; }

static void watch(struct watched *watched, RLRunLoopMode mode, void (*perform)(void *))
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    *watched = (struct watched){ ends[0], ends[1] };
    RLRunLoopSourceContext1 context = { .version = 1, .info = watched, .getPort = watched_port,
                                        .perform = perform };
    RLRunLoopSourceRef new = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    CHECK(new != NULL);
    RLRunLoopAddSource(loop, new, mode);
    RLRelease(new);
}

static pthread_t loop_thread;
static atomic_bool loop_ready;

static void *run_loop(void *unused)
{
    (void)unused;
    prepare_loop();
    atomic_store(&loop_ready, true);
    RLRunLoopRun();
    return NULL;
}

/* Waits without a system call, which would be counted. */
static void until(atomic_long *value, long at_least)
{
    while (atomic_load(value) < at_least)
        ;
}

static void until_asleep(void)
{
    while (!RLRunLoopIsWaiting(loop))
        ;
}

static void start_loop_thread(void)
{
    mark("thread other");
    CHECK(pthread_create(&loop_thread, NULL, run_loop, NULL) == 0);
    while (!atomic_load(&loop_ready))
        ;
    until_asleep();
}

static void stop_loop_thread(void)
{
    RLRunLoopStop(loop);
    CHECK(pthread_join(loop_thread, NULL) == 0);
}

#include "counts-waking.h"
#include "counts-items.h"
#include "counts-ports.h"
#include "counts-kit.h"

static const struct { const char *name; void (*run)(void); } all[] = {
    { "pass-nothing", pass_nothing },         { "pass-descriptor", pass_descriptor },
    { "post-awake", post_awake },             { "post-asleep", post_asleep },
    { "wake-awake", wake_awake },             { "wake-asleep", wake_asleep },
    { "call-asleep", call_asleep },           { "timer-churn", timer_churn },
    { "timer-near", timer_near },             { "timer-rearm", timer_rearm },
    { "timer-fire", timer_fire },
    { "run-idle", run_idle },                 { "run-poll", run_poll },
    { "descriptor-one", descriptor_one },     { "descriptor-batch", descriptor_batch },
    { "file-descriptor-one", file_descriptor_one }, { "socket-one", socket_one },
    { "file-descriptor-register", file_descriptor_register }, { "socket-register", socket_register },
    { "first-use", first_use },               { "first-descriptor", first_descriptor },
    { "extra-mode", extra_mode },             { "thread-exit", thread_exit },
    { "port-message", port_message },         { "message-ask", message_ask },
    { "message-ask-large", message_ask_large }, { "message-serve", message_serve },
    { "message-send", message_send },
    { "stream-write-pipe", stream_write_pipe }, { "stream-write-socket", stream_write_socket },
    { "message-receive", message_receive },   { "message-receive-all", message_receive_all },
};

int main(int argc, char **argv)
{
    alarm(30);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2) {
            puts(all[i].name);
        } else if (strcmp(all[i].name, argv[1]) == 0) {
            all[i].run();
            printf("{\"operations\": %ld, \"allocations\": %ld, \"descriptors\": %ld}\n", operations,
                   atomic_load(&allocations), descriptors_opened);
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}
