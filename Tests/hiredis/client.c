/* A redis client on the run loop, by the adapter that hiredis ships for CFRunLoop and CFSocket, which knows nothing of us.
 *
 *     client COMMANDS SOCKET         sends so many commands at once, and checks each answer
 *     client COMMANDS 127.0.0.1 PORT
 *
 * Prints how the connection began, how many answers were right, and how it ended. */
#include <hiredis/adapters/macosx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long commands, answers, wrong;

static void on_connect(const redisAsyncContext *context, int status)
{
    printf("connect: %s\n", status == REDIS_OK ? "yes" : context->errstr);
    if (status != REDIS_OK)
        CFRunLoopStop(CFRunLoopGetCurrent());
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    printf("disconnect: %s\n", status == REDIS_OK ? "as asked" : context->errstr);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

/* Answers come in the order of the commands: INCR counts them, ECHO tells which it was. */
static void on_answer(redisAsyncContext *context, void *answer, void *number)
{
    const redisReply *reply = answer;
    long n = (long)number;
    if (reply == NULL || n != answers)
        wrong++;
    else if (n % 2 == 0)
        wrong += reply->type != REDIS_REPLY_INTEGER || reply->integer != n / 2 + 1;
    else
        wrong += reply->type != REDIS_REPLY_STRING || atol(reply->str) != n || reply->len < 500;
    if (++answers == commands)
        redisAsyncDisconnect(context);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    commands = atol(argv[1]);
    redisAsyncContext *context = argc > 3 ? redisAsyncConnect(argv[2], atoi(argv[3])) : redisAsyncConnectUnix(argv[2]);
    if (context == NULL || context->err) {
        printf("not begun: %s\n", context ? context->errstr : "out of memory");
        redisAsyncFree(context);
        return 1;
    }
    if (redisMacOSAttach(context, CFRunLoopGetCurrent()) != REDIS_OK)
        return 1;
    redisAsyncSetConnectCallback(context, on_connect);
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    /* Half a kilobyte each: far more than the kernel takes at once. */
    static char text[501];
    memset(text, '.', sizeof text - 1);
    for (long n = 0; n < commands; n++) {
        int status = n % 2 == 0 ? redisAsyncCommand(context, on_answer, (void *)n, "INCR counter")
                                : redisAsyncCommand(context, on_answer, (void *)n, "ECHO %ld%s", n, text);
        if (status != REDIS_OK)
            return 1;
    }
    CFRunLoopRun();
    printf("answers: %ld, wrong: %ld\n", answers - wrong, wrong);
    return 0;
}
