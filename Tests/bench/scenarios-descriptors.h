/*
 * scenarios-descriptors.h
 *     chain      libevent's benchmark: N socket pairs, 100 messages in flight; reading a message
 *                writes one to the next pair: one message. "most": as many pairs as the limit
 *                of descriptors allows, 10 000 at most. BENCH_PAIRS=FIRST:N: N pairs are already open, as the
 *                descriptors from FIRST on
 *     memory     bytes per watched descriptor
 *     (pass)     the quiet descriptor of "pass descriptor"
 */
#include <sys/resource.h>
#include <sys/socket.h>

static struct {
    int *readers, *writers;
    size_t pairs;
    uint64_t to_write, written, read;
} pairs_;

enum { OTHER_DESCRIPTORS = 100 };

static size_t most_pairs(void)
{
    struct rlimit limit;
    size_t wanted = 10000;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 2 * wanted + OTHER_DESCRIPTORS;
    if (limit.rlim_max < limit.rlim_cur) {
        struct rlimit more = { limit.rlim_cur, limit.rlim_cur };
        if (setrlimit(RLIMIT_NOFILE, &more) < 0)
            return ((size_t)limit.rlim_max - OTHER_DESCRIPTORS) / 2;
    }
    return wanted;
}

/* The kernel's placement of sockets accounts for a tenth of the time, so all programs of a row share the same ones. */
static bool use_given_pairs(size_t n)
{
    const char *given = getenv("BENCH_PAIRS");
    int first;
    size_t count;
    if (!given)
        return false;
    CHECK(sscanf(given, "%d:%zu", &first, &count) == 2 && count == n);
    for (size_t i = 0; i < n; i++) {
        pairs_.readers[i] = first + 2 * (int)i;
        pairs_.writers[i] = pairs_.readers[i] + 1;
    }
    return true;
}

static void open_pairs(size_t n)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 2 * n + OTHER_DESCRIPTORS)
        limit.rlim_max = 2 * n + OTHER_DESCRIPTORS;     /* allowed for root */
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        _exit(EXIT_UNSUPPORTED);
    pairs_.pairs = n;
    pairs_.readers = allocate(n, sizeof *pairs_.readers);
    pairs_.writers = allocate(n, sizeof *pairs_.writers);
    if (use_given_pairs(n))
        return;
    for (size_t i = 0; i < n; i++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
        pairs_.readers[i] = pair[0];
        pairs_.writers[i] = pair[1];
    }
}

static void watch_pairs(struct loop *loop)
{
    descriptors_init(loop, pairs_.pairs);
    for (size_t i = 0; i < pairs_.pairs; i++)
        descriptor_add(loop, i, pairs_.readers[i]);
}

static void write_message(size_t i)
{
    uint64_t message = 1;
    CHECK(write(pairs_.writers[i], &message, message_size) == (ssize_t)message_size);
}

static void on_message(size_t i)
{
    pairs_.read++;
    if (pairs_.written < pairs_.to_write) {
        pairs_.written++;
        write_message(i + 1 == pairs_.pairs ? 0 : i + 1);
    } else if (pairs_.read == pairs_.written && !scenario_is("pass")) {
        measure_end();
        loop_stop(first_loop());
    }
}

static MAYBE_UNUSED void on_readable(size_t i)
{
    uint64_t message;
    ssize_t length = read(pairs_.readers[i], &message, message_size);
    if (length < 0 && errno == EAGAIN)
        return;
    CHECK(length == (ssize_t)message_size);
    on_message(i);
}

/* Sends `active` messages and runs the loop until `messages` have been read. */
static void run_chain(size_t first, size_t step, size_t active, uint64_t messages)
{
    pairs_.read = 0;                        /* before the first write: handlers may run on */
    pairs_.written = active;                /* another thread (libdispatch)                */
    pairs_.to_write = messages;
    measure_begin();
    for (size_t i = 0; i < active; i++)
        write_message(first + i * step);
    loop_run(first_loop());
    CHECK(pairs_.read == messages && pairs_.written == messages);
}

static void chain(const char *parameter)
{
    size_t n = strcmp(parameter, "most") == 0 ? most_pairs() : strtoul(parameter, NULL, 10), active = 100;
    CHECK(n >= active);
    result.size = n;
    open_pairs(n);
    loop_init(first_loop());
    watch_pairs(first_loop());
    run_chain(n / 2, 0, 1, 1);              /* lazy registration is not measured */
    run_chain(0, n / active, active, scaled(40000));
    result.operations = pairs_.to_write;
}

static void descriptor_memory(const char *parameter)
{
    (void)parameter;
    size_t n = 5000;
    open_pairs(n);
    loop_init(first_loop());
    uint64_t before = resident_bytes();
    watch_pairs(first_loop());
    run_chain(n - 1, 0, 1, 1);
    result.operations = n;
    result.value = ((double)resident_bytes() - (double)before) / (double)n;
    if (result.value <= 0)
        result.value = 0.01;                /* fits in pages that were there already */
}

/* ---- for "pass descriptor" ------------------------------------------------------------------------ */

static void quiet_descriptor_open(struct loop *loop)
{
    open_pairs(1);
    watch_pairs(loop);
    pairs_.to_write = pairs_.written = 1;
}

static void quiet_descriptor_poke(void) { write_message(0); }
static bool quiet_descriptor_served(void) { return pairs_.read == 1; }
