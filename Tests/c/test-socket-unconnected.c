/* Checks stream sockets that are in a loop before they are connected or listening. The kernel reports such a socket as hung up
 * all the time. That must not keep the loop busy, and what happens to the socket later must be noticed, whichever thread does it
 * and by whichever call. */
#include "descriptor.h"

#include <poll.h>
#include <sys/resource.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int listening; /* without an object */
static union {
    struct sockaddr any;
    struct sockaddr_in inet;
    struct sockaddr_un local;
} address; /* of `listening` */
static socklen_t address_size;
static int family;
static int accepted;

static int new_socket(int flags)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    require(fd >= 0);
    return fd;
}

/* Binds to a free port of 127.0.0.1, or to a free abstract name, which the kernel chooses. */
static void bind_somewhere(int fd)
{
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    if (family == AF_INET)
        require(bind(fd, (struct sockaddr *)&inet, sizeof inet) == 0);
    else
        require(bind(fd, (struct sockaddr *)&local, sizeof local.sun_family) == 0);
}

static void note_address(int fd)
{
    address_size = sizeof address;
    require(getsockname(fd, &address.any, &address_size) == 0);
}

static void begin(int of_family)
{
    family = of_family;
    listening = new_socket(0);
    bind_somewhere(listening);
    require(listen(listening, 8) == 0);
    note_address(listening);
    accepted = -1;
    notes[0] = 0;
}

static void end(void)
{
    close(listening);
    if (accepted >= 0)
        close(accepted);
}

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
}

static void tear_down(void) { drop_source(keeper); }

/* Makes several passes, one of which sleeps: no callback is called. */
static void look_at_it(void)
{
    ck_assert(!poll_once());
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1), kRLRunLoopRunTimedOut);
    ck_assert(!poll_once());
    assert_notes("");
}

/* -- The ways to connect a socket -- */

enum way { PLAIN, NON_BLOCKING, BY_OBJECT, BY_OBJECT_IN_BACKGROUND, WAYS };

static void connect_it(RLSocketRef s, int fd, enum way way)
{
    if (way == PLAIN) {
        require(connect(fd, &address.any, address_size) == 0);
    } else if (way == NON_BLOCKING) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        require(connect(fd, &address.any, address_size) == 0 || errno == EINPROGRESS);
    } else {
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)&address, (RLIndex)address_size);
        require(RLSocketConnectToAddress(s, data, way == BY_OBJECT ? 5 : -1) == kRLSocketSuccess);
        RLRelease(data);
    }
}

struct connecting {
    struct sock sock;
    int fd;
    enum way way;
};

static void open_client(struct connecting *it, RLOptionFlags types)
{
    it->sock.name = "";
    it->fd = new_socket(0);
    sock_open(&it->sock, it->fd, types);
}

/* The callbacks to expect after connecting, when the other end has sent a byte. */
static const struct {
    RLOptionFlags types;
    const char *calls;
} EXPECTED[] = {
    {kRLSocketReadCallBack, "r"},
    {kRLSocketDataCallBack, "d"},
    {kRLSocketWriteCallBack, "w"},
    {kRLSocketConnectCallBack, "c"},
    {kRLSocketConnectCallBack | kRLSocketWriteCallBack, "c w"},
    {kRLSocketReadCallBack | kRLSocketWriteCallBack, "r w"},
    {kRLSocketReadCallBack | kRLSocketConnectCallBack | kRLSocketWriteCallBack, "c r w"},
};

START_TEST(a_socket_polled_before_it_is_connected_works_afterwards)
{
    for (int round = 0; round < 2 * WAYS; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        RLOptionFlags types = EXPECTED[_i].types;
        struct connecting it = {.way = (enum way)(round / 2)};
        open_client(&it, types);
        look_at_it();
        connect_it(it.sock.object, it.fd, it.way);
        accepted = accept(listening, NULL, NULL);
        require(accepted >= 0);
        put(accepted);
        struct pollfd arrival = {.fd = it.fd, .events = POLLIN};
        require(poll(&arrival, 1, -1) == 1);
        run_once();
        assert_notes(EXPECTED[_i].calls);
        sock_drop(&it.sock);
        end();
    }
}
END_TEST

/* -- Other threads -- */

static void *connect_sleeping(void *info)
{
    struct connecting *it = info;
    await_waiting(rl);
    connect_it(it->sock.object, it->fd, it->way);
    return NULL;
}

START_TEST(another_thread_may_connect_a_socket_while_the_loop_sleeps)
{
    for (int round = 0; round < 2 * WAYS; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct connecting it = {.way = (enum way)(round / 2)};
        open_client(&it, kRLSocketConnectCallBack | kRLSocketWriteCallBack);
        look_at_it();
        pthread_t thread = start_thread(connect_sleeping, &it);
        run_once();
        assert_notes("c w");
        join_thread(thread);
        sock_drop(&it.sock);
        end();
    }
}
END_TEST

