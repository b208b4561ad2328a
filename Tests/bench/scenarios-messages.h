/*
 * scenarios-messages.h -- messages:
 *     ask       a request and its reply between two processes on one CPU; parameter = bytes of each
 *     deliver   one-way messages from one thread to another's loop, each waiting only if the queue is full. With the
 *               parameter "sender", the sender works for a tenth of a microsecond between two messages; with
 *               "receiver", the callback works for a microsecond, on the same CPU
 */
#include "../own-directory.h"

/* ---- ask -------------------------------------------------------------------------------------------- */

#ifdef HAS_ASK
static void ask(const char *parameter)
{
    size_t size = strtoul(parameter, NULL, 10);
    uint64_t total = scaled(size > 4096 ? 200 : 10000), warm = total / 10 + 1;
    char directory[OWN_DIRECTORY_SIZE];
    CHECK(size > 0);
    make_directory_for_names(directory);
    pin_to(sched_getcpu());
    ask_prepare(size);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ask_serve(size);
        _exit(0);
    }
    for (uint64_t i = 0; i < warm + total; i++) {
        if (i == warm)
            measure_begin();
        CHECK(ask_once(size) == size);
    }
    measure_end();
    result.operations = total;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    remove_directory(directory);
}
#endif

/* ---- deliver ---------------------------------------------------------------------------------------- */

#ifdef HAS_DELIVER
/* The sender reads `total` each time, so it is not in the cache line that the receiver writes each time. */
static struct {
    uint64_t total;
    unsigned sender_works, receiver_works;
    _Alignas(128) uint64_t done;
    char apart[120];
} deliveries;

/* Keeps the processor busy for roughly half a nanosecond times `turns`. */
static void work(unsigned turns)
{
    for (volatile unsigned i = 0; i < turns; i++)
        continue;
}

static void on_delivery(void)
{
    work(deliveries.receiver_works);
    if (++deliveries.done < deliveries.total)
        return;
    measure_end();
    loop_stop(first_loop());
}

static void *deliver_all(void *unused)
{
    (void)unused;
    pin_to(nth_cpu(deliveries.receiver_works == 0));
    measure_begin();
    for (uint64_t i = 0; i < deliveries.total; i++) {
        work(deliveries.sender_works);
        deliver_one(first_loop());
    }
    return NULL;
}

static void deliver(const char *parameter)
{
    if (usable_cpus() < 2)
        _exit(EXIT_UNSUPPORTED);
    int receiver = nth_cpu(0);
    deliveries.sender_works = strcmp(parameter, "sender") == 0 ? 300 : 0;
    deliveries.receiver_works = strcmp(parameter, "receiver") == 0 ? 3000 : 0;
    deliveries.total = scaled(50000);
    loop_init(first_loop());
    deliver_init(first_loop());
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, deliver_all, NULL) == 0);
    pin_to(receiver);
    loop_run(first_loop());
    pthread_join(thread, NULL);
    CHECK(deliveries.done == deliveries.total);
    result.operations = deliveries.total;
}
#endif
