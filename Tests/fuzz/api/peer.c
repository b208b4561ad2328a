/* A second process that serves a name, and sends requests to the fuzzer's names. It exits with the fuzzer. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static pid_t peer;
static int to_peer = -1, from_peer = -1;

/* ---- In the peer ---- */

static RLDataRef echo(UNUSED RLMessagePortRef port, UNUSED int32_t msgid, RLDataRef data, UNUSED void *info)
{
    return (RLDataRef)RLRetain(data);
}

static void hear(UNUSED RLMessagePortRef remote, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info) {}

static void ask_the_fuzzer(UNUSED RLRunLoopTimerRef timer, void *count)
{
    static const char *const names[] = {"one", "two", "three"};
    RLStringRef name = RLStringCreateWithCString(NULL, names[++*(unsigned *)count % 3], kRLStringEncodingASCII);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
    RLRelease(name);
    if (remote == NULL)
        return;
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"from the peer", 13);
    RLMessagePortSendRequest(remote, 1, data, 0, 0, NULL, NULL);
    RLMessagePortSendRequestAsync(remote, 2, data, 0, 0.01, kRLRunLoopDefaultMode, hear, NULL);
    RLRelease(data);
    RLRelease(remote);
}

static int standard_input(UNUSED void *info) { return 0; }
static void end(UNUSED void *info) { _exit(0); }

int serve_as_peer(const char *directory)
{
    unsigned count = 0;
    setenv("RUNLOOP_PORT_DIR", directory, 1);
    RLRunLoopSourceContext1 context = {.version = 1, .getPort = standard_input, .perform = end};
    RLRunLoopTimerContext asking = {.info = &count};
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("peer"), echo, NULL, NULL);
    check(port != NULL, "the peer has no port: %s", strerror(errno));
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopSourceRef input = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), input, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 2e-3, 0, 0, ask_the_fuzzer, &asking);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    check(write(1, "r", 1) == 1, "nobody waits for the peer");
    RLRunLoopRun();
    return 1;
}

/* ---- In the fuzzer ---- */

void start_peer(void)
{
    int in[2], out[2];
    char option[300], ready;
    check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "no pipes");
    snprintf(option, sizeof option, "--serve=%s", getenv("RUNLOOP_PORT_DIR"));
    char *arguments[] = {"api", option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    check(posix_spawn(&peer, program, &actions, NULL, arguments, environ) == 0, "no peer");
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_peer = in[1];
    from_peer = out[0];
    check(read(from_peer, &ready, 1) == 1, "the peer does not start");
}

void stop_peer(void)
{
    int status = 0;
    close(to_peer);
    while (waitpid(peer, &status, 0) < 0 && errno == EINTR)
        continue;
    close(from_peer);
    check(status == 0, "the peer ended with status %x", status);
}
