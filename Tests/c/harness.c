#include "harness.h"
#include "../own-directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* If a sanitizer finds something, the test's process exits with status 99 even if the test itself has passed. Check calls that
 * an early exit, and the test fails. Leaks are checked at the exit of every test's process. */
const char *__asan_default_options(void)
{
    return "exitcode=99:detect_leaks=1:halt_on_error=1:detect_stack_use_after_return=1";
}
const char *__lsan_default_options(void) { return "exitcode=99:use_tls=1"; }
/* die_after_fork=0: tests fork processes that have threads, and their children start threads. */
const char *__tsan_default_options(void)
{
    return "exitcode=99:halt_on_error=0:die_after_fork=0:second_deadlock_stack=1";
}

/* -- Diagnostics -- */

static pthread_mutex_t diagnostics_lock = PTHREAD_MUTEX_INITIALIZER;
static int diagnostics_count;
static char last_diagnostic[1024];

static void remember_diagnostic(const char *message, void *info)
{
    pthread_mutex_lock(&diagnostics_lock);
    diagnostics_count++;
    /* info is last_diagnostic, as passed to RLSetErrorHandler(). */
    snprintf(info, sizeof last_diagnostic, "%s", message);
    pthread_mutex_unlock(&diagnostics_lock);
}

int take_diagnostics(void)
{
    pthread_mutex_lock(&diagnostics_lock);
    int count = diagnostics_count;
    diagnostics_count = 0;
    pthread_mutex_unlock(&diagnostics_lock);
    return count;
}

void assert_misuse_at(const char *file, int line, const char *function, const char *parameter, const char *text)
{
    int count = take_diagnostics();
    ck_assert_msg(count == 1, "%s:%d: %d diagnostics for %s, want 1 (last: \"%s\")", file, line, count, function,
                  last_diagnostic);
    char start[256];
    snprintf(start, sizeof start, "runloop: %s: %s: %s", function, parameter, text ? text : "");
    const char *got = last_diagnostic;
    bool same = text ? strcmp(got, start) == 0 : strncmp(got, start, strlen(start)) == 0 && strlen(got) > strlen(start);
    ck_assert_msg(same, "%s:%d: diagnostic \"%s\", want \"%s%s\"", file, line, got, start, text ? "" : "…");
    ck_assert_msg(strchr(got, '\n') == NULL, "%s:%d: diagnostic is not one line: \"%s\"", file, line, got);
}

static pid_t test_process;

static void start_listening(void)
{
    test_process = getpid();
    RLSetErrorHandler(remember_diagnostic, last_diagnostic);
}

static void expect_silence(void)
{
    int count = take_diagnostics();
    ck_assert_msg(count == 0, "%d diagnostics nobody asked for, last: \"%s\"", count, last_diagnostic);
}

/* -- Children -- */

bool is_child(void) { return test_process != 0 && getpid() != test_process; }

void fail_as_child(const char *file, int line, const char *expression, const char *format, ...)
{
    char text[512] = "";
    va_list arguments;
    va_start(arguments, format);
    if (format)
        vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "%s:%d: child: %s%s%s\n", file, line, expression, *text ? ": " : "", text);
    _exit(1);
}

pid_t fork_child(void)
{
    pid_t child = fork();
    require(child >= 0);
    return child;
}

/* -- The suite -- */

TCase *add_case(Suite *suite, const char *name, double seconds)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, SANITIZED ? seconds * 5 : seconds);
    tcase_add_checked_fixture(tcase, start_listening, expect_silence);
    suite_add_tcase(suite, tcase);
    return tcase;
}

/* A login shell often allows 1024 descriptors, which is too few for both ends of a thousand connections. */
static void allow_descriptors(rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Every test runs in its own process, so its files are removed here even if it crashes. Other users may pass through the
 * directory, because some tests switch to another user. */
int main(void)
{
    char directory[OWN_DIRECTORY_SIZE];
    SRunner *runner = srunner_create(suite_under_test());
    allow_descriptors(4096);
    make_own_directory(directory);
    chmod(directory, 0711);
    setenv("TMPDIR", directory, 1);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_directory(directory);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* -- Notes -- */

char notes[4096];
void note(const char *word)
{
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%s%s", used ? " " : "", word);
}

static void note_activity(UNUSED RLRunLoopObserverRef observer, RLRunLoopActivity activity, UNUSED void *info)
{
    note(activity == kRLRunLoopEntry           ? "En"
         : activity == kRLRunLoopBeforeTimers  ? "BT"
         : activity == kRLRunLoopBeforeSources ? "BS"
         : activity == kRLRunLoopBeforeWaiting ? "BW"
         : activity == kRLRunLoopAfterWaiting  ? "AW"
         : activity == kRLRunLoopExit          ? "Ex"
                                               : "??");
}

RLRunLoopObserverRef note_activities(RLRunLoopRef rl, RLRunLoopMode mode)
{
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopAllActivities, 1, 0, note_activity, NULL);
    RLRunLoopAddObserver(rl, observer, mode);
    return observer;
}

/* -- Items -- */

RLRunLoopSourceRef make_source(RLIndex order, void (*perform)(void *info), void *info)
{
    RLRunLoopSourceContext context = {.info = info, .perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, order, &context);
    require(source != NULL);
    return source;
}

RLRunLoopSourceRef make_port_source(RLIndex order, int (*get_port)(void *info), void (*perform)(void *info), void *info)
{
    RLRunLoopSourceContext1 context = {.version = 1, .info = info, .getPort = get_port, .perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, order, (RLRunLoopSourceContext *)&context);
    require(source != NULL);
    return source;
}

RLRunLoopTimerRef make_timer(RLAbsoluteTime date, RLTimeInterval interval, RLRunLoopTimerCallBack callout, void *info)
{
    RLRunLoopTimerContext context = {.info = info};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, date, interval, 0, 0, callout, &context);
    require(timer != NULL);
    return timer;
}

