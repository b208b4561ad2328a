/* Callbacks of librunloop-kit's objects, for test_kit_callbacks.py. The argument says what the program does. */
#include <RunLoopKit/RunLoopKit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static int descriptors[2];

/* Until the test writes a byte. */
static void waitForByte(void)
{
    char byte;
    if (read(STDIN_FILENO, &byte, 1) < 0)
        perror("kit");
}

static void stop(void) { RLRunLoopStop(RLRunLoopGetCurrent()); }

static void on_signal(RLSignalRef signal, const RLSignalInfo *information, void *info)
{
    (void)signal, (void)information;
    *(int *)info += 1;
    waitForByte();
}

/* Frees the stream, and with it the memory by which the library knew what it was calling. */
static void on_line(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type != kRLStreamEventHasBytesAvailable)
        return;
    RLStreamClose(stream);
    stop();
}

static void on_events(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    (void)watch, (void)count, (void)events, (void)info;
}

static void on_connection(RLListenerRef server, RLStreamRef stream, void *info)
{
    (void)server, (void)info;
    RLStreamClose(stream);
    stop();
}

static void work(RLWorkRef item, void *info) { (void)item, (void)info; }
static void on_complete(RLWorkRef item, void *info) { (void)item, (void)info; }
static void on_addresses(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info)
{
    (void)resolve, (void)addresses, (void)error, (void)info;
}

static void addSignal(int *count)
{
    RLSignalContext context = {.info = count};
    RLScheduleSource(RLSignalCreate(NULL, SIGUSR1, 0, on_signal, &context));
}

static void addWorks(RLWorkersRef workers)
{
    RLWorkRef items[] = {RLWorkCreate(NULL, 0, work, on_complete, NULL),
                         RLHostResolveCreate(NULL, "127.0.0.1", "80", NULL, 60, on_addresses, NULL)};
    for (int index = 0; index < 2; index++) {
        RLScheduleSource(items[index]);
        RLWorkersSubmit(workers, items[index]);
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    int signals = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors) != 0)
        return 1;
    if (strcmp(what, "stuck") == 0) {
        addSignal(&signals);
        raise(SIGUSR1);
        RLRunLoopRunInMode(MODE, 0, 0);
    } else if (strcmp(what, "asleep") == 0) {
        const char *paths[] = {"/", NULL};
        addSignal(&signals);
        RLScheduleSource(RLStreamCreate(NULL, descriptors[0], 1, on_line, NULL));
        RLScheduleSource(RLFileWatchCreate(NULL, paths, 0, kRLFileWatchNotRecursive, on_events, NULL));
        RLScheduleSource(RLServerCreateWithPath(NULL, "@runloop-test-kit", on_connection, NULL, NULL));
        RLRunLoopRunInMode(MODE, 1000, 0);
    } else {
        RLWorkersRef workers = RLWorkersCreate(NULL, 1);
        RLListenerRef server = RLServerCreateWithHost(NULL, "127.0.0.1", NULL, on_connection, NULL, NULL);
        char port[8];
        RLScheduleSource(RLStreamCreate(NULL, descriptors[0], 1, on_line, NULL));
        if (write(descriptors[1], "x\n", 2) != 2)
            return 1;
        RLRunLoopRunInMode(MODE, 60, 0);
        addWorks(workers);
        RLRunLoopRunInMode(MODE, 60, 0);
        snprintf(port, sizeof port, "%d", RLListenerGetPort(server));
        RLScheduleSource(server);
        RLScheduleSource(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 60, on_line, NULL));
        RLRunLoopRunInMode(MODE, 60, 0);
        RLRelease(workers);
    }
    return 7;
}
