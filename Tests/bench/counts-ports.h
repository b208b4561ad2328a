/*
 * counts-ports.h -- operations for counts.c: messages within the process, and requests between two processes. The other
 * process is not counted.
 */
#include "../own-directory.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { REQUESTS = 500 };
static RLPortRef port;
static RLPortMessageRef message;
static long handled;

/* ---- ports ------------------------------------------------------------------------------------------- */

static void send_message(void) { CHECK(RLPortMessageSendBeforeDate(message, 1e12)); }

static void answer_oneself(RLPortRef receiver, RLPortMessageRef received, void *info)
{
    (void)receiver, (void)received, (void)info;
    handled++;
    if (handled == WARM)
        begin();
    if (handled == WARM + PASSES) {
        end(PASSES, 0);
        RLRunLoopStop(loop);
        return;
    }
    send_message();
}

/* One message in flight, in one thread. */
static void port_message(void)
{
    prepare_loop();
    port = RLPortCreate(NULL, answer_oneself, NULL, NULL);
    RLRunLoopSourceRef port_source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(loop, port_source, kRLRunLoopDefaultMode);
    message = RLPortMessageCreate(NULL, port, NULL, NULL);
    send_message();
    RLRunLoopRun();
    CHECK(handled == WARM + PASSES);
}

/* ---- message ports ----------------------------------------------------------------------------------- */

static char directory[OWN_DIRECTORY_SIZE];
static pid_t partner;
static size_t request_size;

static RLDataRef echo(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    (void)local, (void)id, (void)info;
    if (partner != 0) { /* this is the counted process */
        handled++;
        if (handled == REQUESTS)
            begin();
        if (handled == 2 * REQUESTS) {
            end(REQUESTS, 0);
            RLRunLoopStop(loop);
        }
    }
    return RLRetain(data);
}

static void serve_requests(void)
{
    loop = RLRunLoopGetCurrent();
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, RLSTR("counts"), echo, NULL, NULL);
    CHECK(local != NULL);
    RLRunLoopAddSource(loop, RLMessagePortCreateRunLoopSource(NULL, local, 0), kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

static void send_requests(void)
{
    RLMessagePortRef remote = NULL;
    while (remote == NULL)
        remote = RLMessagePortCreateRemote(NULL, RLSTR("counts"));
    uint8_t *bytes = calloc(1, request_size);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)request_size);
    for (int round = 0; round < 2 * REQUESTS; round++) {
        RLDataRef reply = NULL;
        if (round == REQUESTS && partner != 0)
            begin();
        CHECK(RLMessagePortSendRequest(remote, 1, data, 10, 10, kRLMessagePortPrivateReplyMode, &reply) == 0);
        CHECK(RLDataGetLength(reply) == (RLIndex)request_size);
        RLRelease(reply);
    }
    if (partner != 0)
        end(REQUESTS, 0);
}

static void between_processes(void (*ours)(void), void (*theirs)(void))
{
    make_directory_for_names(directory);
    partner = fork();
    CHECK(partner >= 0);
    if (partner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        theirs();
        _exit(0);
    }
    mark("thread loop");
    ours();
    kill(partner, SIGKILL);
    waitpid(partner, NULL, 0);
    remove_directory(directory);
}

static void message_ask(void)
{
    request_size = 64;
    between_processes(send_requests, serve_requests);
}

static void message_ask_large(void)
{
    request_size = 1 << 20;
    between_processes(send_requests, serve_requests);
}

static void message_serve(void)
{
    request_size = 64;
    between_processes(serve_requests, send_requests);
}

/* ---- one way, to a server that falls behind: messages wait in memory shared by both, once the server has created
 * it ---- */

enum { FIRST_ONE_WAY = 160, ONE_WAY = 1280 };

static RLDataRef stop_when_asked(RLMessagePortRef local, int32_t message, RLDataRef data, void *info)
{
    (void)local, (void)info;
    if (message == 2)
        RLRunLoopStop(RLRunLoopGetCurrent());
    return message == 2 ? RLRetain(data) : NULL;
}

static void receive_some(void)
{
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, RLSTR("counts"), stop_when_asked, NULL, NULL);
    CHECK(local != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, local, 0), kRLRunLoopDefaultMode);
    RLRunLoopRun();
    pause();
}

static void send_one_way(void)
{
    RLMessagePortRef remote = NULL;
    while (remote == NULL)
        remote = RLMessagePortCreateRemote(NULL, RLSTR("counts"));
    RLDataRef data = RLDataCreate(NULL, (const uint8_t[64]) { 0 }, 64);
    for (int round = 0; round < FIRST_ONE_WAY; round++)
        CHECK(RLMessagePortSendRequest(remote, 1, data, 10, 0, NULL, NULL) == 0);
    CHECK(RLMessagePortSendRequest(remote, 2, data, 10, 10, kRLMessagePortPrivateReplyMode, NULL) == 0);
    if (partner != 0)
        begin();
    for (int round = 0; round < ONE_WAY; round++)
        CHECK(RLMessagePortSendRequest(remote, 1, data, 10, 0, NULL, NULL) == 0);
    if (partner != 0)
        end(ONE_WAY, 0);
}

static void message_send(void) { between_processes(send_one_way, receive_some); }

/* ---- one way, to a server that runs its loop once for each, or once for all ---- */

static int has_sent[2], received;
static bool in_one_run;

static RLDataRef count_request(RLMessagePortRef local, int32_t message, RLDataRef data, void *info)
{
    (void)local, (void)message, (void)info;
    received++;
    if (in_one_run && received == FIRST_ONE_WAY + 1 + ONE_WAY)
        RLRunLoopStop(RLRunLoopGetCurrent());
    return RLRetain(data);
}

static void receive_one(void)
{
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1) == kRLRunLoopRunHandledSource);
}

static void receive_one_by_one(void)
{
    char byte;
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, RLSTR("counts"), count_request, NULL, NULL);
    CHECK(local != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, local, 0), kRLRunLoopDefaultMode);
    while (received < FIRST_ONE_WAY + 1)
        receive_one();
    CHECK(read(has_sent[0], &byte, 1) == 1);
    begin();
    for (int round = 0; round < ONE_WAY && !in_one_run; round++)
        receive_one();
    if (in_one_run)
        RLRunLoopRun();
    end(ONE_WAY, 0);
}

static void send_and_tell(void)
{
    send_one_way();
    CHECK(write(has_sent[1], "s", 1) == 1);
    pause();
}

static void message_receive(void)
{
    CHECK(pipe(has_sent) == 0);
    between_processes(receive_one_by_one, send_and_tell);
}

static void message_receive_all(void)
{
    in_one_run = true;
    message_receive();
}
