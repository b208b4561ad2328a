/* A server that has answered a request and finds the next one waiting. Its clients are processes that have sent all their
 * requests before the server's loop runs. */
#ifndef MESSAGE_PORT_BETWEEN_H
#define MESSAGE_PORT_BETWEEN_H

#include "message-port.h"

enum { CLIENTS = 3, REQUESTS = 3, GREETING = 0, BY_ONE_WAY = 100 };
#define OTHER RLSTR("other")

static RLRunLoopRef main_loop;
static struct server server;
static pid_t clients[CLIENTS];
static int orders[CLIENTS], sent;
/* Executed in the callback of request `action_request`, if set. */
static void (*action)(void);
static int action_request = 1;
static atomic_int missing;
static atomic_int answered;

/* The first client's requests are 1, 2, 3, the second client's 11, 12, 13, the third client's 21, 22, 23. */
static RLDataRef answer(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    char word[8];
    snprintf(word, sizeof word, "%d", (int)id);
    if (id != GREETING)
        note(word);
    if (id == action_request && action)
        action();
    if (--missing == 0)
        RLRunLoopStop(main_loop);
    atomic_fetch_add(&answered, 1);
    return RLRetain(data);
}

static void ignore(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info) {}

static void client_process(int number, int orders_of_mine)
{
    RLMessagePortRef remote = NULL;
    RLDataRef data = text_data("x");
    for (unsigned char count; read(orders_of_mine, &count, 1) == 1;) {
        if (remote == NULL)
            child_assert((remote = RLMessagePortCreateRemote(NULL, NAME)) != NULL);
        bool wants_reply = count < BY_ONE_WAY;
        count %= BY_ONE_WAY;
        for (int index = 1; index <= count; index++) {
            int id = 10 * number + index;
            child_assert((wants_reply ? RLMessagePortSendRequestAsync(remote, id, data, 20, 1e9, MODE, ignore, NULL)
                                      : RLMessagePortSendRequest(remote, id, data, 20, 0, NULL, NULL)) == 0);
        }
        if (count == 0)
            child_assert(RLMessagePortSendRequest(remote, GREETING, data, 20, 20, MODE, NULL) == 0);
        child_assert(write(sent, "s", 1) == 1);
    }
    _exit(0);
}

static void let_client_send(int client, unsigned char count)
{
    char byte;
    missing += count % BY_ONE_WAY;
    require(write(orders[client], &count, 1) == 1 && read(sent, &byte, 1) == 1);
}

static UNUSED void begin(void)
{
    int both_sent[2];
    use_own_directory();
    require(pipe(both_sent) == 0);
    for (int index = 0; index < CLIENTS; index++) {
        int ends[2];
        require(pipe(ends) == 0);
        clients[index] = fork_child();
        if (clients[index] == 0) {
            for (int other = 0; other < index; other++)
                close(orders[other]);
            close(ends[1]);
            sent = both_sent[1];
            client_process(index, ends[0]);
        }
        close(ends[0]);
        orders[index] = ends[1];
    }
    sent = both_sent[0];
    main_loop = RLRunLoopGetCurrent();
    serve(&server, NAME, answer, NULL);
    /* Two of the clients connect, with too few requests for a ring. */
    for (int index = 0; index < 2; index++) {
        char greet = 0, byte;
        missing = 1;
        require(write(orders[index], &greet, 1) == 1);
        RLRunLoopRun();
        require(read(sent, &byte, 1) == 1);
    }
}

static UNUSED void end(void)
{
    for (int index = 0; index < CLIENTS; index++) {
        close(orders[index]);
        end_process(clients[index], 0);
    }
    end_server(&server);
    remove_own_directory();
}

static bool is_one_way;

static UNUSED void let_client_send_all(int client)
{
    let_client_send(client, (is_one_way ? BY_ONE_WAY : 0) + REQUESTS);
}

#endif
