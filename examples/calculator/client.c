/* client.c - a client of the calculator: it sends requests with time limits, without waiting, and after a crash. */
#define _POSIX_C_SOURCE 200809L
#include "calculator.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Client {
    const char *program;
    pid_t server;
    RLMessagePortRef port;
    int outstanding; /* asynchronous requests without a reply so far */
    long sum;        /* of the values in their replies */
} Client;

static void start_server(Client *client)
{
    client->server = fork();
    if (client->server == 0) {
        execl("/proc/self/exe", client->program, "server", (char *)NULL);
        _exit(127);
    }
}

/* Creates a remote port for the server, which may still be starting. */
static int connect_to_server(Client *client)
{
    for (int attempt = 0; attempt < 2000; attempt++) {
        client->port = RLMessagePortCreateRemote(NULL, RLSTR(CALCULATOR_NAME));
        if (client->port != NULL)
            return 1;
        if (errno != ECONNREFUSED) /* an error other than "the name is not served": waiting would not help */
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    perror("client: no calculator");
    return 0;
}

static long number_in(RLDataRef reply)
{
    char digits[32] = {0};
    RLIndex length = RLDataGetLength(reply) < 31 ? RLDataGetLength(reply) : 31;
    memcpy(digits, RLDataGetBytePtr(reply), (size_t)length);
    return atol(digits);
}

static int32_t ask(Client *client, int32_t msgid, const char *text, RLTimeInterval limit, long *value)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text)), reply = NULL;
    int32_t result =
        RLMessagePortSendRequest(client->port, msgid, data, 1, limit, kRLMessagePortPrivateReplyMode, &reply);
    RLRelease(data);
    if (reply != NULL) {
        *value = number_in(reply);
        RLRelease(reply);
    }
    return result;
}

static void print_answer(Client *client, int32_t msgid, const char *text, RLTimeInterval limit)
{
    long value = 0;
    int32_t result = ask(client, msgid, text, limit, &value);
    if (result == kRLMessagePortSuccess)
        printf("client: %s = %ld\n", text, value);
    else
        printf("client: %s: %s\n", text, RLMessagePortResultGetText(result));
}

static void add_reply(RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    Client *client = info;
    (void)port;
    if (result == kRLMessagePortSuccess && reply != NULL)
        client->sum += number_in(reply);
    if (--client->outstanding == 0)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

/* Sends five requests without waiting. The server works on all of them at the same time. */
static void ask_without_waiting(Client *client)
{
    for (int number = 1; number <= 5; number++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%d * 10", number);
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)text, length);
        if (RLMessagePortSendRequestAsync(client->port, THINK, data, 1, 20, kRLRunLoopDefaultMode, add_reply, client) ==
            kRLMessagePortSuccess)
            client->outstanding++;
        RLRelease(data);
    }
    printf("client: %d requests are in flight\n", client->outstanding);
    RLRunLoopRun(); /* until the last reply arrives */
    printf("client: the replies add up to %ld\n", client->sum);
}

int run_client(const char *program)
{
    Client client = {.program = program};
    long value = 0;
    start_server(&client);
    if (!connect_to_server(&client))
        return 1;
    printf("client: the name is served by %s\n",
           RLMessagePortGetNameOwner(RLSTR(CALCULATOR_NAME)) == client.server ? "the server" : "somebody else");
    print_answer(&client, CALCULATE, "2 + 3", 20);
    print_answer(&client, CALCULATE, "6 * 7", 20);
    ask(&client, WHO_AM_I, "", 20, &value);
    printf("client: the server knows me: %s\n", value == getpid() ? "yes" : "no");

    print_answer(&client, THINK, "1 + 1", 0.3); /* the server needs longer than that */
    print_answer(&client, THINK, "1 + 1", 20);
    ask_without_waiting(&client);

    print_answer(&client, CRASH, "crash", 20);
    print_answer(&client, CALCULATE, "2 + 3", 20);
    RLRelease(client.port);
    waitpid(client.server, NULL, 0);

    printf("client: starting the server again\n");
    start_server(&client); /* the crash left no name behind */
    if (!connect_to_server(&client))
        return 1;
    print_answer(&client, CALCULATE, "100 / 7", 20);
    ask(&client, STOP, "", 20, &value);
    waitpid(client.server, NULL, 0);
    RLRelease(client.port);
    return client.sum == 150 ? 0 : 1;
}
