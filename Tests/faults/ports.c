/* Message ports without memory: a client uses a server in another process in every way, over several connections in
 * turn.
 *
 *     ports client|server N     the Nth allocation of that process fails, once it serves or has begun to send requests
 *
 * Exit status 0: every request had one of the six results, in time, and everything works afterwards; 4: there was no
 * such allocation. */
#include "../own-directory.h"
#include "faults.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#define MODE kRLRunLoopDefaultMode

enum {
    rounds = 3,
    small = 64,
    large = 100000,
    one_way = 40,
    ask_for_much = 1,
    end_failures,
    stay_silent,
    nothing_failed
};

static bool armed;
static long allocations, fail_at;

static bool must_fail(void)
{
    if (!armed || ++allocations != fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

#include "failing-memory.h"

/* ---- the server ---- */

static RLDataRef data_of(int size)
{
    static uint8_t bytes[large];
    bool was_armed = armed;
    armed = false;
    RLDataRef data = RLDataCreate(NULL, bytes, size);
    CHECK(data != NULL);
    armed = was_armed;
    return data;
}

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    static RLMessagePortRequestRef kept;
    (void)info;
    if (id == end_failures)
        armed = false;
    if (id == stay_silent) {
        if (kept)
            RLRelease(kept);
        kept = RLMessagePortCopyRequest(local);
    }
    return id == ask_for_much ? data_of(large) : RLRetain(data);
}

static void serve(RLStringRef name, bool fails, int ready)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    CHECK(port != NULL && source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRunLoopRunInMode(MODE, 0, false);
    CHECK(write(ready, "x", 1) == 1);
    armed = fails;
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    for (;;)
        RLRunLoopRunInMode(MODE, 1e10, false);
}

/* ---- the client ---- */

static bool in_client;
static int failed, pending;

static bool note(int32_t result)
{
    CHECK(result <= kRLMessagePortSuccess && result >= kRLMessagePortBecameInvalidError);
    failed += result != kRLMessagePortSuccess;
    return result == kRLMessagePortSuccess;
}

static void ask(RLMessagePortRef remote, int32_t id, int size, RLRunLoopMode mode)
{
    RLDataRef data = data_of(size), reply = NULL;
    if (note(RLMessagePortSendRequest(remote, id, data, 1e10, 1e10, mode, &reply)) && mode) {
        CHECK(reply != NULL && RLDataGetLength(reply) == (id == ask_for_much ? large : size));
        RLRelease(reply);
    }
    RLRelease(data);
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

static void told(RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info)
{
    (void)remote, (void)reply, (void)info;
    if (result != kRLMessagePortReceiveTimeout)
        note(result);
    pending--;
}

static void ask_in_vain(RLMessagePortRef remote)
{
    if (note(RLMessagePortSendRequestAsync(remote, stay_silent, NULL, 1e10, 0.001, MODE, told, NULL)))
        pending++;
    while (pending > 0)
        RLRunLoopRunInMode(MODE, 1e10, true);
}

static void ask_in_every_way(RLMessagePortRef remote)
{
    for (int i = 0; i < 3; i++) {
        ask(remote, 0, small, MODE);
        ask(remote, 0, small, kRLMessagePortPrivateReplyMode);
        ask(remote, 0, large, MODE);
        ask(remote, ask_for_much, small, MODE);
        send_async(remote, small);
        send_async(remote, large);
        while (pending > 0)
            RLRunLoopRunInMode(MODE, 0.01, true);
    }
    ask_in_vain(remote);
    for (int i = 0; i < one_way; i++)
        ask(remote, 0, small, NULL);
    ask(remote, 0, large, NULL);
}

/* The error handler: a server without memory reports which client it disconnects. */
static void say_nothing_else(const char *message, void *info)
{
    if (strstr(message, "was disconnected: no memory") == NULL)
        no_mistake(message, info);
}

/* Finds the server. Only memory can be missing, and only once: a server without memory disconnects. */
static RLMessagePortRef find_server(RLStringRef name)
{
    errno = 0;
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    CHECK(remote != NULL || errno == (in_client ? ENOMEM : ECONNREFUSED));
    if (!remote)
        remote = RLMessagePortCreateRemote(NULL, name);
    CHECK(remote != NULL);
    return remote;
}

int main(int argc, char **argv)
{
    char directory[OWN_DIRECTORY_SIZE], byte;
    int ends[2];
    CHECK(argc == 3);
    in_client = strcmp(argv[1], "client") == 0;
    fail_at = atol(argv[2]);
    alarm(60);
    RLSetErrorHandler(say_nothing_else, NULL);
    RLStringRef name = RLStringCreateWithCString(NULL, "faults", kRLStringEncodingUTF8);
    make_directory_for_names(directory);
    CHECK(pipe(ends) == 0);
    pid_t server = fork();
    if (server == 0)
        serve(name, !in_client, ends[1]);
    CHECK(server > 0 && read(ends[0], &byte, 1) == 1);
    CHECK(RLRunLoopGetCurrent() != NULL);
    armed = in_client;
    for (int round = 0; round < rounds; round++) {
        RLMessagePortRef remote = find_server(name);
        ask_in_every_way(remote);
        RLRelease(remote);
    }
    armed = false;
    bool was_reached = allocations >= fail_at || (!in_client && failed > 0);
    for (failed = 1; failed > 0;) {
        failed = 0;
        RLMessagePortRef remote = find_server(name);
        ask(remote, end_failures, 0, MODE);
        RLRelease(remote);
    }
    RLMessagePortRef remote = find_server(name);
    ask_in_every_way(remote);
    CHECK(failed == 0);
    RLRelease(remote);
    CHECK(kill(server, SIGKILL) == 0 && waitpid(server, NULL, 0) == server);
    RLMessagePortRef again = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    CHECK(again != NULL);
    RLMessagePortInvalidate(again);
    RLRelease(again);
    CHECK(rmdir(directory) == 0);
    return was_reached ? 0 : nothing_failed;
}