/* -- The ways to make it listen -- */

static void listen_by_object(RLSocketRef s)
{
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    RLDataRef wish = family == AF_INET ? RLDataCreate(NULL, (const uint8_t *)&inet, sizeof inet)
                                       : RLDataCreate(NULL, (const uint8_t *)&local, sizeof local.sun_family);
    require(RLSocketSetAddress(s, wish) == kRLSocketSuccess);
    RLRelease(wish);
}

static int connect_to(int fd)
{
    int client = new_socket(0);
    note_address(fd);
    require(connect(client, &address.any, address_size) == 0);
    return client;
}

static void *call_sleeping(void *fd)
{
    await_waiting(rl);
    close(connect_to(*(int *)fd));
    return NULL;
}

START_TEST(a_socket_polled_before_it_listens_works_afterwards)
{
    static const RLOptionFlags types[] = {kRLSocketAcceptCallBack, kRLSocketReadCallBack};
    for (int round = 0; round < 8; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct sock sock = {.name = ""};
        int fd = new_socket(0);
        sock_open(&sock, fd, types[_i]);
        look_at_it();
        if (round & 2) {
            listen_by_object(sock.object);
        } else {
            bind_somewhere(fd);
            look_at_it(); /* a bound socket does not listen */
            require(listen(fd, 8) == 0);
        }
        if (round & 4)
            look_at_it();
        int client = connect_to(fd);
        run_once();
        ck_assert_str_eq(notes, _i ? "r" : "a");
        /* The source is level-triggered again, and no edge is missed. */
        if (_i) {
            run_once();
            ck_assert_str_eq(notes, "r r");
        } else {
            close(sock.accepted);
            ck_assert(!poll_once());
            pthread_t caller = start_thread(call_sleeping, &fd);
            run_once();
            ck_assert_str_eq(notes, "a a");
            join_thread(caller);
            close(sock.accepted);
        }
        close(client);
        sock_drop(&sock);
        end();
    }
}
END_TEST

/* -- Idle -- */

static double seconds_of(struct timeval time) { return (double)time.tv_sec + 1e-6 * (double)time.tv_usec; }

/* Sockets with each type of callback, a descriptor object and a version-1 source. The kernel notifies a loop when a TCP socket
 * has been connected, so the loop sleeps all the time. A UNIX socket is checked from time to time, at growing intervals. */
START_TEST(unconnected_sockets_do_not_keep_the_loop_busy)
{
    static const RLOptionFlags types[] = {kRLSocketReadCallBack,    kRLSocketDataCallBack,  kRLSocketAcceptCallBack,
                                          kRLSocketConnectCallBack, kRLSocketWriteCallBack, 13};
    struct sock socks[6] = {{.name = NULL}};
    family = _i ? AF_UNIX : AF_INET;
    for (int i = 0; i < 6; i++) {
        socks[i].name = "";
        sock_open(&socks[i], new_socket(0), types[i]);
    }
    struct port port = {.name = "p"};
    struct watch watch = {.name = "v"};
    int fd = new_socket(0), other = new_socket(0);
    port_open(&port, fd, READ | WRITE);
    watch_fd(&watch, other, 0);
    ck_assert(!poll_once());
    struct rusage usage, later;
    getrusage(RUSAGE_THREAD, &usage);
    ck_assert_int_le(passes_while_idle(), 4);
    getrusage(RUSAGE_THREAD, &later);
    double busy = seconds_of(later.ru_utime) + seconds_of(later.ru_stime);
    busy -= seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    ck_assert_double_lt(busy, 0.06);                                /* of 0.12 */
    ck_assert_int_le(later.ru_nvcsw - usage.ru_nvcsw, _i ? 12 : 6); /* how often it slept */
    assert_notes("");
    for (int i = 0; i < 6; i++)
        sock_drop(&socks[i]);
    port_drop(&port);
    drop_source(watch.source);
    close(fd);
    close(other);
}
END_TEST

/* -- The other kinds of objects -- */

static void *connect_descriptor(void *fd)
{
    await_waiting(rl);
    require(connect(*(int *)fd, &address.any, address_size) == 0);
    return NULL;
}

START_TEST(a_descriptor_object_waits_for_the_connection)
{
    for (int round = 0; round < 8; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct port port = {.name = "p"};
        int fd = new_socket(0);
        port_open(&port, fd, round & 2 ? WRITE : READ | WRITE);
        look_at_it();
        if (round & 4) {
            pthread_t thread = start_thread(connect_descriptor, &fd);
            run_once();
            join_thread(thread);
        } else {
            require(connect(fd, &address.any, address_size) == 0);
            run_once();
        }
        assert_notes("pw");
        accepted = accept(listening, NULL, NULL);
        require(accepted >= 0);
        RLFileDescriptorEnableCallBacks(port.object, READ);
        ck_assert(!poll_once());
        put(accepted);
        run_once();
        assert_notes("pr");
        port_drop(&port);
        close(fd);
        end();
    }
}
END_TEST

