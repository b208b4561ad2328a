/* Message ports whose system calls fail (strace injects the failures): a client in this process, and its server in a
 * child process.
 *
 *     port-calls SCENARIO [SECONDS]    SECONDS: time limit after which the program counts as hanging
 *
 * Prints the results of the requests, and the diagnostics of both processes. */
#include "../own-directory.h"
#include "faults.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#define MODE kRLRunLoopDefaultMode

enum { small = 64, large = 100000, huge = 400000, ask_for_much = 1, tell_count, counted };

static int heard[2];    /* a pipe: the server writes the ID of each request that it counts */
static int counts[100]; /* for each ID from `counted` on */

static RLDataRef data_of(int size)
{
    static uint8_t bytes[huge];
    RLDataRef data = RLDataCreate(NULL, bytes, size);
    CHECK(data != NULL);
    return data;
}

static void say(const char *message, void *info)
{
    (void)info;
    dprintf(1, "%s\n", message);
}

/* ---- the server ---- */

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    (void)local, (void)info;
    if (id >= counted) {
        counts[id - counted]++;
        CHECK(write(heard[1], &id, sizeof id) == sizeof id);
        return NULL;
    }
    if (id == tell_count)
        return RLDataCreate(NULL, (const uint8_t *)&counts[RLDataGetLength(data)], sizeof *counts);
    return id == ask_for_much ? data_of(large) : RLRetain(data);
}

static RLStringRef name;

static void serve(int ready)
{
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    /* strace counts calls per process. The faults begin after 20 calls, to spare the client's loader: make 20 here. */
    for (int i = 0; i < 20; i++)
        munmap(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1);
    RLMessagePortRef port = NULL;
    for (int i = 0; i < 10 && !port; i++)
        port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    CHECK(port != NULL && source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    CHECK(write(ready, "x", 1) == 1);
    for (;;)
        RLRunLoopRunInMode(MODE, 1e10, false);
}

/* ---- the client ---- */

static int failed, pending;

static bool note(int32_t result)
{
    CHECK(result <= kRLMessagePortSuccess && result >= kRLMessagePortBecameInvalidError);
    failed += result != kRLMessagePortSuccess;
    return result == kRLMessagePortSuccess;
}

static RLMessagePortRef find_server(void)
{
    RLMessagePortRef remote = NULL;
    for (int i = 0; i < 10 && !remote; i++)
        remote = RLMessagePortCreateRemote(NULL, name);
    CHECK(remote != NULL);
    return remote;
}

/* Returns the number in the reply, or -1 if there is none. */
static int ask(RLMessagePortRef remote, int32_t id, int size, RLRunLoopMode mode)
{
    RLDataRef data = data_of(size), reply = NULL;
    int number = 0;
    if (!note(RLMessagePortSendRequest(remote, id, data, 1e10, 1e10, mode, &reply))) {
        number = -1;
    } else if (reply) {
        int expected = id == tell_count ? (int)sizeof number : id == ask_for_much ? large : size;
        CHECK(RLDataGetLength(reply) == expected);
        if (id == tell_count)
            memcpy(&number, RLDataGetBytePtr(reply), sizeof number);
        RLRelease(reply);
    }
    RLRelease(data);
    return number;
}

static void replied(RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info)
{
    (void)remote, (void)reply, (void)info;
    note(result);
    pending--;
}

static void send_async(RLMessagePortRef remote, int size)
{
    RLDataRef data = data_of(size);
    if (note(RLMessagePortSendRequestAsync(remote, 0, data, 1e10, 1e10, MODE, replied, NULL)))
        pending++;
    RLRelease(data);
}

static int send_one_way(RLMessagePortRef remote, int32_t id, int times)
{
    int sent = 0;
    for (int i = 0; i < times; i++)
        sent += ask(remote, id, small, NULL) == 0;
    return sent;
}

/* Whatever fails, each request has one of the six results, and no one-way request is lost while the connection
 * lasts. */
static void ask_in_every_way(RLMessagePortRef remote)
{
    static int connection;
    int32_t id = counted + connection++;
    for (int i = 0; i < 3; i++) {
        ask(remote, 0, small, MODE);
        ask(remote, 0, small, kRLMessagePortPrivateReplyMode);
        ask(remote, 0, large, MODE);
        ask(remote, 0, huge, MODE);
        ask(remote, ask_for_much, small, MODE);
        send_async(remote, small);
        send_async(remote, large);
        while (pending > 0)
            RLRunLoopRunInMode(MODE, 0.01, true);
    }
    int sent = send_one_way(remote, id, 40);
    sent += ask(remote, id, large, NULL) == 0;
    sent += send_one_way(remote, id, 40);
    int received = ask(remote, tell_count, id - counted, MODE);
    CHECK(received < 0 || received == sent);
}

static void everything(void)
{
    int all = 0;
    for (int i = 0; i < 12; i++) {
        failed = 0;
        RLMessagePortRef remote = find_server();
        ask_in_every_way(remote);
        RLRelease(remote);
        all += failed;
        if (i >= 3 && failed == 0)
            break;
    }
    printf("failed %d, then %d\n", all, failed);
}

static pid_t server;

/* Waits until the server sleeps. It has not slept since the last write, and does not until nothing is left to do. */
static void until_server_sleeps(void)
{
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", server);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL && fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
    }
}

