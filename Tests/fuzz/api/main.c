/* api [--seed=N] [--rounds=N]: one process, one seed. api --seconds=N [--seed=FIRST] [--jobs=N]: runs processes one
 * after the other, with the seeds from FIRST on, until the time has elapsed; the exit status is 1 if one failed. See
 * README.md. */
#include "fuzz.h"
#include "../../own-directory.h"

#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;
static double seconds;
static int rounds = 1, jobs = 2;
static const char *served;
static char **given;
char program[4096];

static const struct option options[] = {
    {"seed", required_argument, NULL, 's'},    {"rounds", required_argument, NULL, 'r'},
    {"seconds", required_argument, NULL, 't'}, {"jobs", required_argument, NULL, 'j'},
    {"serve", required_argument, NULL, 'p'},   {"without", required_argument, NULL, 'w'},
    {"stacks", no_argument, NULL, 'g'},        {"patience", required_argument, NULL, 'h'},
    {"continue", no_argument, NULL, 'c'},      {"theme", required_argument, NULL, 'm'},
    {"theme", required_argument, NULL, 'm'},   {NULL, 0, NULL, 0}};
static bool goes_on;

static unsigned part_named(const char *name)
{
    static const char *const names[] = {"exit", "cancel", "fork", "seccomp", "lonely", "move"};
    for (unsigned index = 0; index < sizeof names / sizeof *names; index++)
        if (strcmp(name, names[index]) == 0)
            return 1U << index;
    fprintf(stderr, "api: --without=%s?\n", name);
    exit(2);
}

static void read_options(int count, char **arguments)
{
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 's':
            config.seed = strtoull(optarg, NULL, 0);
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        case 't':
            seconds = atof(optarg);
            break;
        case 'j':
            jobs = atoi(optarg);
            break;
        case 'p':
            served = optarg;
            break;
        case 'w':
            config.without |= part_named(optarg);
            break;
        case 'g':
            config.stacks = true;
            break;
        case 'h':
            config.patience = atof(optarg);
            break;
        case 'm':
            config.theme = atoi(optarg);
            break;
        case 'c':
            goes_on = true;
            break;
        default:
            exit(2);
        }
    }
}

/* ---- One process, one seed ---- */

/* Handler of a signal that may interrupt anything: these four functions may be called in a handler. */
static void interrupted(UNUSED int signal)
{
    int error = errno;
    RLRunLoopRef loop = threads[0].loop;
    if (loop != NULL && !RLRunLoopIsWaiting(loop))
        RLRunLoopWakeUp(loop);
    errno = error;
}

static void make_modes(void)
{
    modes[0] = kRLRunLoopDefaultMode;
    modes[1] = RLSTR("A");
    modes[2] = RLSTR("B");
    modes[3] = RLSTR("C");
    lonely_mode = RLSTR("lonely");
    check_mode = RLSTR("check");
    all_modes = RLArrayCreate(NULL, (const void **)modes, MODES, &kRLTypeArrayCallBacks);
}

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int run_seed(void)
{
    char directory[OWN_DIRECTORY_SIZE];
    struct rlimit limit;
    struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESTART};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &limit);
    make_directory_for_names(directory);
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    uint64_t first = config.seed;
    make_modes();
    size_t before = 0;
    int descriptors = open_descriptors();
    for (int round = 0; round < rounds; round++) {
        decide(first + (uint64_t)round * 1000000007);
        start_watching();
        if (config.peer)
            start_peer();
        run_round();
        if (config.peer)
            stop_peer();
        stop_watching();
        int left = open_descriptors() - descriptors;
        config.seed = first;
        check(left == 0, "%d descriptors are still open after round %d", left, round);
        if (round == rounds / 2)
            before = memory_in_use();
    }
    if (rounds >= 8)
        printf("seed %llu: %ld bytes more after the second half of %d rounds\n", (unsigned long long)first,
               (long)(memory_in_use() - before), rounds);
    RLRelease(all_modes);
    remove_directory(directory);
    return 0;
}

/* ---- Many processes ---- */

/* The process's output goes to a separate file, so that it can be shown as a whole. */
static pid_t start_seed(uint64_t seed, int output)
{
    char number[40], words[200], *arguments[40] = {NULL};
    int count = 0;
    snprintf(words, sizeof words, "%s", getenv("FUZZ_TOOL") == NULL ? "" : getenv("FUZZ_TOOL"));
    for (char *word = strtok(words, " "); word != NULL && count < 15; word = strtok(NULL, " "))
        arguments[count++] = word;
    arguments[count++] = program;
    arguments[count++] = number;
    snprintf(number, sizeof number, "--seed=%llu", (unsigned long long)seed);
    for (char **argument = given + 1; *argument != NULL && count < 39; argument++)
        if (strncmp(*argument, "--seed", 6) != 0 && strncmp(*argument, "--jobs", 6) != 0 &&
            strncmp(*argument, "--continue", 10) != 0)
            arguments[count++] = *argument;
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    check(posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0, "no process");
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static void show(int output)
{
    char buffer[4096];
    lseek(output, 0, SEEK_SET);
    for (ssize_t count; (count = read(output, buffer, sizeof buffer)) > 0;)
        (void)!write(2, buffer, (size_t)count);
}

static int run_many(void)
{
    double end = now() + seconds;
    uint64_t seed = config.seed, first = seed;
    struct {
        pid_t child;
        uint64_t seed;
        int output;
    } running[64] = {{0, 0, 0}};
    int failed = 0, alive = 0;
    for (;;) {
        for (int job = 0; job < jobs && job < 64 && now() < end && (goes_on || failed == 0); job++) {
            if (running[job].child != 0)
                continue;
            running[job].seed = seed++;
            running[job].output = memfd_create("output", MFD_CLOEXEC);
            running[job].child = start_seed(running[job].seed, running[job].output);
            alive++;
        }
        int status;
        if (alive == 0)
            break;
        pid_t ended = waitpid(-1, &status, 0);
        for (int job = 0; job < 64; job++) {
            if (ended <= 0 || running[job].child != ended)
                continue;
            running[job].child = 0;
            alive--;
            if (status != 0) {
                failed++;
                show(running[job].output);
                fprintf(stderr, "== failed (status %x); again: api --seed=%llu --stacks\n", status,
                        (unsigned long long)running[job].seed);
            }
            close(running[job].output);
        }
    }
    printf("seeds %llu to %llu: %d failed\n", (unsigned long long)first, (unsigned long long)seed - 1, failed);
    return failed != 0;
}

int main(int count, char **arguments)
{
    given = arguments;
    check(readlink("/proc/self/exe", program, sizeof program - 1) > 0, "no /proc");
    read_options(count, arguments);
    if (served != NULL)
        return serve_as_peer(served);
    if (seconds > 0 && getenv("FUZZ_CHILD") == NULL) {
        setenv("FUZZ_CHILD", "1", 1);
        return run_many();
    }
    return run_seed();
}
