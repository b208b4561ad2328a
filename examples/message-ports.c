/* message-ports.c - a worker thread and the main thread find each other by name.
 *
 * Listings 3-16 to 3-19 of Apple's threading guide: the main thread registers a port under a name and spawns a
 * worker, which knows that name. The worker creates its own port and checks in with its name. The main thread then
 * sends it requests. The same functions work between two programs: see calculator/. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_IN = 100, SHOUT, EXIT };

typedef struct Main {
    RLMessagePortRef worker; /* remote; NULL until the worker has checked in */
} Main;

/* ---- the worker thread ---- */

static RLDataRef handle_work(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info)
{
    (void)local;
    (void)info;
    if (msgid == EXIT) {
        printf("worker: told to exit\n");
        RLRunLoopStop(RLRunLoopGetCurrent());
        return NULL; /* no reply data: the sender receives NULL */
    }
    RLIndex length = RLDataGetLength(data);
    uint8_t *loud = malloc((size_t)length + 1);
    for (RLIndex index = 0; index < length; index++) {
        uint8_t letter = RLDataGetBytePtr(data)[index];
        loud[index] = letter >= 'a' && letter <= 'z' ? (uint8_t)(letter - 'a' + 'A') : letter;
    }
    RLDataRef reply = RLDataCreate(NULL, loud, length);
    free(loud);
    return reply; /* the library sends and releases it */
}

static void *worker_main(void *info)
{
    (void)info;
    RLMessagePortRef mainPort = RLMessagePortCreateRemote(NULL, RLSTR("com.example.main-thread"));
    if (mainPort == NULL) {
        perror("worker: no main thread");
        return NULL;
    }
    /* A port can be created first and named later. Others find it by its name. */
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NULL, handle_work, NULL, NULL);
    RLStringRef name = RLSTR("com.example.worker");
    if (port == NULL || !RLMessagePortSetName(port, name)) {
        perror("worker: no port");
        return NULL;
    }
    RLMessagePortSetCapacity(port, 16);
    printf("worker: %ld requests may wait for me\n", (long)RLMessagePortGetCapacity(port));
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);

    /* Without a reply mode the call only sends the request. */
    const char *text = RLStringGetCStringPtr(RLMessagePortGetName(port), kRLStringEncodingUTF8);
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text));
    int32_t result = RLMessagePortSendRequest(mainPort, CHECK_IN, data, 1, 0, NULL, NULL);
    RLRelease(data);
    RLRelease(mainPort);

    if (result == kRLMessagePortSuccess)
        RLRunLoopRun();
    RLMessagePortInvalidate(port);
    RLRelease(port);
    return NULL;
}

/* ---- the main thread ---- */

static RLDataRef handle_check_in(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info)
{
    Main *self = info;
    (void)local;
    if (msgid == CHECK_IN) {
        RLStringRef name =
            RLStringCreateWithBytes(NULL, RLDataGetBytePtr(data), RLDataGetLength(data), kRLStringEncodingUTF8, 0);
        printf("main: %s has checked in\n", RLStringGetCStringPtr(name, kRLStringEncodingUTF8));
        self->worker = RLMessagePortCreateRemote(NULL, name);
        RLRelease(name);
        RLRunLoopStop(RLRunLoopGetCurrent());
    }
    return NULL;
}

static void worker_is_gone(RLMessagePortRef port, void *info)
{
    (void)info;
    printf("main: the worker's port is gone (valid: %d)\n", RLMessagePortIsValid(port));
}

static int shout(Main *self, const char *text)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text)), reply = NULL;
    int32_t result = RLMessagePortSendRequest(self->worker, SHOUT, data, 1, 10, kRLRunLoopDefaultMode, &reply);
    RLRelease(data);
    if (result != kRLMessagePortSuccess)
        return 0;
    printf("main: the worker says %.*s\n", (int)RLDataGetLength(reply), (const char *)RLDataGetBytePtr(reply));
    RLRelease(reply);
    return 1;
}

int main(void)
{
    Main self = {0};
    RLMessagePortContext context = {.info = &self}, copy = {0};
    RLBoolean shouldFreeInfo;
    RLStringRef name = RLSTR("com.example.main-thread");
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, handle_check_in, &context, &shouldFreeInfo);
    if (port == NULL) {
        perror("main: the name cannot be had");
        return 1;
    }
    RLMessagePortGetContext(port, &copy);
    printf("main: a %s port, type %s\n", RLMessagePortIsRemote(port) ? "remote" : "local",
           RLGetTypeID(port) == RLMessagePortGetTypeID() && copy.info == &self ? "as it should be" : "wrong");
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);

    pthread_t worker;
    if (pthread_create(&worker, NULL, worker_main, NULL) != 0)
        return 1;
    RLRunLoopRun(); /* until the worker has checked in */
    if (self.worker == NULL)
        return 1;
    RLMessagePortSetInvalidationCallBack(self.worker, worker_is_gone);
    if (RLMessagePortGetInvalidationCallBack(self.worker) != worker_is_gone)
        return 1;

    int ok = shout(&self, "hello") && shout(&self, "good bye");
    RLMessagePortSendRequest(self.worker, EXIT, NULL, 1, 10, kRLRunLoopDefaultMode, NULL);
    pthread_join(worker, NULL);
    int32_t result = RLMessagePortSendRequest(self.worker, SHOUT, NULL, 1, 10, kRLRunLoopDefaultMode, NULL);
    printf("main: another request returns %d\n", (int)result);
    RLRelease(self.worker);
    RLMessagePortInvalidate(port);
    RLRelease(port);
    return ok && result == kRLMessagePortIsInvalid ? 0 : 1;
}