RLRunLoopObserverRef make_observer(RLOptionFlags activities, RLBoolean repeats, RLIndex order,
                                   RLRunLoopObserverCallBack callout, void *info)
{
    RLRunLoopObserverContext context = {.info = info};
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, activities, repeats, order, callout, &context);
    require(observer != NULL);
    return observer;
}

void drop_source(RLRunLoopSourceRef source)
{
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
}

void drop_timer(RLRunLoopTimerRef timer)
{
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
}

void drop_observer(RLRunLoopObserverRef observer)
{
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
}

void count_perform(void *info) { atomic_fetch_add((atomic_int *)info, 1); }
void count_timer(UNUSED RLRunLoopTimerRef timer, void *info) { count_perform(info); }
void count_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    count_perform(info);
}
void do_nothing(UNUSED void *info) {}
void stop_current(UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

int watch_port(void *info) { return ((struct watch *)info)->fd; }

void watch_perform(void *info)
{
    struct watch *watch = info;
    char byte;
    if (watch->name)
        note(watch->name);
    if (watch->reads)
        require(read(watch->fd, &byte, 1) == 1);
    watch->performed++; /* last: a thread that waits for this count may then leave the function that owns the struct */
}

void watch_fd(struct watch *watch, int fd, RLIndex order)
{
    watch->fd = fd;
    watch->source = make_port_source(order, watch_port, watch_perform, watch);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), watch->source, kRLRunLoopDefaultMode);
}

void make_pipe(int ends[2]) { require(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0); }

void close_pipe(int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

const void *lifetime_retain(const void *info)
{
    atomic_fetch_add(&((struct lifetime *)info)->retains, 1);
    return info;
}

void lifetime_release(const void *info) { atomic_fetch_add(&((struct lifetime *)info)->releases, 1); }
void lifetime_end(void *info) { lifetime_release(info); }
/* Reads the releases first: whatever other threads retain and release meanwhile, the result is not less than what was held at the
 * beginning. */
int lifetime_held(struct lifetime *life)
{
    int releases = life->releases;
    return life->retains - releases;
}

/* -- Threads -- */

void gate_init(gate *g) { require(sem_init(g, 0, 0) == 0); }
void gate_open(gate *g) { sem_post(g); }

void gate_pass(gate *g)
{
    while (sem_wait(g) != 0 && errno == EINTR) {}
}

pthread_t start_thread(void *(*body)(void *), void *info)
{
    pthread_t thread;
    require(pthread_create(&thread, NULL, body, info) == 0);
    return thread;
}

void join_thread(pthread_t thread) { require(pthread_join(thread, NULL) == 0); }

void on_threads(int count, void *(*body)(void *))
{
    pthread_t threads[16];
    require(count <= 16);
    for (int i = 0; i < count; i++)
        threads[i] = start_thread(body, (void *)(uintptr_t)i);
    for (int i = 0; i < count; i++)
        join_thread(threads[i]);
}

static void *looper_body(void *info)
{
    struct looper *looper = info;
    looper->loop = RLRunLoopGetCurrent();
    RLRunLoopAddSource(looper->loop, looper->keeper, kRLRunLoopDefaultMode);
    gate_open(&looper->ready);
    RLRunLoopRun();
    return NULL;
}

void looper_start(struct looper *looper)
{
    gate_init(&looper->ready);
    looper->keeper = make_source(0, do_nothing, NULL);
    looper->thread = start_thread(looper_body, looper);
    gate_pass(&looper->ready);
}

void looper_stop(struct looper *looper)
{
    /* A posted function instead of RLRunLoopStop(): a stop before the loop runs would be lost. */
    require(RLRunLoopPostFunction(looper->loop, kRLRunLoopDefaultMode, stop_current, NULL));
    join_thread(looper->thread);
    drop_source(looper->keeper);
}

void await_waiting(RLRunLoopRef rl)
{
    while (!RLRunLoopIsWaiting(rl))
        sched_yield();
}

void await_count(atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted)
        sched_yield();
}

/* -- The process -- */

int count_entries(const char *path)
{
    DIR *directory = opendir(path);
    require(directory != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

int open_descriptors(void) { return count_entries("/proc/self/fd") - 1; /* that of the directory itself */ }

rlim_t limit_descriptors(rlim_t limit)
{
    struct rlimit old, new;
    require(getrlimit(RLIMIT_NOFILE, &old) == 0);
    new = (struct rlimit){limit, old.rlim_max};
    require(setrlimit(RLIMIT_NOFILE, &new) == 0);
    return old.rlim_cur;
}

int live_threads(void) { return count_entries("/proc/self/task"); }

void await_threads(int wanted)
{
    while (live_threads() != wanted)
        sched_yield();
}

long resident_kilobytes(void)
{
    long size = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    require(statm != NULL && fscanf(statm, "%ld %ld", &size, &resident) == 2);
    fclose(statm);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void spin_until(RLAbsoluteTime date)
{
    while (RLAbsoluteTimeGetCurrent() < date) {}
}

int run_in_child(void (*body)(void *), void *info)
{
    fflush(NULL);
    pid_t child = fork_child();
    if (child == 0) {
        body(info);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        require(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
