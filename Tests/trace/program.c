/* The traced program: two threads and two processes that send each other one thing of each kind. program
 * [wait|kill|none|junk] */
#include <RunLoop/RunLoop.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static RLRunLoopRef worker;
static RLRunLoopSourceRef source;
static RLPortRef port;
static RLPortMessageRef message;
static pthread_barrier_t isReady;
static int ticks, left = 6;

static void stopped(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* Counts what the worker receives: two of each kind. */
static void count(void)
{
    if (--left == 0)
        RLRunLoopStop(worker);
}
static void inner(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}
static void posted(void *info)
{
    if (info != NULL) {
        RLRunLoopPostFunction(worker, RLSTR("nested"), inner, NULL);
        RLRunLoopRunInMode(RLSTR("nested"), 60, 0);
    }
    count();
}
static void performed(void *info)
{
    (void)info;
    count();
}
static void delivered(RLPortRef its, RLPortMessageRef got, void *info)
{
    (void)its, (void)got, (void)info;
    count();
}
static void cancelled(void *info) { (void)info; }

static void *work(void *info)
{
    (void)info;
    worker = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {.perform = performed};
    source = RLRunLoopSourceCreate(NULL, 0, &context);
    port = RLPortCreate(NULL, delivered, NULL, NULL);
    message = RLPortMessageCreate(NULL, port, NULL, NULL);
    RLRunLoopSourceRef its = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(worker, source, MODE);
    RLRunLoopAddSource(worker, its, MODE);
    pthread_barrier_wait(&isReady);
    RLRunLoopRun();
    RLRunLoopSourceInvalidate(its);
    RLRelease(its);
    return NULL;
}

/* Waits until the worker sleeps, so that the first event wakes it. */
static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    if (!RLRunLoopIsWaiting(worker))
        return;
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, cancelled, NULL);
    RLRunLoopCancelPerformFunction(RLRunLoopGetCurrent(), cancelled, NULL);
    RLRunLoopPostFunction(worker, MODE, posted, ticks == 0 ? &ticks : NULL);
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(worker);
    RLPortMessageSendBeforeDate(message, 1e9);
    if (++ticks == 2)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

/* Takes over the third request, and releases it without a reply. */
static RLDataRef answer(RLMessagePortRef its, int32_t id, RLDataRef data, void *info)
{
    (void)info;
    if (id == 3)
        RLRelease(RLMessagePortCopyRequest(its));
    if (id == 4)
        RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, stopped, NULL);
    return RLRetain(data), data;
}

static int serve(int ready)
{
    RLMessagePortRef its = RLMessagePortCreateLocal(NULL, RLSTR("trace.test"), answer, NULL, NULL);
    RLRunLoopSourceRef served = RLMessagePortCreateRunLoopSource(NULL, its, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), served, MODE);
    if (write(ready, "x", 1) == 1)
        RLRunLoopRun();
    return 0;
}

static int ask(void)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("trace.test"));
    RLDataRef reply, data = RLDataCreate(NULL, (const uint8_t *)"hello", 5);
    for (int id = 1; id <= 4; id++)
        if (remote == NULL || RLMessagePortSendRequest(remote, id, data, 60, 60, MODE, &reply) !=
                                  (id == 3 ? kRLMessagePortTransportError : kRLMessagePortSuccess))
            return 1;
    return 0;
}

static void last_words(void *info)
{
    (void)info;
    kill(getpid(), SIGKILL);
}
static void stuck(void *info)
{
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, last_words, info);
    RLRunLoopRunInMode(MODE, 60, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int ends[2], status;
    char byte;
    pthread_t thread;
    if (strcmp(how, "none") == 0)
        return 5;
    if (strcmp(how, "kill") == 0) {
        RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, stuck, NULL);
        RLRunLoopRun();
    }
    if (strcmp(how, "junk") == 0 && getenv("RUNLOOP_TRACE") != NULL && chdir(getenv("RUNLOOP_TRACE")) == 0) {
        close(open("1-1.ring", O_CREAT | O_WRONLY, 0600));
        close(open("1-1.metrics", O_CREAT | O_WRONLY, 0600));
        int ring = open("2-2.ring", O_CREAT | O_WRONLY, 0600), metrics = open("2-2.metrics", O_CREAT | O_WRONLY, 0600);
        for (int index = 0; index < 10000; index++)
            if (write(ring, "RLTRACE0", 8) != 8 || write(metrics, "RLRSTAT0", 8) != 8)
                return 1;
        close(ring);
        close(metrics);
    }
    if (pipe(ends) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        return serve(ends[1]);
    if (child < 0 || read(ends[0], &byte, 1) != 1)
        return 1;
    pthread_barrier_init(&isReady, NULL, 2);
    pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&isReady);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0.001, tick, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRunLoopRun();
    RLRunLoopTimerInvalidate(timer);
    pthread_join(thread, NULL);
    int failed = ask();
    waitpid(child, &status, 0);
    printf("%d ticks, %d left, %d\n", ticks, left, failed);
    return 7;
}
