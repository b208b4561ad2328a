/* ports.c - a worker thread checks in with the main thread, and both talk through ports.
 *
 * Listings 3-12 to 3-15 of Apple's threading guide: launchThread, handlePortMessage:, LaunchThreadWithPort: and
 * sendCheckinMessage:. The worker's first message has the worker's own port as its reply port. From then on the main
 * thread sends it work, and the worker replies with the sums. */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CHECK_IN = 100, ADD, SUM, EXIT };

typedef struct Main {
    RLPortRef workerPort; /* retained; NULL until the worker has checked in */
    int sums;
    int sum;
} Main;

/* Sends a message to `to` that contains up to two numbers. */
static int send(RLPortRef to, RLPortRef replyTo, uint32_t messageID, const int *numbers, int count)
{
    RLArrayRef components = NULL;
    if (count > 0) {
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)numbers, (RLIndex)sizeof(int) * count);
        const void *values[] = {data};
        components = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
        RLRelease(data);
    }
    RLPortMessageRef message = RLPortMessageCreate(NULL, to, replyTo, components);
    RLPortMessageSetMessageID(message, messageID);
    int sent = RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 10);
    if (!sent)
        printf("message %u was not sent: %s\n", (unsigned)RLPortMessageGetMessageID(message), strerror(errno));
    RLRelease(message);
    if (components != NULL)
        RLRelease(components);
    return sent;
}

/* Returns the numbers in a message. The library copies nothing: these are the sender's bytes. */
static const int *numbers_of(RLPortMessageRef message)
{
    return (const int *)RLDataGetBytePtr(RLArrayGetValueAtIndex(RLPortMessageGetComponents(message), 0));
}

/* ---- the worker thread ---- */

static void handle_work(RLPortRef port, RLPortMessageRef message, void *info)
{
    RLPortRef mainPort = info;
    (void)port;
    if (RLPortMessageGetMessageID(message) == ADD) {
        const int *numbers = numbers_of(message);
        int sum = numbers[0] + numbers[1];
        send(mainPort, RLPortMessageGetReceivePort(message), SUM, &sum, 1);
    } else {
        printf("worker: told to exit\n");
        RLRunLoopStop(RLRunLoopGetCurrent());
    }
}

static void port_ended(RLPortRef port, void *info)
{
    (void)info;
    printf("worker: my port is invalid now (valid: %d)\n", RLPortIsValid(port));
}

static void *worker_main(void *info)
{
    RLPortRef mainPort = info;
    RLPortContext context = {.info = mainPort};
    RLBoolean shouldFreeInfo;
    RLPortRef port = RLPortCreate(NULL, handle_work, &context, &shouldFreeInfo);
    if (port == NULL)
        return NULL;
    RLPortSetInvalidationCallBack(port, port_ended);
    RLPortSetCapacity(port, 8); /* a thread that sends more than that at once has to wait */
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);

    send(mainPort, port, CHECK_IN, NULL, 0);
    RLRunLoopRun();

    if (RLPortGetInvalidationCallBack(port) == port_ended)
        RLPortInvalidate(port); /* leaves the loop; queued messages are dropped */
    RLRelease(port);
    return NULL;
}

/* ---- the main thread ---- */

static void handle_main(RLPortRef port, RLPortMessageRef message, void *info)
{
    Main *self = info;
    switch (RLPortMessageGetMessageID(message)) {
    case CHECK_IN:
        self->workerPort = RLPortMessageGetSendPort(message); /* where replies go: the worker's port */
        RLRetain(self->workerPort);
        printf("main: the worker has checked in; its port takes %ld messages at a time\n",
               (long)RLPortGetCapacity(self->workerPort));
        for (int number = 1; number <= 3; number++) {
            int pair[] = {number, number * 10};
            send(self->workerPort, port, ADD, pair, 2);
        }
        break;
    case SUM:
        printf("main: the sum is %d\n", *numbers_of(message));
        self->sum += *numbers_of(message);
        if (++self->sums == 3) {
            send(self->workerPort, NULL, EXIT, NULL, 0);
            RLRunLoopStop(RLRunLoopGetCurrent());
        }
        break;
    }
}

int main(void)
{
    Main self = {0};
    RLPortContext context = {.info = &self}, copy = {0};
    RLPortRef port = RLPortCreate(NULL, handle_main, &context, NULL);
    if (port == NULL) {
        perror("ports: port");
        return 1;
    }
    RLPortGetContext(port, &copy);
    printf("main: a port is %s, a message is %s\n",
           RLGetTypeID(port) == RLPortGetTypeID() ? "a port" : "something else",
           RLPortGetTypeID() != RLPortMessageGetTypeID() ? "something else" : "a port");
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);

    pthread_t worker;
    if (pthread_create(&worker, NULL, worker_main, port) != 0)
        return 1;
    RLRunLoopRun();
    pthread_join(worker, NULL);

    if (send(self.workerPort, NULL, ADD, NULL, 0) || errno != EPIPE) /* the worker's port is invalid */
        return 1;
    RLRelease(self.workerPort);
    RLPortInvalidate(port);
    RLRelease(port);
    printf("main: the sum of the sums is %d\n", self.sum);
    return self.sum == 66 && copy.info == &self ? 0 : 1;
}
