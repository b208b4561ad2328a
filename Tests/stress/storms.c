/* storms SECONDS [CLIENTS]: servers and clients are killed, stopped and continued at random. Every reply that
 * arrives is correct, clients of an undisturbed process are unaffected, and afterwards both servers answer again. */
#include "stress.h"

enum { SERVERS = 2, MOST = 16 };
/* Time limits of a request. */
static const double send_limit = 0.05, reply_limit = 0.2;
static const char *const server_names[SERVERS] = {"first", "second"};

/* ---- A server: echoes, some of it later ---- */

static RLMessagePortRequestRef waiting;

static void answer_waiting(void)
{
    if (waiting == NULL)
        return;
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"late", 4);
    RLMessagePortRequestReply(waiting, data);
    RLRelease(data);
    RLRelease(waiting);
    waiting = NULL;
}

static RLDataRef echo(RLMessagePortRef port, int32_t id, RLDataRef data, UNUSED void *info)
{
    answer_waiting();
    if (id % 16 == 1)
        waiting = RLMessagePortCopyRequest(port);
    return (RLDataRef)RLRetain(data);
}

static void serve(int which)
{
    RLStringRef name = RLStringCreateWithCString(NULL, server_names[which], kRLStringEncodingASCII);
    RLMessagePortRef port;
    double begin = now();
    while ((port = RLMessagePortCreateLocal(NULL, name, echo, NULL, NULL)) == NULL) {
        if (errno != EADDRINUSE || now() > begin + PATIENCE)
            fail("no name for a server: %s", strerror(errno));
        usleep(1000);
    }
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    fail("a server's run ended");
}

/* ---- A client ---- */

static RLMessagePortRef connect_to(int which)
{
    RLStringRef name = RLStringCreateWithCString(NULL, server_names[which], kRLStringEncodingASCII);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    RLRelease(name);
    return remote;
}

static void check_reply(RLDataRef reply, RLDataRef data)
{
    static const char late[] = "late";
    if (reply == NULL ||
        (!RLEqual(reply, data) && (RLDataGetLength(reply) != 4 || memcmp(RLDataGetBytePtr(reply), late, 4) != 0)))
        fail("a wrong reply of %ld bytes", reply == NULL ? -1 : RLDataGetLength(reply));
    RLRelease(reply);
}

/* Sends one request, small or large, with or without a reply. */
static int32_t ask(RLMessagePortRef remote, uint64_t *dice, int32_t id)
{
    static uint8_t bytes[200000];
    RLIndex length = roll(dice, 8) == 0 ? 1 + roll(dice, sizeof bytes) : 1 + roll(dice, 100);
    memset(bytes, id & 0xff, (size_t)length);
    RLDataRef data = RLDataCreate(NULL, bytes, length), reply = NULL;
    bool wants_reply = roll(dice, 4) != 0;
    int32_t result = RLMessagePortSendRequest(remote, id, data, send_limit, reply_limit,
                                              wants_reply ? kRLRunLoopDefaultMode : NULL, &reply);
    if (wants_reply && result == kRLMessagePortSuccess)
        check_reply(reply, data);
    RLRelease(data);
    return result;
}

static void be_client(uint64_t dice)
{
    RLMessagePortRef remotes[SERVERS] = {NULL};
    for (int32_t id = 0;; id++) {
        int which = (int)roll(&dice, SERVERS);
        if (remotes[which] != NULL && !RLMessagePortIsValid(remotes[which])) {
            RLRelease(remotes[which]);
            remotes[which] = NULL;
        }
        if (remotes[which] == NULL && (remotes[which] = connect_to(which)) == NULL) {
            if (errno != ECONNREFUSED && errno != EAGAIN)
                fail("no connection: %s", strerror(errno));
            usleep(500);
            continue;
        }
        ask(remotes[which], &dice, id);
    }
}

/* ---- The storm ---- */

static pid_t start(int index)
{
    pid_t child = fork();
    require(child >= 0);
    if (child != 0)
        return child;
    if (index < SERVERS)
        serve(index);
    be_client((uint64_t)getpid());
    _exit(0);
}

