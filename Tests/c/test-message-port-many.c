/* Checks many connections: what an idle one costs, and that ten thousand of them leave nothing behind. */
#include "message-port-child.h"
#include "message-port-frames.h"
#include <malloc.h>

/* Bytes of the library for an idle connection: in the server, and in a client, with its port. */
enum { SERVER_LIMIT = 1024, CLIENT_LIMIT = 2048 };

/* Returns how many bytes the process has allocated. Sanitizers' allocators do not support this. */
static long allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return (long)(now.uordblks + now.hblkhd);
}

/* ---- idle ---- */

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

static int answered;

/* Connects, sends one request, receives the reply, and then stays silent. */
static int idle_client(void)
{
    char packet[128];
    struct head head = {
        .magic = MAGIC, .kind = REQUEST, .location = INLINE, .id = 1, .message = 1, .length = 64, .deadline = ~0ull};
    int fd = plain_socket();
    send_hello(fd);
    memset(packet, 'x', sizeof packet);
    memcpy(packet, &head, sizeof head);
    throw_packet(fd, packet, sizeof head + 64, NULL, 0);
    while (recv(fd, packet, sizeof packet, MSG_DONTWAIT) < 0)
        RLRunLoopRunInMode(MODE, 1, true);
    answered++;
    return fd;
}

START_TEST(an_idle_connection_takes_little_memory_in_the_server)
{
    enum { FIRST = 16, MANY = 1000 };
    static int clients[FIRST + MANY];
    struct server server;
    long before = 0, resident = 0;
    serve(&server, NAME, echo, NULL);
    for (int index = 0; index < FIRST + MANY; index++) {
        if (index == FIRST) { /* what the first connections allocate belongs to the loop */
            before = allocated();
            resident = resident_kilobytes();
        }
        clients[index] = idle_client();
    }
    long each = (allocated() - before) / MANY, page = (resident_kilobytes() - resident) * 1024 / MANY;
    if (!SANITIZED)
        printf("message-port-many: an idle connection of a server: %ld B allocated, %ld B resident\n", each, page);
    ck_assert_int_eq(answered, FIRST + MANY);
    if (!SANITIZED) {
        ck_assert_int_gt(each, 100); /* otherwise nothing was measured */
        ck_assert_int_le(each, SERVER_LIMIT);
        ck_assert_int_le(page, SERVER_LIMIT);
    }
    for (int index = 0; index < FIRST + MANY; index++)
        close(clients[index]);
    end_server(&server);
}
END_TEST

static void expect_eagain(UNUSED void *info)
{
    child_assert(RLMessagePortCreateRemote(NULL, NAME) == NULL && errno == EAGAIN);
}

START_TEST(connecting_to_a_full_accept_queue_returns_eagain)
{
    enum { MANY = 129 };
    int clients[MANY];
    struct server server;
    serve(&server, NAME, echo, NULL);
    for (int index = 0; index < MANY; index++)
        clients[index] = plain_socket();
    ck_assert_int_eq(run_in_child(expect_eagain, NULL), 0);
    RLRunLoopRunInMode(MODE, 0.01, false);
    close(idle_client());
    for (int index = 0; index < MANY; index++)
        close(clients[index]);
    end_server(&server);
}
END_TEST

enum { NAMES = 400 };

static RLStringRef name_of(int index)
{
    char text[32];
    snprintf(text, sizeof text, "com.example.%d", index);
    return RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
}

static void server_of_many_names(int ready)
{
    struct server server;
    for (int index = 0; index < NAMES; index++) {
        RLStringRef name = name_of(index);
        serve(&server, name, echo, NULL);
        RLRelease(name);
    }
    say_ready(ready);
    RLRunLoopRun();
}

