/* Part of handover.c: ports, messages in lists that grow, and data that several threads own. */
#ifndef RUNLOOP_TESTS_RACES_HANDOVER_PORTS_H
#define RUNLOOP_TESTS_RACES_HANDOVER_PORTS_H

/* -- In turn -- */

/* One thread sends numbers until their list has just been enlarged, then another one until it is enlarged again,
 * while the loop takes nothing. A relaxed atomic establishes no order for a race detector. */
#define ENLARGES 33
static int turn;
static void (*hand_over)(int value);

static void *hand_over_in_turn(void *sender)
{
    int first = sender == NULL ? 0 : ENLARGES, end = sender == NULL ? ENLARGES : ROUNDS;
    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != (int)(long)sender)
        sched_yield();
    for (int i = first; i < end; i++)
        hand_over(i);
    __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void hand_over_before_run(void (*function)(int value))
{
    hand_over = function;
    __atomic_store_n(&turn, 0, __ATOMIC_RELAXED);
    start(2, hand_over_in_turn);
    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != 2)
        sched_yield();
    run_and_join(2);
}

static void post_number(int value) { CHECK(RLRunLoopPostFunction(loop, MODE, take_number, new_number(value))); }
static void post_before_run(void) { hand_over_before_run(post_number); }

/* -- Ports -- */

static RLPortRef port;

static void take_message(RLPortRef at, RLPortMessageRef message, void *info)
{
    (void)at, (void)info;
    RLDataRef data = RLArrayGetValueAtIndex(RLPortMessageGetComponents(message), 0);
    int *number = NULL;
    memcpy(&number, RLDataGetBytePtr(data), sizeof number);
    take_number(number);
}

static void send_message(int value)
{
    int *number = new_number(value);
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)&number, sizeof number);
    const void *values[] = {data};
    RLArrayRef components = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, components);
    CHECK(RLPortMessageSendBeforeDate(message, HUGE_VAL));
    RLRelease(message);
    RLRelease(components);
    RLRelease(data);
}

static void *send_messages(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2)
        send_message((int)i);
    return NULL;
}

static void with_port(int capacity, void (*send)(void))
{
    port = RLPortCreate(NULL, take_message, NULL, NULL);
    RLPortSetCapacity(port, capacity);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(loop, source, MODE);
    send();
    RLPortInvalidate(port);
    RLRelease(source);
    RLRelease(port);
}

static void send_while_running(void)
{
    start(2, send_messages);
    run_and_join(2);
}
static void send_before_run(void) { hand_over_before_run(send_message); }

static void ports(void) { with_port(8, send_while_running); } /* so few that senders also wait */
static void ports_before_run(void) { with_port(ROUNDS, send_before_run); }

/* Within one process: the number's address is sent, and a reply returned. */
static RLDataRef answer(RLMessagePortRef at, int32_t id, RLDataRef data, void *info)
{
    (void)at, (void)id, (void)info;
    int *number = NULL;
    memcpy(&number, RLDataGetBytePtr(data), sizeof number);
    *number *= 2;
    count(number);
    return RLDataCreate(NULL, (const uint8_t *)&number, sizeof number);
}

static RLStringRef port_name;
static void *send_requests(void *sender)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, port_name);
    CHECK(remote != NULL);
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        int *number = new_number((int)i), *back = NULL;
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)&number, sizeof number), reply = NULL;
        CHECK(RLMessagePortSendRequest(remote, 1, data, 1e9, 1e9, MODE, &reply) == kRLMessagePortSuccess);
        memcpy(&back, RLDataGetBytePtr(reply), sizeof back);
        CHECK(*back == 2 * i);
        free(back);
        RLRelease(reply);
        RLRelease(data);
    }
    RLRelease(remote);
    return NULL;
}

static void message_ports(void)
{
    char name[64];
    snprintf(name, sizeof name, "handover.%d", (int)getpid());
    port_name = RLStringMakeConstant(name);
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, port_name, answer, NULL, NULL);
    CHECK(local != NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, local, 0);
    RLRunLoopAddSource(loop, source, MODE);
    start(2, send_requests);
    run_and_join(2);
    RLMessagePortInvalidate(local);
    RLRelease(source);
    RLRelease(local);
}

/* -- Ownership -- */

/* Two threads read the same data; the one that releases the last reference frees it. */
static RLDataRef shared[ROUNDS];
static void *read_shared(void *sender)
{
    int here = 0;
    for (int i = 0; i < ROUNDS; i++) {
        here += RLDataGetBytePtr(shared[i])[0];
        RLRelease(shared[i]);
    }
    CHECK(here == 7 * ROUNDS);
    return sender;
}

static void references(void)
{
    static uint8_t bytes[4096] = {7};
    for (int i = 0; i < ROUNDS; i++) {
        shared[i] = RLDataCreate(NULL, bytes, sizeof bytes);
        RLRetain(shared[i]);
    }
    start(2, read_shared);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

#endif
