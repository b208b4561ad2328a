/* Ports whose sources are added to modes of a loop, or that have messages to deliver, while there is no memory.
 *
 *     places adding|gathering|delivering N COUNT    the Nth allocation of the loop's thread and the next ones, COUNT in all, fail
 *                                                   while it adds sources to a mode before that is run, or to all modes before
 *                                                   any is run, or while it delivers
 *
 * Whatever fails, every sender is served in every mode: another thread, with either kind of port, and a client in
 * another process. Exit status 0: all was well; 4: there was no such allocation. */
#include "../own-directory.h"
#include "faults.h"

#include <sys/prctl.h>
#include <sys/wait.h>

enum { rounds = 10, messages = 300, nothing_failed = 4 };

static __thread bool armed;
static atomic_long allocations;
static long fail_at, fail_count;

static bool must_fail(void)
{
    if (!armed)
        return false;
    long number = atomic_fetch_add(&allocations, 1) + 1;
    if (number < fail_at || number >= fail_at + fail_count)
        return false;
    errno = ENOMEM;
    return true;
}

#include "failing-memory.h"

/* ---- the thread with the loop ---- */

static RLPortRef port;
static RLMessagePortRef local;
static RLRunLoopRef loop;
static RLRunLoopMode modes[rounds];
static atomic_int round_number, received;
static bool adds, gathers, delivers;

static void hear(RLPortRef receiver, RLPortMessageRef message, void *info)
{
    (void)receiver, (void)info;
    CHECK(RLPortMessageGetMessageID(message) == (uint32_t)received);
    RLRetain(message); /* so that the next one needs new memory */
    atomic_fetch_add(&received, 1);
}

static RLDataRef answer(RLMessagePortRef asked, int32_t id, RLDataRef data, void *info)
{
    (void)asked, (void)id, (void)info;
    return RLRetain(data);
}

/* Adds a source, as a program does that expects to run out of memory. */
static void add(RLRunLoopSourceRef source, RLRunLoopMode mode)
{
    do {
        errno = 0;
        armed = adds;
        RLRunLoopAddSource(loop, source, mode);
        armed = false;
        CHECK(RLRunLoopContainsSource(loop, source, mode) || errno == ENOMEM);
    } while (!RLRunLoopContainsSource(loop, source, mode));
}

static void *run(void *unused)
{
    loop = RLRunLoopGetCurrent();
    RLRunLoopSourceRef of_port = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopSourceRef of_local = RLMessagePortCreateRunLoopSource(NULL, local, 0);
    CHECK(loop != NULL && of_port != NULL && of_local != NULL);
    for (int i = 0, added = 0; i < rounds; i++) {
        for (; added <= (gathers ? rounds - 1 : i); added++) {
            add(of_port, modes[added]);
            add(of_local, modes[added]);
        }
        atomic_store(&round_number, i + 1);
        armed = delivers;
        CHECK(RLRunLoopRunInMode(modes[i], 1e10, false) == kRLRunLoopRunStopped);
        armed = false;
    }
    RLRelease(of_port);
    RLRelease(of_local);
    return unused;
}

/* ---- the senders ---- */

static void ask(RLMessagePortRef remote)
{
    CHECK(RLMessagePortSendRequest(remote, 0, NULL, 10, 10, kRLRunLoopDefaultMode, NULL) == kRLMessagePortSuccess);
}

static void be_client(RLStringRef name, int questions, int answers)
{
    RLMessagePortRef remote = NULL;
    char byte;
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    while (read(questions, &byte, 1) == 1) {
        if (!remote)
            remote = RLMessagePortCreateRemote(NULL, name);
        ask(remote);
        CHECK(write(answers, "x", 1) == 1);
    }
    _exit(0);
}

static void send_messages(int count)
{
    int before = received;
    for (int i = 0; i < count; i++) {
        RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
        CHECK(message != NULL);
        RLPortMessageSetMessageID(message, (uint32_t)(before + i));
        CHECK(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 10));
        RLRelease(message);
    }
    until(&received, before + count);
}

int main(int argc, char **argv)
{
    char directory[OWN_DIRECTORY_SIZE], byte;
    int questions[2], answers[2];
    CHECK(argc == 4);
    gathers = strcmp(argv[1], "gathering") == 0;
    adds = gathers || strcmp(argv[1], "adding") == 0;
    delivers = !adds;
    fail_at = atol(argv[2]);
    fail_count = atol(argv[3]);
    alarm(60);
    RLSetErrorHandler(no_mistake, NULL);
    RLStringRef name = RLStringCreateWithCString(NULL, "faults", kRLStringEncodingUTF8);
    make_directory_for_names(directory);
    CHECK(!pipe(questions) && !pipe(answers));
    pid_t client = fork();
    CHECK(client >= 0);
    if (client == 0)
        be_client(name, questions[0], answers[1]);
    for (int i = 0; i < rounds; i++)
        CHECK((modes[i] = RLStringCreateWithBytes(NULL, (uint8_t[]){(uint8_t)('a' + i)}, 1, kRLStringEncodingUTF8, 0)));
    port = RLPortCreate(NULL, hear, NULL, NULL);
    local = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    CHECK(port != NULL && local != NULL && remote != NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    for (int i = 1; i <= rounds; i++) {
        until(&round_number, i);
        until_asleep(loop);
        send_messages(1);
        if (delivers) {
            send_messages(messages);
        } else {
            until_asleep(loop);
            ask(remote);
            CHECK(write(questions[1], "x", 1) == 1 && read(answers[0], &byte, 1) == 1);
        }
        until_asleep(loop);
        RLRunLoopStop(loop);
    }
    CHECK(pthread_join(thread, NULL) == 0 && kill(client, SIGKILL) == 0 && waitpid(client, NULL, 0) == client);
    RLRelease(remote);
    RLMessagePortInvalidate(local);
    CHECK(rmdir(directory) == 0);
    return allocations >= fail_at ? 0 : nothing_failed;
}
