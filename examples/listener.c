/* listener.c - a server that listens on three addresses: a TCP port, a UNIX socket name, and an existing socket, as
 * systemd passes it. The server handles one client at a time; the others wait in the listeners' backlogs. */
#include <RunLoopKit/RunLoopKit.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { listenerCount = 3, clientCount = 6 };
static RLListenerRef listeners[listenerCount];
static int waiting, most, served; /* current clients, their maximum, and those that are done */

static void setEnabled(int enabled)
{
    for (int i = 0; i < listenerCount; i++)
        RLListenerSetEnabled(listeners[i], enabled != 0);
}

static void closeAll(void)
{
    for (int i = 0; i < listenerCount; i++)
        RLListenerClose(listeners[i]);
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)event, (void)info; /* the client has closed its end; what it sends is forwarded, and never reported here */
    waiting--;
    RLStreamClose(stream);
    setEnabled(1);
    if (++served == clientCount)
        closeAll();
}

static void accepted(RLListenerRef listener, int descriptor, void *info)
{
    (void)info;
    if (RLListenerGetError(listener) != 0)
        printf("other clients have to wait: %s\n", strerror(RLListenerGetError(listener)));
    setEnabled(0); /* until this client is done */
    most = ++waiting > most ? waiting : most;
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, descriptor, 1, serve, NULL));
    setsockopt(RLStreamGetNativeDescriptor(stream), SOL_SOCKET, SO_KEEPALIVE, &(int){1},
               sizeof(int));         /* socket options can be set as usual */
    RLStreamForward(stream, stream); /* echoes what the client sends */
}

static void talk(RLStreamRef stream, const RLStreamEvent *event, void *answers)
{
    if (event->type == kRLStreamEventOpenCompleted)
        return;
    *(int *)answers += event->length == 5 && memcmp(event->bytes, "hello", 5) == 0; /* otherwise an error */
    RLStreamClose(stream);
}

int main(void)
{
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (own < 0 || listen(own, 5) != 0)
        return 1;
    char name[32];
    snprintf(name, sizeof name, "@example-%d", (int)getpid());
    listeners[0] = RLListenerCreateWithHost(NULL, "localhost", NULL, accepted, NULL);
    listeners[1] = RLListenerCreateWithPath(NULL, name, accepted, NULL);
    listeners[2] = RLListenerCreate(NULL, own, 1, accepted, NULL);
    int answers = 0;
    RLStreamContext context = {.info = &answers};
    for (int i = 0; i < clientCount; i++) {
        RLListenerRef listener = listeners[i % listenerCount];
        if (i < listenerCount) {
            RLRunLoopAddSource(RLRunLoopGetCurrent(), listener, kRLRunLoopDefaultMode);
            printf("listener %d %s a port and %s\n", i, RLListenerGetPort(listener) > 0 ? "has" : "is without",
                   RLListenerIsEnabled(listener) ? "accepts" : "waits");
        }
        RLDataRef address = RLListenerCopyAddress(listener);
        RLStreamRef client = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, talk, &context));
        RLStreamWrite(client, "hello", 5);
        RLRelease(address);
    }
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until nothing is left */
    printf("%d answers, %d client at a time\n", answers, most);
    printf("the listener's descriptor is %d now\n", RLListenerGetNativeDescriptor(listeners[2]));
    for (int i = 0; i < listenerCount; i++)
        RLRelease(listeners[i]);
    return result == kRLRunLoopRunFinished && answers == clientCount ? 0 : 1;
}
