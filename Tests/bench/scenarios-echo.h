/*
 * scenarios-echo.h -- an echo server: the library's streams in this process, and in another one, on a CPU of its own if
 * there is one, clients of hand-written epoll code, which is the same for all. Each of n connections (TCP, loopback) has one
 * request under way; parameter = connections x bytes of a request.
 *     value   nanoseconds from reply to reply: 1e9 / value is requests per second
 *     cpu     nanoseconds of processor time that the server's process takes for each
 */
#ifdef HAS_ECHO
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { MOST_ECHO_BYTES = 65536 };

struct echo_times { uint64_t begin, end, cpu; };

static struct echo {
    size_t connections, size, ended;
    int *fds;                           /* the server's ends, which do not block */
    struct echo_times *times;           /* shared with the clients */
} echo_run;

/* For a backend: a connection has ended. */
static void on_echo_end(void)
{
    if (++echo_run.ended == echo_run.connections)
        loop_stop(first_loop());
}

static void echo_connect(int *clients)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    for (size_t i = 0; i < echo_run.connections; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(clients[i] >= 0 && connect(clients[i], (struct sockaddr *)&address, size) == 0);
        echo_run.fds[i] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        CHECK(echo_run.fds[i] >= 0);
        CHECK(setsockopt(clients[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
        CHECK(setsockopt(echo_run.fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    }
    close(listener);
}

static uint64_t server_cpu(clockid_t clock)
{
    struct timespec t;
    CHECK(clock_gettime(clock, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* All clients: sends the next request of a connection when its reply is complete. */
static void echo_ask(const int *clients, uint64_t warm, uint64_t total, pid_t server)
{
    static uint8_t request[MOST_ECHO_BYTES], reply[MOST_ECHO_BYTES];
    size_t n = echo_run.connections, size = echo_run.size, *heard = allocate(n, sizeof *heard);
    clockid_t clock;
    CHECK(clock_getcpuclockid(server, &clock) == 0);
    for (size_t i = 0; i < size; i++)
        request[i] = (uint8_t)(i * 7);
    int epoll = epoll_create1(0);
    for (size_t i = 0; i < n; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i], &event) == 0);
        CHECK(send(clients[i], request, size, 0) == (ssize_t)size);
    }
    uint64_t done = 0, asked = n;
    while (done < warm + total) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int e = 0; e < ready; e++) {
            size_t i = events[e].data.u64;
            ssize_t count = recv(clients[i], reply, size - heard[i], 0);
            CHECK(count > 0 && memcmp(reply, request + heard[i], (size_t)count) == 0);
            heard[i] += (size_t)count;
            if (heard[i] < size)
                continue;
            heard[i] = 0;
            if (++done == warm)
                echo_run.times->cpu = server_cpu(clock), echo_run.times->begin = now_ns();
            if (done == warm + total)
                echo_run.times->end = now_ns(), echo_run.times->cpu = server_cpu(clock) - echo_run.times->cpu;
            if (asked++ < warm + total)
                CHECK(send(clients[i], request, size, 0) == (ssize_t)size);
        }
    }
}

static void echo(const char *parameter)
{
    CHECK(sscanf(parameter, "%zux%zu", &echo_run.connections, &echo_run.size) == 2 && echo_run.size <= MOST_ECHO_BYTES);
    size_t n = echo_run.connections;
    uint64_t total = scaled(n == 1 ? 3000 : echo_run.size > 1024 ? 8000 : 15000), warm = total / 10 + n;
    int *clients = allocate(n, sizeof *clients), server_place = nth_cpu(0), client_place = nth_cpu(1);
    echo_run.fds = allocate(n, sizeof *echo_run.fds);
    echo_run.times = mmap(NULL, sizeof *echo_run.times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(echo_run.times != MAP_FAILED);
    echo_connect(clients);
    pid_t server = getpid(), asker = fork();
    CHECK(asker >= 0);
    if (asker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < n; i++)
            close(echo_run.fds[i]);
        pin_to(client_place);
        echo_ask(clients, warm, total, server);
        _exit(0);
    }
    for (size_t i = 0; i < n; i++)
        close(clients[i]);
    pin_to(server_place);
    loop_init(first_loop());
    echo_serve(first_loop(), echo_run.fds, n);
    int status = 1;
    CHECK(waitpid(asker, &status, 0) == asker && status == 0);
    CHECK(echo_run.ended == n);
    result.begin = echo_run.times->begin;
    result.end = echo_run.times->end;
    result.operations = total;
    result.cpu = (double)echo_run.times->cpu / (double)total;
}
#endif
