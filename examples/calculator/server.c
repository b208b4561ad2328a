/* server.c - the calculator: replies immediately, or later from a timer; drops work when its client is gone. */
#include "calculator.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A request that is answered later. The timer's info. */
typedef struct Thought {
    RLMessagePortRequestRef request;
    RLRunLoopTimerRef timer;
    long result;
} Thought;

static RLDataRef number(long value)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%ld", value);
    return RLDataCreate(NULL, (const uint8_t *)text, length);
}

static int calculate(RLDataRef data, long *result)
{
    char text[64] = {0}, operation;
    long left, right;
    if (RLDataGetLength(data) >= (RLIndex)sizeof text)
        return 0;
    memcpy(text, RLDataGetBytePtr(data), (size_t)RLDataGetLength(data));
    if (sscanf(text, "%ld %c %ld", &left, &operation, &right) != 3 || (operation == '/' && right == 0))
        return 0;
    *result = operation == '+'   ? left + right
              : operation == '-' ? left - right
              : operation == '*' ? left * right
                                 : left / right;
    return 1;
}

static void end_thought(Thought *thought)
{
    RLRelease(thought->request);
    RLRunLoopTimerInvalidate(thought->timer);
    RLRelease(thought->timer);
    free(thought);
}

/* The client is gone: drop its request. */
static void forget(RLMessagePortRequestRef request, void *info)
{
    (void)request;
    end_thought(info);
}

static void answer(RLRunLoopTimerRef timer, void *info)
{
    Thought *thought = info;
    (void)timer;
    if (RLMessagePortRequestGetRemainingTime(thought->request) > 0) {
        RLDataRef reply = number(thought->result);
        RLMessagePortRequestReply(thought->request, reply);
        RLRelease(reply);
    } /* otherwise the client has stopped waiting */
    end_thought(thought);
}

/* Takes ownership of the request and replies half a second later. Other clients are served in the meantime. */
static void think(RLMessagePortRef local, long result)
{
    Thought *thought = malloc(sizeof *thought);
    if (thought == NULL)
        return;
    thought->request = RLMessagePortCopyRequest(local); /* an object like any other: */
    if (RLGetTypeID(thought->request) != RLMessagePortRequestGetTypeID())
        abort();
    thought->result = result;
    RLRunLoopTimerContext context = {.info = thought};
    thought->timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 0.5, 0, 0, 0, answer, &context);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), thought->timer, kRLRunLoopDefaultMode);
    RLMessagePortRequestSetInvalidationCallBack(thought->request, forget, thought);
}

static RLDataRef handle(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *info)
{
    long result;
    int pid;
    unsigned uid;
    (void)info;
    switch (msgid) {
    case CALCULATE:
        return calculate(data, &result) ? number(result) : NULL;
    case THINK:
        if (!calculate(data, &result))
            return NULL;
        if (RLMessagePortGetRemainingTime(local) < 0.05)
            return NULL; /* the client would not wait that long */
        think(local, result);
        return NULL; /* this is not the reply: think() has taken over the request */
    case WHO_AM_I:
        if (!RLMessagePortGetPeerCredentials(local, &pid, &uid, NULL) || uid != geteuid())
            return NULL;
        return number(pid);
    case CRASH:
        raise(SIGKILL);
        break;
    case STOP:
        RLRunLoopStop(RLRunLoopGetCurrent());
    }
    return NULL;
}

int run_server(void)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR(CALCULATOR_NAME), handle, NULL, NULL);
    if (port == NULL) {
        perror("calculator: the name");
        return 1;
    }
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLRunLoopRun();
    RLMessagePortInvalidate(port); /* releases the name and removes its files */
    RLRelease(port);
    return 0;
}
