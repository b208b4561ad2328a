/* A program in a state that is to be explained: states STATE. Writes a line to stdout when it is about to enter the
   state. Where the program is stuck, a byte on stdin ends that. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static RLRunLoopRef loop;
static RLRunLoopSourceRef selfish;
static pthread_barrier_t isReady;
static int ends[2];

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        abort();
}

static void stuck(void *info)
{
    char byte;
    (void)info;
    say("stuck\n");
    if (read(STDIN_FILENO, &byte, 1) < 0)
        abort();
}

static void stuck_again(void *info) { stuck(info); }

static void tick(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }

static void stop(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void nested(void *info)
{
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 1000, 0, tick, NULL);
    RLRunLoopAddTimer(loop, timer, RLSTR("inner"));
    RLRunLoopRunInMode(RLSTR("inner"), 500, 0);
    (void)info;
}

static void read_nothing(RLFileDescriptorRef descriptor, RLOptionFlags types, void *info)
{
    (void)types, (void)info;
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
}

static void look_away(void *info) { (void)info; }
static int get_port(void *info)
{
    (void)info;
    return ends[0];
}

static void signal_again(void *info)
{
    (void)info;
    RLRunLoopSourceSignal(selfish);
}

static void post_again(void *info)
{
    (void)info;
    RLRunLoopPostFunction(loop, MODE, post_again, NULL);
}

static RLDataRef never_answer(RLMessagePortRef its, int32_t id, RLDataRef data, void *info)
{
    (void)id, (void)data, (void)info;
    RLMessagePortCopyRequest(its);
    return NULL;
}

static void *serve(void *info)
{
    RLStringRef name = RLStringCreateWithCString(NULL, info, kRLStringEncodingUTF8);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, never_answer, NULL, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, port, 0), MODE);
    pthread_barrier_wait(&isReady);
    RLRunLoopRun();
    return info;
}

static void add_descriptor(void)
{
    RLFileDescriptorRef descriptor = RLFileDescriptorCreate(NULL, ends[0], 0, read_nothing, NULL);
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
    RLRunLoopAddSource(loop, RLFileDescriptorCreateRunLoopSource(NULL, descriptor, 0), MODE);
}

/* The server is another process, which also serves a second port. */
static void send_remote_request(void)
{
    char text[32];
    RLDataRef reply;
    RLMessagePortRef remote = NULL;
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_barrier_init(&isReady, NULL, 1);
        RLMessagePortRef other = RLMessagePortCreateLocal(NULL, RLSTR("states.name.2"), never_answer, NULL, NULL);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, other, 0), MODE);
        serve("states.name");
    }
    while (remote == NULL)
        remote = RLMessagePortCreateRemote(NULL, RLSTR("states.name"));
    RLMessagePortCreateRemote(NULL, RLSTR("states.name.2"));
    snprintf(text, sizeof text, "%d\n", server);
    say(text);
    RLMessagePortSendRequest(remote, 1, NULL, 1000, 1000, MODE, &reply);
}

static void send_request(void)
{
    pthread_t thread;
    RLDataRef reply;
    pthread_barrier_init(&isReady, NULL, 2);
    pthread_create(&thread, NULL, serve, "states.test");
    pthread_barrier_wait(&isReady);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("states.test"));
    RLMessagePortSendRequest(remote, 1, NULL, 1000, 1000, MODE, &reply);
}

/* Adds a source. Sources of equal order with the same callback are equal, and a mode contains only one of them. */
static void add_source(int isSelfish, RLIndex order)
{
    RLRunLoopSourceContext context = {.perform = isSelfish ? signal_again : look_away};
    selfish = RLRunLoopSourceCreate(NULL, order, &context);
    RLRunLoopAddSource(loop, selfish, MODE);
    if (isSelfish)
        RLRunLoopSourceSignal(selfish);
}

static void add_port(void)
{
    RLRunLoopSourceContext1 context = {.version = 1, .getPort = get_port, .perform = look_away};
    RLRunLoopAddSource(loop, RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context), MODE);
}

static void add_timer(double delay, double interval)
{
    RLRunLoopAddTimer(loop, RLRunLoopTimerCreateWithDelay(NULL, delay, interval, tick, NULL), MODE);
}

/* Another thread wakes the loop, which stays awake for one post. */
static void *wake(void *info)
{
    while (!RLRunLoopIsWaiting(loop))
        continue;
    RLRunLoopPostFunction(loop, MODE, look_away, NULL);
    pause();
    return info;
}

static void *come_and_go(void *info)
{
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, stop, NULL);
    RLRunLoopRun();
    return info;
}

/* Threads that start and exit while the loops are being described. */
static void churn(void)
{
    char byte;
    say("ready\n");
    for (int round = 0; round < 100 || read(STDIN_FILENO, &byte, 1) < 0; round++) {
        pthread_t threads[4];
        for (int index = 0; index < 4; index++)
            pthread_create(&threads[index], NULL, come_and_go, NULL);
        for (int index = 0; index < 4; index++)
            pthread_join(threads[index], NULL);
    }
    exit(3);
}

