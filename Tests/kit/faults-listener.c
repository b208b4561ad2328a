/* A program that accepts two clients while system calls fail (see test_kit.py). It prints how many clients it
 * accepted, and which error it saw. With a number as argument it gives up after that many seconds, which a timer of
 * its loop counts, and at least ten runs. With a path as argument it listens there instead. */
#include <RunLoopKit/RunLoopKit.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int accepted;
static void accept_one(RLListenerRef listener, int descriptor, void *info)
{
    (void)listener, (void)info;
    close(descriptor);
    accepted++;
}

static int seen;
static void look(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *listener)
{
    (void)observer, (void)activity;
    int error = RLListenerGetError(listener);
    seen = error != 0 ? error : seen;
}

static int is_over;
static void give_up(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    is_over = 1;
}

/* Listens at a path until the end of standard input. */
static int serve_at(const char *path)
{
    RLListenerRef listener = RLListenerCreateWithPath(NULL, path, accept_one, NULL);
    puts(listener != NULL ? "made" : strerrorname_np(errno));
    while (listener != NULL && getchar() != EOF) {}
    if (listener != NULL)
        RLRelease(listener);
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 1 && arguments[1][0] == '/')
        return serve_at(arguments[1]);
    double limit = count > 1 ? atof(arguments[1]) : 60;
    RLListenerRef listener = RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, accept_one, NULL);
    if (listener == NULL) {
        printf("%s\n", strerrorname_np(errno));
        return 0;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), listener, kRLRunLoopDefaultMode);
    RLRunLoopObserverContext context = {.info = listener};
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeWaiting, 1, 0, look, &context);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    RLDataRef address = RLListenerCopyAddress(listener);
    for (int i = 0; i < 2; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)RLDataGetBytePtr(address), (socklen_t)RLDataGetLength(address)) != 0)
            return 1;
    }
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, limit, 0, give_up, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    for (int i = 0; accepted < 2 && (!is_over || i < 10); i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 1);
    printf("%d accepted, %s\n", accepted, seen ? strerrorname_np(seen) : "no error");
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    RLRelease(observer);
    RLRelease(address);
    RLListenerClose(listener);
    RLRelease(listener);
    return 0;
}
