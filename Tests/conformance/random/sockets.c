/* A CFSocket with every set of callback types on every kind of connection: connected, connecting without end,
 * refused or reset, listening, or connectionless (datagrams). At random: its flags, what is enabled and disabled
 * before and after it is added to a loop, and when there is room to write, something to read, a client, or an error.
 *
 * CoreFoundation remembers what its thread has noticed, even if that is disabled later (difference 7). So nothing is
 * changed while something is ready: the connection begins with a full buffer, and everything that is ready is called
 * back before the next change. */
#include "../socket.h"
#include "random.h"

enum { UNIX_PAIR, TCP_PAIR, CONNECTING, REFUSED, LISTENING, DATAGRAMS, KINDS };
enum { READING = 3, ROUNDS = 4, MOST_CALLS = 3 };

static Sock sock;
static CFOptionFlags types;
static unsigned long seed;
static int line, kind;
static bool is_over;
static int clients[ROUNDS], client_count;
static int deaf;   /* listens, but accepts no client: its backlog is full */
static int nobody; /* bound, but does not listen */

static void show_line(const char *what)
{
    char label[64];
    snprintf(label, sizeof label, "%lu.%d %s", seed, line++, what);
    show(label);
}

static CFOptionFlags some_types(void)
{
    static const CFOptionFlags all[] = {4, 8, 12};
    CFOptionFlags mask = pick(3) ? all[pick(3)] : 0;
    return pick(2) ? mask | (types & READING) : mask;
}

static void enable_or_disable(void)
{
    CFOptionFlags mask = some_types();
    if (pick(2)) {
        note("+%lu", mask);
        CFSocketEnableCallBacks(sock.socket, mask);
    } else {
        note("-%lu", mask);
        CFSocketDisableCallBacks(sock.socket, mask);
    }
}

/* -- Connections: one end for the CFSocket, with a full buffer, and the far end -- */