static void sleep_in_child(void)
{
    char text[32];
    RLRunLoopPostFunction(loop, MODE, look_away, NULL);
    RLRunLoopRun();
    pid_t child = fork();
    if (child > 0) {
        snprintf(text, sizeof text, "%d\n", child);
        say(text);
        waitpid(child, NULL, 0);
        exit(0);
    }
    /* A failing test leaves no process behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* A child created without calling fork handlers: it inherits the memory through which the parent is asked for
 * explanations. */
static void copy_unnoticed(void)
{
    char text[32];
    RLRunLoopPostFunction(loop, MODE, stuck, NULL);
    RLRunLoopRun();
    pid_t child = _Fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    snprintf(text, sizeof text, "%d\n", child);
    say(text);
    stuck(NULL);
}

static int isStarved = 1;

static void *compete(void *info)
{
    while (__atomic_load_n(&isStarved, __ATOMIC_RELAXED))
        continue;
    return info;
}

static double secondsOf(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Gets hardly any processor time for a second, because a thread of higher weight competes with it, and is stuck
 * afterwards. */
static void starve(void *info)
{
    cpu_set_t one;
    pthread_t thread;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 || pthread_create(&thread, NULL, compete, NULL) != 0 ||
        setpriority(PRIO_PROCESS, (id_t)gettid(), 19) != 0)
        abort();
    double start = secondsOf(CLOCK_MONOTONIC);
    while (secondsOf(CLOCK_MONOTONIC) - start < 1)
        continue;
    __atomic_store_n(&isStarved, 0, __ATOMIC_RELAXED);
    stuck(info);
}

/* Closes all descriptors and opens others, which must stay as they are: empty files, and epoll instances with an
   event. Meanwhile the companion is asked for an explanation. */
static int close_and_open(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
    int files[8], epolls[8], left = 0;
    for (int descriptor = 3; descriptor < 100; descriptor++)
        close(descriptor);
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
        return 1;
    for (int index = 0; index < 8; index++) {
        epolls[index] = epoll_create1(0);
        epoll_ctl(epolls[index], EPOLL_CTL_ADD, ends[0], &event);
        files[index] = memfd_create("file", 0);
    }
    raise(SIGUSR2);
    stuck(NULL);
    for (int index = 0; index < 8; index++)
        left += lseek(files[index], 0, SEEK_END) == 0 && epoll_wait(epolls[index], &event, 1, 0) == 1;
    RLRunLoopPostFunction(loop, MODE, look_away, NULL);
    RLRunLoopRun();
    return left == 8 ? 4 : 5;
}

static void *run_beside_ended(void *info)
{
    loop = RLRunLoopGetCurrent();
    add_timer(1000, 0);
    RLRunLoopRun();
    return info;
}

static void *run_alone(void *info)
{
    stuck(info);
    return info;
}

int main(int count, char **words)
{
    const char *state = count > 1 ? words[1] : "";
    pthread_t thread;
    loop = RLRunLoopGetCurrent();
    if (pipe(ends) != 0 || (strstr(state, "unread") != NULL && write(ends[1], "hello", 5) != 5))
        return 1;
    if (strcmp(state, "stuck") == 0)
        RLRunLoopPostFunction(loop, MODE, stuck, NULL);
    else if (strcmp(state, "stuck twice") == 0) {
        RLRunLoopPostFunction(loop, MODE, stuck, NULL);
        RLRunLoopPostFunction(loop, MODE, stuck_again, NULL);
    } else if (strcmp(state, "timer") == 0)
        add_timer(1000, 5);
    else if (strcmp(state, "unreferenced timer") == 0) {
        RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 1000, 5, tick, NULL);
        RLRunLoopAddTimer(loop, timer, MODE);
        RLRunLoopTimerSetKeepsModeRunning(timer, 0);
        add_source(0, 0);
    } else if (strcmp(state, "delayed") == 0) {
        RLRunLoopPerformFunctionAfterDelay(loop, MODE, look_away, NULL, 0.01);
        add_timer(1000, 0);
    } else if (strcmp(state, "fast timer") == 0)
        add_timer(0, 1e-5);
    else if (strcmp(state, "nested") == 0)
        RLRunLoopPostFunction(loop, MODE, nested, NULL);
    else if (strcmp(state, "descriptor") == 0 || strcmp(state, "unread descriptor") == 0)
        add_descriptor();
    else if (strcmp(state, "unread port") == 0)
        add_port();
    else if (strcmp(state, "selfish") == 0 || strcmp(state, "source") == 0)
        add_source(state[1] == 'e', 0);
    else if (strcmp(state, "starved") == 0)
        RLRunLoopPostFunction(loop, MODE, starve, NULL);
    else if (strcmp(state, "many sources") == 0)
        for (int index = 0; index < 30; index++)
            add_source(0, index);
    else if (strcmp(state, "posts") == 0)
        post_again(NULL);
    else if (strcmp(state, "request") == 0)
        send_request();
    else if (strcmp(state, "remote request") == 0)
        send_remote_request();
    else if (strcmp(state, "woken") == 0) {
        add_source(0, 0);
        pthread_create(&thread, NULL, wake, NULL);
    } else if (strcmp(state, "churn") == 0)
        churn();
    else if (strcmp(state, "fork") == 0) {
        sleep_in_child();
        add_timer(1000, 0);
    } else if (strcmp(state, "alone") == 0) {
        RLRunLoopPostFunction(loop, MODE, look_away, NULL);
        RLRunLoopRun();
        stuck(NULL);
        pthread_create(&thread, NULL, run_alone, NULL);
        pthread_exit(NULL);
    } else if (strcmp(state, "main ended") == 0) {
        pthread_create(&thread, NULL, run_beside_ended, NULL);
        pthread_exit(NULL);
    } else if (strcmp(state, "copied") == 0)
        copy_unnoticed();
    else if (strcmp(state, "closed") == 0) {
        RLRunLoopPostFunction(loop, MODE, look_away, NULL);
        RLRunLoopRun();
        say("ready\n");
        stuck(NULL);
        return close_and_open();
    }
    say("ready\n");
    RLRunLoopRun();
    return 2;
}