START_TEST(a_version_1_source_waits_for_clients_and_for_the_connection)
{
    for (int round = 0; round < 4; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct watch watch = {.name = "v"};
        int fd = new_socket(0), client = -1;
        watch_fd(&watch, fd, 0);
        look_at_it();
        if (round & 2) {
            require(connect(fd, &address.any, address_size) == 0);
            accepted = accept(listening, NULL, NULL);
            require(accepted >= 0);
            ck_assert(!poll_once());
            put(accepted);
        } else {
            bind_somewhere(fd);
            require(listen(fd, 8) == 0);
            client = connect_to(fd);
        }
        for (int i = 0; i < 3; i++)
            run_once();
        assert_notes("v v v"); /* level-triggered */
        drop_source(watch.source);
        close(fd);
        close(client);
        end();
    }
}
END_TEST

START_TEST(several_objects_on_one_socket_are_all_notified_of_the_connection)
{
    for (int round = 0; round < 2; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct sock sock = {.name = "s"};
        struct port port = {.name = "p"};
        struct watch watch = {.name = "v"};
        int fd = new_socket(0);
        sock_open(&sock, fd, kRLSocketReadCallBack | kRLSocketConnectCallBack);
        port_open(&port, fd, READ);
        watch_fd(&watch, fd, 0);
        look_at_it();
        require(connect(fd, &address.any, address_size) == 0);
        run_once();
        assert_notes("sc");
        accepted = accept(listening, NULL, NULL);
        require(accepted >= 0);
        ck_assert(!poll_once());
        put(accepted);
        run_once();
        assert_notes("sr pr v");
        drop_source(watch.source);
        port_drop(&port);
        sock_drop(&sock);
        end();
    }
}
END_TEST

/* -- Back and forth, modes -- */

/* A connection is dissolved, and the socket is connected again. */
START_TEST(a_socket_can_be_disconnected_and_connected_again)
{
    begin(AF_INET);
    struct connecting it = {.way = PLAIN};
    open_client(&it, kRLSocketReadCallBack);
    for (int i = 0; i < 3; i++) {
        look_at_it();
        connect_it(it.sock.object, it.fd, PLAIN);
        int server = accept(listening, NULL, NULL);
        put(server);
        run_once();
        take(it.fd);
        assert_notes("r");
        ck_assert(!poll_once());
        require(connect(it.fd, &(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr)) == 0);
        int error;
        socklen_t size = sizeof error;
        require(getsockopt(it.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == ECONNRESET);
        close(server);
    }
    ck_assert_int_le(passes_while_idle(), 4);
    sock_drop(&it.sock);
    end();
}
END_TEST

START_TEST(a_connection_is_reported_only_in_the_mode_of_the_socket)
{
    for (int round = 0; round < 2; round++) {
        begin(round % 2 ? AF_UNIX : AF_INET);
        struct connecting it = {.way = PLAIN};
        RLStringRef other = RLStringCreateWithCString(NULL, "other", kRLStringEncodingUTF8);
        open_client(&it, kRLSocketConnectCallBack);
        RLRunLoopAddSource(rl, it.sock.source, other);
        RLRunLoopRemoveSource(rl, it.sock.source, kRLRunLoopDefaultMode);
        ck_assert_int_eq(RLRunLoopRunInMode(other, 0.01, 1), kRLRunLoopRunTimedOut);
        look_at_it();
        connect_it(it.sock.object, it.fd, PLAIN);
        ck_assert(!poll_once());
        ck_assert_int_eq(RLRunLoopRunInMode(other, 1e9, 1), kRLRunLoopRunHandledSource);
        assert_notes("c");
        sock_drop(&it.sock);
        RLRelease(other);
        end();
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("socket-unconnected");
    TCase *tcase = add_case(suite, "unconnected", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_socket_polled_before_it_is_connected_works_afterwards, 0,
                        (int)(sizeof EXPECTED / sizeof *EXPECTED));
    tcase_add_test(tcase, another_thread_may_connect_a_socket_while_the_loop_sleeps);
    tcase_add_loop_test(tcase, a_socket_polled_before_it_listens_works_afterwards, 0, 2);
    tcase_add_loop_test(tcase, unconnected_sockets_do_not_keep_the_loop_busy, 0, 2);
    tcase_add_test(tcase, a_descriptor_object_waits_for_the_connection);
    tcase_add_test(tcase, a_version_1_source_waits_for_clients_and_for_the_connection);
    tcase_add_test(tcase, several_objects_on_one_socket_are_all_notified_of_the_connection);
    tcase_add_test(tcase, a_socket_can_be_disconnected_and_connected_again);
    tcase_add_test(tcase, a_connection_is_reported_only_in_the_mode_of_the_socket);
    return suite;
}
