/* Each allocation of a server and of a group of streams fails in turn, alone or with all that follow: nothing is lost. */
#include "memory.h"

#include <sys/socket.h>

static int calls;
static bool is_open, is_set_up;

/* An error is told only for want of memory. */
static void serve(RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    calls += (int)event->length;
    if (event->type == kRLStreamEventHasBytesAvailable)
        return;
    require(event->type == kRLStreamEventEndEncountered || (event->error == ENOMEM && failures > 0));
    RLStreamClose(stream);
}
static void accepted(UNUSED RLListenerRef server, RLStreamRef stream, UNUSED void *info)
{
    is_open = true;
    is_set_up = RLStreamSetReadDelimiter(stream, "\n", 1, 100);
}

/* With memory again. A connection that did not become a stream is closed by then. */
static void free_server(RLListenerRef server, int client)
{
    armed = false;
    RLListenerClose(server);
    RLRelease(server);
    errno = 0;
    if (!is_open)
        require(recv(client, (char[1]){0}, 1, 0) <= 0 && errno != EAGAIN);
}

/* The connection of a client becomes a stream, or it is closed. */
static bool use_server(void)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    char name[32];
    snprintf(name, sizeof name, "@runloop-%d", getpid());
    RLListenerRef server = MADE(RLServerCreateWithPath(NULL, name, accepted, serve, &context));
    calls = 0;
    is_open = is_set_up = false;
    if (server == NULL) {
        armed = false;
        return false;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server, kRLRunLoopDefaultMode);
    int client = connect_to(server);
    require(write(client, "hello\n", 6) == 6);
    run_passes();
    bool works = is_set_up && calls == 6;
    free_server(server, client);
    shutdown(client, SHUT_WR);
    run_passes();
    close(client);
    return works;
}

static bool is_in(RLRunLoopSourceRef source, RLRunLoopMode mode)
{
    return RLRunLoopContainsSource(RLRunLoopGetCurrent(), source, mode);
}
static void check_modes(RLListenerRef server, RLStreamRef stream, UNUSED void *info)
{
    require(is_in(server, kRLRunLoopCommonModes) && is_in(server, RLSTR("other")));
    require(is_in(stream, kRLRunLoopCommonModes) && is_in(stream, RLSTR("other")));
    require(is_in(stream, kRLRunLoopDefaultMode));
    require(RLStreamWrite(stream, NULL, 0)); /* has not failed */
    is_open = true;
}

/* A connection becomes a stream in all modes that the server is in, or it is closed. Only the loop's pass runs out of memory. */
static bool use_modes(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    char name[32];
    snprintf(name, sizeof name, "@runloop-%d", getpid());
    bool fails = armed;
    armed = false;
    RLListenerRef server = RLServerCreateWithPath(NULL, name, check_modes, serve, &context);
    RLRunLoopAddSource(loop, server, kRLRunLoopCommonModes);
    RLRunLoopAddSource(loop, server, RLSTR("other"));
    int client = connect_to(server);
    is_open = false;
    armed = fails;
    run_passes();
    free_server(server, client);
    close(client);
    run_passes();
    return is_open;
}

/* A member that misses something has failed. */
static bool use_group(void)
{
    static uint8_t bytes[300000];
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLStreamGroupRef group = MADE(RLStreamGroupCreate(NULL));
    RLStreamRef members[2];
    int peers[2];
    RLIndex joined = 0, refused = 0;
    for (int i = 0; i < 2; i++) {
        int pair[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
        peers[i] = pair[1];
        members[i] = MADE(RLStreamCreate(NULL, pair[0], 1, serve, &context));
        if (members[i] == NULL) {
            close(pair[0]);
            continue;
        }
        RLRunLoopAddSource(RLRunLoopGetCurrent(), members[i], kRLRunLoopDefaultMode);
        RLStreamSetHighWaterMark(members[i], 1 << 20);
        if (group == NULL)
            continue;
        errno = 0;
        RLIndex now = RLStreamGroupAdd(group, members[i]);
        require(now == joined + 1 || (now == 0 && errno == ENOMEM && failures > 0));
        joined = now > 0 ? now : joined;
        require(now == 0 || RLStreamGroupAdd(group, members[i]) == now); /* is a member already */
    }
    bool works = joined == 2;
    if (group != NULL) {
        RLStreamGroupWrite(group, bytes, sizeof bytes, NULL);
        RLIndex taken = RLStreamGroupWrite(group, bytes, sizeof bytes, NULL); /* waits behind the first */
        for (int i = 0; i < 2; i++)
            refused +=
                members[i] != NULL && RLStreamGroupRemove(group, members[i]) && !RLStreamWrite(members[i], "", 0);
        require(taken == joined - refused);
        works &= taken == 2;
    }
    run_passes();
    armed = false;
    run_passes();
    for (int i = 0; i < 2; i++) {
        if (members[i] != NULL) {
            RLStreamClose(members[i]);
            RLRelease(members[i]);
        }
        close(peers[i]);
    }
    if (group != NULL) {
        require(RLStreamGroupGetCount(group) == 0);
        RLRelease(group);
    }
    return works;
}

static bool (*const uses[])(void) = {use_server, use_modes, use_group};

START_TEST(whatever_allocation_fails) { try_without_memory(uses[_i / 2], _i % 2); }
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("memory of servers");
    TCase *all = add_case(suite, "memory of servers", 60);
    tcase_add_loop_test(all, whatever_allocation_fails, 0, 2 * (int)(sizeof uses / sizeof *uses));
    return suite;
}