static int tcp_pair(int *far)
{
    int listening = bound(AF_INET, SOCK_STREAM), small = 4096;
    require(setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0 && listen(listening, 1) == 0);
    int fd = client_of(listening, AF_INET);
    require(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    *far = accept(listening, NULL, NULL);
    require(*far >= 0);
    close(listening);
    return fd;
}

static int connecting(int to)
{
    CFDataRef address = address_of(to);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(fd >= 0);
    connect(fd, (const struct sockaddr *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address));
    CFRelease(address);
    return fd;
}

static void make_connection(void)
{
    sock.far = -1;
    if (kind == UNIX_PAIR || kind == DATAGRAMS) {
        make_pair(&sock, kind == UNIX_PAIR ? SOCK_STREAM : SOCK_DGRAM);
        fill(sock.fd);
    } else if (kind == TCP_PAIR) {
        sock.fd = tcp_pair(&sock.far);
        fill(sock.fd);
    } else if (kind == CONNECTING) {
        sock.fd = connecting(deaf);
    } else if (kind == REFUSED) {
        sock.fd = connecting(nobody);
        await(sock.fd, POLLERR);
        is_over = true; /* ready for everything from now on */
    } else {
        sock.fd = listener(AF_UNIX);
    }
}

/* -- Events on the connection -- */

/** Waits until the sent data is in the other end's buffer, or was read from it: CF reads ahead. */
static void await_arrival(int fd)
{
    int left;
    while (ioctl(fd, TIOCOUTQ, &left) == 0 && left > 0)
        sched_yield();
}

static bool has_heard_of_connection;

static void hear(Sock *called, CFSocketCallBackType type)
{
    (void)called;
    if (type == CONNECT)
        has_heard_of_connection = true;
}

/** Difference 9: whether an error that no connect callback reports causes a write callback. */
static bool hears_of_errors(void)
{
    bool tells = (types & CONNECT) && (types & READING) != ACCEPT && !has_heard_of_connection;
    return !(types & WRITE) || tells;
}

static void reset_connection(void)
{
    struct linger linger = {1, 0};
    note("reset");
    setsockopt(sock.far, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(sock.far);
    sock.far = -1;
    await(sock.fd, POLLERR);
    is_over = true;
}

static void happen(void)
{
    if (kind == CONNECTING) {
        return;
    } else if (kind == LISTENING) {
        note("client");
        clients[client_count++] = client_of(sock.fd, AF_UNIX);
    } else if (pick(8) == 0) {
        if (kind == TCP_PAIR && hears_of_errors())
            reset_connection();
    } else {
        unsigned what = 1 + pick(3);
        if (what & 1) {
            note("room");
            drain(sock.far);
            await(sock.fd, POLLOUT);
        }
        if (what & 2) {
            note("byte");
            say(sock.far, "x");
            if (kind == TCP_PAIR)
                await_arrival(sock.far);
        }
    }
}

/* Calls back everything that is ready. A socket whose callbacks do not end is not changed any further. */
static void call_back(void)
{
    for (int calls = 0; calls < MOST_CALLS; calls++) {
        settle();
        SInt32 result = CFRunLoopRunInMode(MODE, 0, true);
        note("%s", result_name(result));
        if (sock.accepted > 0)
            close(sock.accepted);
        sock.accepted = 0;
        is_over = is_over || !CFSocketIsValid(sock.socket);
        if (result != kCFRunLoopRunHandledSource || is_over)
            return;
    }
    is_over = true;
}

static void play(void)
{
    static const CFOptionFlags some_flags[] = {0, 1, 2, 3, 4, 8, 11, 64, 67};
    CFOptionFlags types_of[] = {0, READ, ACCEPT, DATA};
    kind = (int)(seed % KINDS);
    types = types_of[seed / KINDS % 4] | (seed / KINDS / 4 % 4) << 2;
    line = client_count = 0;
    is_over = has_heard_of_connection = false;
    sock = (Sock){.action = hear, .takes = kind == LISTENING ? 0 : 1};
    if (kind == REFUSED && !hears_of_errors())
        types &= ~(CFOptionFlags)WRITE;
    make_connection();
    /* An unused number, because CF's thread may be waiting for the used ones. */
    int fd = fcntl(sock.fd, F_DUPFD_CLOEXEC, 40 + (int)(seed % 400));
    require(fd >= 0);
    close(sock.fd);
    create_on(&sock, fd, types);
    note("kind %d types %lu", kind, types);
    if (pick(2)) {
        CFOptionFlags flags = CLOSES | some_flags[pick(sizeof some_flags / sizeof *some_flags)];
        if (kind == REFUSED)
            flags &= ~(CFOptionFlags)CONNECT; /* CF clears the error without reporting it */
        note("flags %lu", flags);
        CFSocketSetSocketFlags(sock.socket, flags);
    }
    if (pick(4) == 0)
        enable_or_disable();
    add_to(&sock, MODE);
    call_back();
    show_line("added");
    for (int round = 0; round < ROUNDS && !is_over; round++) {
        struct pollfd ready = {.fd = sock.fd, .events = POLLIN | POLLOUT};
        for (unsigned changes = poll(&ready, 1, 0) > 0 ? pick(2) : pick(4); changes > 0; changes--)
            enable_or_disable();
        call_back();
        if (!is_over && pick(4)) {
            happen();
            call_back();
        }
        if (!is_over && sock.far >= 0)
            fill(sock.fd);
        show_line("");
    }
    check("valid", CFSocketIsValid(sock.socket));
    check("source", CFRunLoopSourceIsValid(sock.source));
    show_line("end");
    CFSocketInvalidate(sock.socket);
    CFRelease(sock.source);
    CFRelease(sock.socket);
    close(sock.far);
    while (client_count > 0)
        close(clients[--client_count]);
}

static void script(unsigned long number)
{
    seed = number;
    play();
}

static int argument_count;
static char **argument_list;
static void all(void)
{
    deaf = bound(AF_INET, SOCK_STREAM);
    nobody = bound(AF_INET, SOCK_STREAM);
    require(listen(deaf, 0) == 0);
    connecting(deaf);
    connecting(deaf);
    run_scripts(argument_count, argument_list, script);
}

int main(int count, char **arguments)
{
    argument_count = count;
    argument_list = arguments;
    signal(SIGPIPE, SIG_IGN);
    return on_thread(all);
}