static void reap(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0)
        require(errno == EINTR);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail("a process ended with status %x", status);
}

/* Checks both servers, with new connections. */
static void check_that_all_is_well(void)
{
    for (int which = 0; which < SERVERS; which++) {
        uint64_t dice = 7;
        double limit = now() + PATIENCE;
        for (bool is_answered = false; !is_answered;) {
            RLMessagePortRef remote = connect_to(which);
            if (remote != NULL) {
                RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"well?", 5), reply = NULL;
                if (RLMessagePortSendRequest(remote, 0, data, 1, 1, kRLMessagePortPrivateReplyMode, &reply) == 0) {
                    check_reply(reply, data);
                    is_answered = true;
                }
                RLRelease(data);
                RLRelease(remote);
            }
            if (now() > limit)
                fail("the server %s does not answer when the storm is over", server_names[which]);
            usleep(roll(&dice, 1000));
        }
    }
}

/* An undisturbed pair, whose server is this process, must be correct all the time. */
static atomic_bool is_over;
static RLRunLoopRef quiet_loop;

static void *serve_quietly(void *ready)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("quiet"), echo, NULL, NULL);
    require(port != NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    quiet_loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    RLRunLoopAddSource(quiet_loop, source, kRLRunLoopDefaultMode);
    RLRelease(source);
    sem_post(ready);
    while (!is_over)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    answer_waiting();
    RLMessagePortInvalidate(port);
    RLRelease(port);
    return NULL;
}

static void *ask_quietly(UNUSED void *unused)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("quiet"));
    require(remote != NULL);
    for (int32_t id = 2; !is_over; id += 16) { /* ids that are answered immediately */
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)&id, sizeof id), reply = NULL;
        int32_t result = RLMessagePortSendRequest(remote, id, data, PATIENCE, PATIENCE, kRLRunLoopDefaultMode, &reply);
        if (result != kRLMessagePortSuccess)
            fail("a request within the process ended with %d", result);
        check_reply(reply, data);
        RLRelease(data);
        usleep(500);
    }
    RLRelease(remote);
    return NULL;
}

int main(int count, char **arguments)
{
    char directory[OWN_DIRECTORY_SIZE];
    double end = now() + (count > 1 ? atof(arguments[1]) : 10);
    int clients = count > 2 ? atoi(arguments[2]) : 3, all = clients + SERVERS;
    pid_t children[MOST];
    uint64_t dice = 1;
    require(clients >= 1 && all <= MOST);
    make_directory_for_names(directory);
    for (int index = 0; index < all; index++)
        children[index] = start(index);
    sem_t ready;
    sem_init(&ready, 0, 0);
    pthread_t server = start_thread(serve_quietly, &ready);
    while (sem_wait(&ready) != 0)
        continue;
    pthread_t client = start_thread(ask_quietly, NULL);
    long kills = 0, stops = 0;
    while (now() < end) {
        int status;
        unsigned victim = roll(&dice, (unsigned)all), kind = roll(&dice, 4);
        if (waitpid(-1, &status, WNOHANG) > 0)
            fail("a process ended by itself with status %x", status);
        if (kind == 0) {
            reap(children[victim]);
            children[victim] = start((int)victim);
            kills++;
        } else {
            kill(children[victim], kind == 1 ? SIGSTOP : SIGCONT);
            stops += kind == 1;
        }
        usleep(roll(&dice, 15000));
    }
    for (int index = 0; index < all; index++)
        kill(children[index], SIGCONT);
    check_that_all_is_well();
    for (int index = 0; index < all; index++)
        reap(children[index]);
    is_over = true;
    RLRunLoopWakeUp(quiet_loop);
    pthread_join(client, NULL);
    pthread_join(server, NULL);
    RLRelease(quiet_loop);
    printf("%ld kills, %ld stops\n", kills, stops);
    remove_directory(directory);
    return 0;
}
