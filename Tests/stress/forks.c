/* forks SECONDS: a process forks while its threads create, use and invalidate ports of both kinds, and while clients
 * in other processes start and exit. Each child uses and releases what it has inherited: no lock may be left locked
 * there, and no freed memory or closed descriptor may be used. */
#include "stress.h"

#define MODE kRLRunLoopDefaultMode
#define SERVED RLSTR("stress.served")
#define OTHER RLSTR("stress.other")

enum { SLOTS = 32 };
static atomic_bool over;
static atomic_long answers;
static _Atomic(RLMessagePortRequestRef) taken[SLOTS];
static RLMessagePortRef shared;

static __thread uint64_t dice;
static unsigned any(unsigned count) { return roll(&dice, count); }

static RLDataRef zeros(size_t count)
{
    uint8_t *bytes = calloc(1, count);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)count);
    free(bytes);
    return data;
}

static void sender_is_gone(UNUSED RLMessagePortRequestRef request, UNUSED void *info) {}

static RLDataRef answer(RLMessagePortRef port, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    unsigned what = any(8);
    answers++;
    if (what < 3) {
        RLMessagePortRequestRef request = RLMessagePortCopyRequest(port);
        if (what == 1)
            RLMessagePortRequestSetInvalidationCallBack(request, sender_is_gone, NULL);
        request = atomic_exchange(&taken[any(SLOTS)], request);
        if (request != NULL) {
            if (any(2))
                RLMessagePortRequestReply(request, NULL);
            RLRelease(request);
        }
    } else if (what == 3)
        RLRunLoopRunInMode(MODE, 0, true);
    return id % 3 ? zeros(id % 5 == 4 ? 100000 : 10) : NULL;
}

static void take_reply(UNUSED RLMessagePortRef remote, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info)
{
}

static void send_one(RLMessagePortRef remote, int32_t id)
{
    RLDataRef data = zeros(any(10) ? 20 : 300000), reply = NULL;
    unsigned way = any(3);
    if (way == 0)
        RLMessagePortSendRequest(remote, id, data, 0.05, 0, NULL, NULL);
    else if (way == 1)
        RLMessagePortSendRequestAsync(remote, id, data, 0.05, 0.05, MODE, take_reply, NULL);
    else
        RLMessagePortSendRequest(remote, id, data, 0.05, 0.005, MODE, &reply);
    if (reply != NULL)
        RLRelease(reply);
    RLRelease(data);
}

static void send_some(RLStringRef name, int count)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    if (remote == NULL) {
        usleep(1000);
        return;
    }
    for (int i = 0; i < count && !over; i++)
        send_one(remote, i);
    if (any(2))
        RLMessagePortInvalidate(remote);
    RLRelease(remote);
}

/* -- The threads ------------------------------------------------------------------------------------------------------------------- */
static void *serve(void *source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    while (!over)
        RLRunLoopRunInMode(MODE, 0.05, false);
    return NULL;
}

static void *send_to_name(void *name)
{
    while (!over)
        send_some(name, 6);
    return NULL;
}

static void *send_by_shared(UNUSED void *info)
{
    while (!over)
        send_one(shared, (int32_t)any(9));
    return NULL;
}

static void *make_names(UNUSED void *info)
{
    while (!over) {
        RLStringRef name = any(2) ? RLSTR("stress.made.1") : RLSTR("stress.made.2");
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
        if (port == NULL)
            continue;
        RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
        send_some(name, 2);
        RLRunLoopRunInMode(MODE, 0, false);
        if (any(2))
            RLMessagePortInvalidate(port);
        RLRelease(source);
        RLRelease(port);
    }
    return NULL;
}

static void take_message(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, UNUSED void *info) {}

static void *make_ports(UNUSED void *info)
{
    while (!over) {
        RLPortRef port = RLPortCreate(NULL, take_message, NULL, NULL);
        RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
        RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
        require(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + PATIENCE));
        RLRunLoopRunInMode(MODE, 0, true);
        RLPortInvalidate(port);
        RLRelease(message);
        RLRelease(source);
        RLRelease(port);
    }
    return NULL;
}

/* -- The child --------------------------------------------------------------------------------------------------------------------- */
static void use_in_child(RLMessagePortRef local)
{
    alarm(PATIENCE);
    require(!RLMessagePortIsValid(local) && !RLMessagePortIsValid(shared));
    for (int i = 0; i < SLOTS; i++) {
        RLMessagePortRequestRef request = atomic_exchange(&taken[i], NULL);
        if (request == NULL)
            continue;
        if (i % 2)
            RLMessagePortRequestReply(request, NULL);
        RLRelease(request);
    }
    require(RLMessagePortSendRequest(shared, 1, NULL, 1, 0, NULL, NULL) == kRLMessagePortIsInvalid);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("stress.child"), answer, NULL, NULL);
    RLRunLoopSourceRef source = port ? RLMessagePortCreateRunLoopSource(NULL, port, 0) : NULL;
    require(source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    send_some(RLSTR("stress.child"), 3);
    /* A client in another process, so that the child accepts a connection. */
    pid_t client = fork();
    if (client == 0) {
        send_some(RLSTR("stress.child"), 1);
        _exit(0);
    }
    int status;
    while (waitpid(client, &status, WNOHANG) == 0)
        RLRunLoopRunInMode(MODE, 0.001, true);
    require(status == 0);
    RLRelease(source);
    RLRelease(port);
    RLRelease(local);
    RLRelease(shared);
    _exit(0);
}

int main(UNUSED int argc, char **argv)
{
    static char directory[OWN_DIRECTORY_SIZE];
    make_directory_for_names(directory);
    double end = now() + atof(argv[1]);
    pid_t parent = getpid(), helpers[3];
    for (int i = 0; i < 3; i++)
        if ((helpers[i] = fork()) == 0) {
            dice = (uint64_t)getpid();
            if (i == 0) {
                RLMessagePortRef port = RLMessagePortCreateLocal(NULL, OTHER, answer, NULL, NULL);
                RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, port, 0), MODE);
            }
            while (getppid() == parent)
                if (i == 0)
                    RLRunLoopRunInMode(MODE, 0.1, false);
                else
                    send_some(SERVED, 4);
            _exit(0);
        }
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, SERVED, answer, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, local, 0);
    require(source != NULL);
    while ((shared = RLMessagePortCreateRemote(NULL, OTHER)) == NULL)
        usleep(1000);
    pthread_t threads[] = {start_thread(serve, source),
                           start_thread(serve, source),
                           start_thread(send_to_name, (void *)SERVED),
                           start_thread(send_to_name, (void *)OTHER),
                           start_thread(send_by_shared, NULL),
                           start_thread(make_names, NULL),
                           start_thread(make_ports, NULL)};
    long forks = 0;
    for (int status; now() < end || forks == 0; forks++) {
        pid_t child = fork();
        if (child == 0)
            use_in_child(local);
        require(waitpid(child, &status, 0) == child);
        if (status != 0)
            fail("child %ld: %#x", forks, status);
    }
    over = true;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) {
        kill(helpers[i], SIGKILL);
        waitpid(helpers[i], NULL, 0);
    }
    printf("%ld forks, %ld requests\n", forks, answers);
    remove_directory(directory);
    return 0;
}
