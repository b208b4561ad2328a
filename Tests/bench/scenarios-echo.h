/*
 * scenarios-echo.h -- an echo server: the library's streams in this process, and clients in another one, on a separate
 * CPU if there is one. n connections (TCP, loopback); parameter = connections x bytes of a request. The clients are the
 * same for all libraries: each sends a request, and once all have their replies, the next one.
 *     value   nanoseconds from reply to reply: 1e9 / value is requests per second
 *     cpu     nanoseconds of processor time that the server's process takes for each
 *
 * There are two reasons for rounds. Clients that send again immediately (epoll) are about as fast as the servers. If
 * the server is a little faster, they find hundreds of replies at a time; if it is a little slower, they find one, then
 * sleep and are woken for the next, which includes the server's time: a difference of 3 % between two servers becomes
 * 25 %. And the processor time of another process is known only to 4 ms, unless it sleeps, as the server does at the
 * end of a round.
 */
#ifdef HAS_ECHO
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { MOST_ECHO_BYTES = 65536 };

struct echo_times { uint64_t begin, end, cpu; };

static struct echo {
    size_t connections, size, ended;
    int *fds;                           /* the server's ends, which are non-blocking */
    struct echo_times *times;           /* shared with the clients */
} echo_run;

/* For a backend: call when a connection has ended. */
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

/* All clients. It waits for the last reply, since the others have arrived by then. */
static void echo_ask(const int *clients, uint64_t warm, uint64_t rounds, pid_t server)
{
    static uint8_t request[MOST_ECHO_BYTES], reply[MOST_ECHO_BYTES];
    size_t n = echo_run.connections, size = echo_run.size;
    clockid_t clock;
    CHECK(clock_getcpuclockid(server, &clock) == 0);
    for (size_t i = 0; i < size; i++)
        request[i] = (uint8_t)(i * 7);
    for (uint64_t round = 0; round < warm + rounds; round++) {
        if (round == warm)
            echo_run.times->cpu = server_cpu(clock), echo_run.times->begin = now_ns();
        for (size_t i = 0; i < n; i++)
            CHECK(send(clients[i], request, size, 0) == (ssize_t)size);
        for (size_t i = n; i-- > 0;) {
            CHECK(recv(clients[i], reply, size, MSG_WAITALL) == (ssize_t)size);
            CHECK(memcmp(reply, request, size) == 0);
        }
    }
    echo_run.times->end = now_ns(), echo_run.times->cpu = server_cpu(clock) - echo_run.times->cpu;
}

static void echo(const char *parameter)
{
    CHECK(sscanf(parameter, "%zux%zu", &echo_run.connections, &echo_run.size) == 2 && echo_run.size <= MOST_ECHO_BYTES);
    size_t n = echo_run.connections;
    uint64_t rounds = scaled(n == 1 ? 3000 : echo_run.size > 1024 ? 12000 : 24000) / n + 1, warm = rounds / 10 + 1;
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
        echo_ask(clients, warm, rounds, server);
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
    result.operations = rounds * n;
    result.cpu = (double)echo_run.times->cpu / (double)result.operations;
}
#endif