/* Sends one-way requests, for each of which the server has to be woken. */
static void one_way(void)
{
    RLMessagePortRef remote = find_server();
    int delivered = 0, times[100] = {0};
    for (int32_t id = counted; id < counted + 60; id++) {
        RLDataRef data = data_of(small);
        int32_t result = RLMessagePortSendRequest(remote, id, data, 1e10, 0, NULL, NULL), last = 0;
        RLRelease(data);
        if (note(result)) {
            while (last != id)
                CHECK(read(heard[0], &last, sizeof last) == sizeof last && times[last - counted]++ == 0);
            until_server_sleeps();
            delivered++;
        } else if (!RLMessagePortIsValid(remote)) {
            RLRelease(remote);
            remote = find_server();
        }
    }
    RLRelease(remote);
    printf("all %d, failed %d\n", delivered + failed == 60, failed);
}

static void ask_once(int32_t id, int size, double send_limit, double limit)
{
    RLMessagePortRef remote = find_server();
    RLDataRef data = data_of(size);
    printf("result %d\n", RLMessagePortSendRequest(remote, id, data, send_limit, limit, MODE, NULL));
    RLRelease(data);
    RLRelease(remote);
}

static void ask_with_much(void) { ask_once(0, large, 0.1, 0.3); }
static void ask_for_much_soon(void) { ask_once(ask_for_much, 0, 1e10, 0.3); }

static void find(void)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    printf("%s\n", remote ? "found" : strerror(errno));
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"everything", everything},          {"one-way", one_way}, {"ask-with-much", ask_with_much},
    {"ask-for-much", ask_for_much_soon}, {"find", find},
};

int main(int argc, char **argv)
{
    char directory[OWN_DIRECTORY_SIZE], byte;
    int ends[2];
    alarm(argc > 2 ? (unsigned)atoi(argv[2]) : 30);
    RLSetErrorHandler(say, NULL);
    name = RLStringCreateWithCString(NULL, "faults", kRLStringEncodingUTF8);
    make_directory_for_names(directory);
    CHECK(pipe(ends) == 0 && pipe(heard) == 0);
    CHECK(fcntl(heard[1], F_SETPIPE_SZ, 1 << 16) > 0);
    server = fork();
    if (server == 0)
        serve(ends[1]);
    CHECK(server > 0 && read(ends[0], &byte, 1) == 1);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
            scenarios[i].run();
    }
    fflush(stdout);
    CHECK(kill(server, SIGKILL) == 0);
    RLMessagePortRef again = NULL;
    while (!again)
        again = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    RLMessagePortInvalidate(again);
    RLRelease(again);
    CHECK(rmdir(directory) == 0);
    return 0;
}
