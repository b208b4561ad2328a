/* users.c - a service for other users of the machine: the server admits them, and a client states which user it
 * trusts.
 *
 * Message ports of two users meet in a directory created for this purpose. Here the program creates it. If root runs
 * the program, the client becomes the user nobody; otherwise both are the same user, and the calls are the same. */
#define _DEFAULT_SOURCE
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* ---- The client, in its own process ---- */

static int run_client(uid_t server)
{
    RLStringRef name = RLSTR("com.example.clock");
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;

    /* Another user might have claimed the name, so the client checks which user serves it. */
    if (RLMessagePortCreateRemoteOfUser(NULL, name, server + 1) == NULL)
        printf("client: the wrong user to trust: %s\n", strerror(errno));
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, name, server);
    if (port == NULL) {
        perror("client: nobody to ask");
        return 1;
    }
    RLDataRef reply = NULL;
    if (RLMessagePortSendRequest(port, 1, NULL, 1, 10, kRLRunLoopDefaultMode, &reply) == kRLMessagePortSuccess)
        printf("client: the server says: %.*s\n", (int)RLDataGetLength(reply), (const char *)RLDataGetBytePtr(reply));
    int ok = reply != NULL;
    if (ok)
        RLRelease(reply);
    RLRelease(port);
    fflush(stdout);
    return ok ? 0 : 1;
}

/* ---- the server ---- */

static RLDataRef tell(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info)
{
    const uid_t *expected = info;
    unsigned user;
    (void)msgid;
    (void)data;
    if (!RLMessagePortGetPeerCredentials(local, NULL, &user, NULL) || user != *expected)
        return NULL; /* admitted, but not served */
    const char *text = "it is late";
    return RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text));
}

static void client_ended(RLFileDescriptorRef descriptor, RLOptionFlags types, void *info)
{
    (void)descriptor, (void)types, (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static RLMessagePortRef make_port(uid_t *client)
{
    RLMessagePortContext context = {.info = client};
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NULL, tell, &context, NULL);
    /* First the permission, then the name: so no client finds the port without the permission. */
    if (port == NULL || !RLMessagePortSetAllowsOtherUsers(port, 1) ||
        !RLMessagePortSetName(port, RLSTR("com.example.clock"))) {
        perror("server: no port");
        exit(1);
    }
    printf("server: other users may connect: %s\n", RLMessagePortAllowsOtherUsers(port) ? "yes" : "no");
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    return port;
}

int main(void)
{
    char path[] = "/tmp/users-XXXXXX";
    uid_t server = geteuid(), client = server == 0 ? NOBODY : server;
    int alive[2], status;
    const char *directory = mkdtemp(path);
    /* Only this user can create files in it, but others can enter it. An administrator would create it, such as
     * /run/clock. */
    if (directory == NULL || chmod(directory, 0755) != 0 || setenv("RUNLOOP_PORT_DIR", directory, 1) != 0 ||
        pipe(alive) != 0) {
        perror("users: directory");
        return 1;
    }
    RLMessagePortRef port = make_port(&client);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(run_client(server));

    /* The other end of the pipe is closed when the client exits. */
    close(alive[1]);
    RLFileDescriptorRef end = RLFileDescriptorCreate(NULL, alive[0], 1, client_ended, NULL);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, end, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(end, kRLFileDescriptorReadCallBack);
    RLRunLoopRun();
    waitpid(child, &status, 0);

    RLFileDescriptorInvalidate(end);
    RLRelease(end);
    RLMessagePortInvalidate(port);
    RLRelease(port);
    printf("server: nothing is left in the directory: %s\n", rmdir(directory) == 0 ? "yes" : "no");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
