/* A program in a state that is to be explained: states STATE. Writes a line to stdout when it is about to be in it; where it is stuck, a byte
   on stdin ends that. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("states.test"), never_answer, NULL, NULL);
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

static void send_request(void)
{
    pthread_t thread;
    RLDataRef reply;
    pthread_barrier_init(&isReady, NULL, 2);
    pthread_create(&thread, NULL, serve, NULL);
    pthread_barrier_wait(&isReady);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("states.test"));
    RLMessagePortSendRequest(remote, 1, NULL, 1000, 1000, MODE, &reply);
}

static void add_source(int isSelfish)
{
    RLRunLoopSourceContext context = {.perform = isSelfish ? signal_again : look_away};
    selfish = RLRunLoopSourceCreate(NULL, 0, &context);
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

/* Threads that begin and end while the loops are described. */
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
    /* A test that fails leaves no process behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
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
    else if (strcmp(state, "fast timer") == 0)
        add_timer(0, 1e-5);
    else if (strcmp(state, "nested") == 0)
        RLRunLoopPostFunction(loop, MODE, nested, NULL);
    else if (strcmp(state, "descriptor") == 0 || strcmp(state, "unread descriptor") == 0)
        add_descriptor();
    else if (strcmp(state, "unread port") == 0)
        add_port();
    else if (strcmp(state, "selfish") == 0 || strcmp(state, "source") == 0)
        add_source(state[1] == 'e');
    else if (strcmp(state, "posts") == 0)
        post_again(NULL);
    else if (strcmp(state, "request") == 0)
        send_request();
    else if (strcmp(state, "woken") == 0) {
        add_source(0);
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
    } else if (strcmp(state, "closed") == 0) {
        RLRunLoopPostFunction(loop, MODE, look_away, NULL);
        RLRunLoopRun();
        say("ready\n");
        stuck(NULL);
        for (int descriptor = 3; descriptor < 100; descriptor++)
            close(descriptor);
        RLRunLoopPostFunction(loop, MODE, look_away, NULL);
        RLRunLoopRun();
        return 4;
    }
    say("ready\n");
    RLRunLoopRun();
    return 2;
}