/* A process has one connection per name, so this test uses many names. */
START_TEST(an_idle_connection_takes_little_memory_in_the_client)
{
    enum { FIRST = 16 };
    static RLMessagePortRef ports[NAMES];
    int ready;
    long before = 0, resident = 0;
    pid_t child = start_server_process(server_of_many_names, &ready);
    for (int index = 0; index < NAMES; index++) {
        if (index == FIRST) {
            before = allocated();
            resident = resident_kilobytes();
        }
        RLStringRef name = name_of(index);
        ports[index] = RLMessagePortCreateRemote(NULL, name);
        ck_assert_ptr_nonnull(ports[index]);
        RLRelease(name);
        ck_assert_int_eq(ask(ports[index], 1, "x", 20, MODE, NULL), kRLMessagePortSuccess);
    }
    int many = NAMES - FIRST;
    long each = (allocated() - before) / many, page = (resident_kilobytes() - resident) * 1024 / many;
    if (!SANITIZED)
        printf("message-port-many: an idle connection of a client: %ld B allocated, %ld B resident\n", each, page);
    if (!SANITIZED) {
        ck_assert_int_gt(each, 100);
        ck_assert_int_le(each, CLIENT_LIMIT);
        ck_assert_int_le(page, CLIENT_LIMIT);
    }
    for (int index = 0; index < NAMES; index++)
        RLRelease(ports[index]);
    end_process(child, SIGKILL);
}
END_TEST

/* ---- ten thousand ---- */

enum { REPORT = 1, ECHO, KEEP, ANSWER };
#define CONTROL RLSTR("com.example.control")

static RLMessagePortRequestRef kept[64];
static int kept_count;

static RLDataRef serve_many(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    char text[64];
    switch (id) {
    case REPORT:
        snprintf(text, sizeof text, "%d %ld %ld", open_descriptors(), allocated(), resident_kilobytes());
        return text_data(text);
    case KEEP:
        kept[kept_count++] = RLMessagePortCopyRequest(local);
        return NULL;
    case ANSWER:
        while (kept_count > 0) {
            require(RLMessagePortRequestReply(kept[--kept_count], data));
            RLRelease(kept[kept_count]);
        }
        return NULL;
    }
    return RLRetain(data);
}

