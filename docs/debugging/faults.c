/* faults.c - ten programs that misbehave, for docs/DEBUGGING.md. faults NAME runs one of them; make.py shows what the tools say of it. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static RLRunLoopRef loop, worker;
static pthread_barrier_t isReady;

static void addTimer(RLTimeInterval interval, RLRunLoopTimerCallBack function)
{
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), RLRunLoopTimerCreateWithDelay(NULL, interval, interval, function, NULL),
                      MODE);
}

static void compute(RLTimeInterval seconds)
{
    RLAbsoluteTime end = RLAbsoluteTimeGetCurrent() + seconds;
    while (RLAbsoluteTimeGetCurrent() < end)
        continue;
}

/* late: a callback computes for longer than the timer's interval. */
static void blink(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void compress_logs(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    compute(0.045);
}
static void late(void)
{
    addTimer(0.01, blink);
    addTimer(0.1, compress_logs);
    RLRunLoopRunInMode(MODE, 0.4, 0);
}

/* spin: a callback does not read, so the descriptor stays ready. */
static void forget_to_read(RLFileDescriptorRef descriptor, RLOptionFlags types, void *info)
{
    (void)types, (void)info;
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
}
static void watch(int descriptor, RLFileDescriptorCallBack function)
{
    RLFileDescriptorRef watched = RLFileDescriptorCreate(NULL, descriptor, 0, function, NULL);
    RLFileDescriptorEnableCallBacks(watched, kRLFileDescriptorReadCallBack);
    RLRunLoopAddSource(loop, RLFileDescriptorCreateRunLoopSource(NULL, watched, 0), MODE);
}
static void spin(void)
{
    int ends[2];
    if (pipe(ends) == 0 && write(ends[1], "x", 1) == 1)
        watch(ends[0], forget_to_read);
    RLRunLoopRunInMode(MODE, 3, 0);
}

/* endless: a timer that nothing invalidates keeps the mode alive. */
static void refresh(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void endless(void)
{
    addTimer(0.5, refresh);
    RLRunLoopRunInMode(MODE, 3, 0);
}

/* request: the server's callback waits for something that does not come. */
static RLDataRef look_up(RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    (void)port, (void)id, (void)data, (void)info;
    sleep(2);
    return NULL;
}
static void request(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    if (fork() == 0) {
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("org.example.names"), look_up, NULL, NULL);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, port, 0), MODE);
        if (write(ends[1], "x", 1) == 1)
            RLRunLoopRunInMode(MODE, 2.5, 0);
        exit(0);
    }
    if (read(ends[0], &byte, 1) != 1)
        return;
    RLDataRef reply;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("org.example.names"));
    RLMessagePortSendRequest(remote, 1, NULL, 1, 10, MODE, &reply);
    wait(NULL);
}

/* awake: a timer looks 50 times a second whether there is work. */
static void is_there_work(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void awake(void)
{
    addTimer(0.02, is_there_work);
    RLRunLoopRunInMode(MODE, 2, 0);
}

/* stuck: a callback waits, and the loop with it. */
static void save_file(void *info)
{
    (void)info;
    sleep(1);
}
static void stuck(void)
{
    RLRunLoopPostFunction(loop, MODE, save_file, NULL);
    RLRunLoopRunInMode(MODE, 0.1, 0);
}

/* uncalled: a function is posted to a mode that is not run. */
static void show_result(void *info) { (void)info; }
static void uncalled(void)
{
    RLRunLoopPostFunction(loop, RLSTR("dialog"), show_result, NULL);
    addTimer(0.2, refresh);
    RLRunLoopRunInMode(MODE, 3, 0);
}

/* A thread with a loop, for those below. */
static void nothing(void *info) { (void)info; }
static void *work(void *info)
{
    RLRunLoopSourceContext context = {.perform = nothing};
    worker = RLRunLoopGetCurrent();
    RLRunLoopAddSource(worker, RLRunLoopSourceCreate(NULL, 0, &context), MODE);
    pthread_barrier_wait(&isReady);
    RLRunLoopRunInMode(MODE, 10, 0); /* until it is stopped */
    return info;
}
static void with_worker(void (*function)(void))
{
    pthread_t thread;
    pthread_barrier_init(&isReady, NULL, 2);
    pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&isReady);
    function();
    RLRunLoopStop(worker);
    pthread_join(thread, NULL);
}

/* nudge: a thread wakes another's loop, and has nothing for it to do. */
static void nudge_worker(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    RLRunLoopWakeUp(worker);
}
static void nudge(void)
{
    addTimer(0.01, nudge_worker);
    RLRunLoopRunInMode(MODE, 0.5, 0);
}

/* flood: posts come faster than they are handled. */
static void index_page(void *info)
{
    (void)info;
    compute(0.001);
}
static void find_pages(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    for (int page = 0; page < 80; page++)
        RLRunLoopPostFunction(worker, MODE, index_page, NULL);
}
static void flood(void)
{
    addTimer(0.05, find_pages);
    RLRunLoopRunInMode(MODE, 0.5, 0);
}

/* crash: what was the program doing? */
static void parse_header(void *info)
{
    (void)info;
    raise(SIGSEGV);
}
static void receive_packet(void *info)
{
    (void)info;
    RLRunLoopPostFunction(loop, RLSTR("parsing"), parse_header, NULL);
    RLRunLoopRunInMode(RLSTR("parsing"), 1, 0);
}
static void crash(void)
{
    addTimer(0.01, blink);
    RLRunLoopRunInMode(MODE, 0.05, 0);
    RLRunLoopPostFunction(loop, MODE, receive_packet, NULL);
    RLRunLoopRunInMode(MODE, 1, 0);
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"late", late},   {"spin", spin},   {"endless", endless},   {"request", request},
               {"awake", awake}, {"stuck", stuck}, {"uncalled", uncalled}, {"crash", crash}};
    loop = RLRunLoopGetCurrent();
    for (size_t index = 0; index < sizeof all / sizeof *all; index++)
        if (strcmp(name, all[index].name) == 0)
            return all[index].run(), 0;
    if (strcmp(name, "nudge") == 0)
        return with_worker(nudge), 0;
    if (strcmp(name, "flood") == 0)
        return with_worker(flood), 0;
    fprintf(stderr, "usage: faults NAME\n");
    return 2;
}