static void server_process(int ready)
{
    struct server server, control;
    serve(&server, NAME, serve_many, NULL);
    serve(&control, CONTROL, serve_many, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

/* `remote` is connected to CONTROL, a name with a single connection. */
static void begin_server(void) { begin_child_process(server_process, CONTROL); }

struct usage {
    int descriptors;
    long bytes, kilobytes;
};

static struct usage of_this_process(void)
{
    return (struct usage){open_descriptors(), allocated(), resident_kilobytes()};
}

static struct usage of_the_server(void)
{
    struct usage usage;
    RLDataRef reply = NULL;
    char text[64] = {0};
    ck_assert_int_eq(ask(remote, REPORT, NULL, 20, MODE, &reply), kRLMessagePortSuccess);
    memcpy(text, RLDataGetBytePtr(reply), (size_t)RLDataGetLength(reply));
    RLRelease(reply);
    ck_assert_int_eq(sscanf(text, "%d %ld %ld", &usage.descriptors, &usage.bytes, &usage.kilobytes), 3);
    return usage;
}

static void expect_the_same(struct usage before, struct usage after, long bytes, long kilobytes)
{
    ck_assert_int_eq(after.descriptors, before.descriptors);
    ck_assert_int_le(after.bytes, before.bytes + bytes);
    if (!SANITIZED)
        ck_assert_int_le(after.kilobytes, before.kilobytes + kilobytes);
}

static void connect_often(int count)
{
    for (int round = 0; round < count; round++) {
        RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
        while (port == NULL) { /* the server has not accepted the earlier clients yet */
            ck_assert_int_eq(errno, EAGAIN);
            ck_assert_int_eq(ask(remote, ECHO, NULL, 20, MODE, NULL), kRLMessagePortSuccess);
            port = RLMessagePortCreateRemote(NULL, NAME);
        }
        if (round % 3 == 0)
            require(ask(port, ECHO, "x", 20, MODE, NULL) == kRLMessagePortSuccess);
        RLRelease(port);
    }
    /* The last connection is served after all others. */
    RLMessagePortRef port = NULL;
    while ((port = RLMessagePortCreateRemote(NULL, NAME)) == NULL)
        ck_assert_int_eq(ask(remote, ECHO, NULL, 20, MODE, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(ask(port, ECHO, "x", 20, MODE, NULL), kRLMessagePortSuccess);
    RLRelease(port);
    for (int turn = 0; turn < 3; turn++)
        ck_assert_int_eq(ask(remote, ECHO, NULL, 20, MODE, NULL), kRLMessagePortSuccess);
}

START_TEST(ten_thousand_connections_leak_nothing)
{
    connect_often(500);
    struct usage here = of_this_process(), there = of_the_server();
    connect_often(SCALED(10000));
    /* Two bytes per connection, as tables grow with the number of connections that wait at the same time. */
    expect_the_same(there, of_the_server(), 20480, 512);
    expect_the_same(here, of_this_process(), 20480, 512);
    ck_assert_int_eq(name_files(), 4);
}
END_TEST

START_TEST(ten_thousand_connections_within_the_process_leak_nothing)
{
    struct server server;
    struct usage here = {0};
    RLStringRef name = RLSTR("com.example.local");
    for (int round = -500; round < SCALED(10000); round++) {
        if (round == 0)
            here = of_this_process();
        if (round % 10 == 0)
            serve(&server, name, echo, NULL);
        RLMessagePortRef port = RLMessagePortCreateRemote(NULL, name);
        require(port != NULL && ask(port, 1, "x", 20, MODE, NULL) == kRLMessagePortSuccess);
        RLRelease(port);
        if (round % 10 == 9 || round % 10 == -1)
            end_server(&server);
    }
    expect_the_same(here, of_this_process(), 8192, 512);
    ck_assert_int_eq(name_files(), 4);
}
END_TEST

/* Clients that are killed while the server has requests and large payloads from them. */
static void die_waiting(int ready)
{
    enum { SIZE = 1 << 20 };
    uint8_t *bytes = calloc(1, SIZE);
    RLDataRef data = RLDataCreate(NULL, bytes, SIZE);
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    require(port != NULL);
    for (int round = 0; round < 3; round++)
        require(RLMessagePortSendRequest(port, ECHO, data, 10, 20, MODE, NULL) == kRLMessagePortSuccess);
    require(RLMessagePortSendRequest(port, KEEP, data, 10, 20, NULL, NULL) == kRLMessagePortSuccess);
    require(ask(port, ECHO, NULL, 20, MODE, NULL) == kRLMessagePortSuccess);
    say_ready(ready);
    RLMessagePortSendRequest(port, KEEP, data, 10, 1e9, MODE, NULL);
}

static void clients_die(int count)
{
    for (int round = 0; round < count; round++) {
        int ready;
        pid_t client = start_server_process(die_waiting, &ready);
        close(ready);
        end_process(client, SIGKILL);
        ck_assert_int_eq(ask(remote, ANSWER, "too late", 20, MODE, NULL), kRLMessagePortSuccess);
    }
    connect_often(1);
}

START_TEST(killed_clients_leak_nothing_in_the_server)
{
    clients_die(4);
    struct usage there = of_the_server();
    clients_die(SCALED(60));
    /* Payloads are not kept, but malloc() may keep some of the freed memory. */
    expect_the_same(there, of_the_server(), 65536, 8192);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-many");
    TCase *idle = add_case(suite, "idle", 60), *many = add_case(suite, "many", 120);
    tcase_add_checked_fixture(idle, use_own_directory, remove_own_directory);
    tcase_add_checked_fixture(many, begin_server, end_child);
    tcase_add_test(idle, an_idle_connection_takes_little_memory_in_the_server);
    tcase_add_test(idle, an_idle_connection_takes_little_memory_in_the_client);
    tcase_add_test(idle, connecting_to_a_full_accept_queue_returns_eagain);
    tcase_add_test(many, ten_thousand_connections_leak_nothing);
    tcase_add_test(many, ten_thousand_connections_within_the_process_leak_nothing);
    tcase_add_test(many, killed_clients_leak_nothing_in_the_server);
    return suite;
}
