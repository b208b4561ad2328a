/* names SECONDS [PROCESSES]: processes race for one name. The process that owns it records that in shared memory,
 * and must find no other owner there. Some are killed while they own it: the name must then be free again. */
#include "stress.h"

#include <sys/mman.h>

enum { MOST = 16 };
static _Atomic pid_t *owner;
static atomic_long *taken;

static RLDataRef answer(UNUSED RLMessagePortRef port, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return (RLDataRef)RLRetain(data);
}

/* The parent clears the entries of processes that it killed. */
static void become_owner(void)
{
    double begin = now();
    for (pid_t other = 0; !atomic_compare_exchange_strong(owner, &other, getpid()); other = 0) {
        if (now() > begin + PATIENCE)
            fail("two processes have the name: %d, too", other);
        usleep(200);
        if (kill(other, 0) == 0 && now() > begin + 2) {
            char path[40], state = 0;
            snprintf(path, sizeof path, "/proc/%d/stat", other);
            FILE *file = fopen(path, "r");
            if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
                state = 'X';
            if (file != NULL)
                fclose(file);
            if (state != 'Z' && state != 'X' && *owner == other)
                fail("two processes have the name: %d (%c), too", other, state);
        }
    }
}

static void race(uint64_t dice)
{
    RLStringRef name = RLSTR("stress");
    for (;;) {
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
        if (port == NULL) {
            if (errno != EADDRINUSE)
                fail("CreateLocal: %s", strerror(errno));
            if (roll(&dice, 4) == 0)
                usleep(roll(&dice, 300));
            continue;
        }
        become_owner();
        // EAGAIN: on a busy machine the others have connected so often that this port, which runs no loop, accepts no
        // more connections.
        if (RLMessagePortGetNameOwner(name) != getpid() && errno != EAGAIN)
            fail("the name's owner is %d: %s", RLMessagePortGetNameOwner(name), strerror(errno));
        if (roll(&dice, 2) == 0)
            usleep(roll(&dice, 200));
        ++*taken;
        *owner = 0;
        RLMessagePortInvalidate(port);
        RLRelease(port);
        if (roll(&dice, 2) == 0)
            sched_yield();
    }
}

static pid_t start(int index)
{
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        race((uint64_t)getpid() + (uint64_t)index);
        _exit(0);
    }
    return child;
}

/* Checks that the child ended in the way that was intended. */
static void reap(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        require(errno == EINTR);
    pid_t dead = child;
    atomic_compare_exchange_strong(owner, &dead, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail("a process ended with status %x", status);
}

int main(int count, char **arguments)
{
    char directory[OWN_DIRECTORY_SIZE];
    double end = now() + (count > 1 ? atof(arguments[1]) : 10);
    int processes = count > 2 ? atoi(arguments[2]) : 5;
    pid_t children[MOST];
    uint64_t dice = 1;
    require(processes >= 2 && processes <= MOST);
    make_directory_for_names(directory);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(shared != MAP_FAILED);
    owner = (void *)shared;
    taken = (void *)(shared + 64);
    for (int index = 0; index < processes; index++)
        children[index] = start(index);
    long kills = 0;
    for (; now() < end; kills++) {
        usleep(roll(&dice, 20000));
        unsigned victim = roll(&dice, (unsigned)processes);
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended != 0)
            fail("a process ended by itself with status %x", status);
        kill(children[victim], SIGKILL);
        reap(children[victim]);
        children[victim] = start((int)victim);
    }
    long before = *taken;
    for (double limit = now() + PATIENCE; *taken == before;) {
        if (now() > limit)
            fail("nobody gets the name any more");
        usleep(1000);
    }
    for (int index = 0; index < processes; index++) {
        kill(children[index], SIGKILL);
        reap(children[index]);
    }
    printf("the name was taken %ld times, %ld processes were killed\n", *taken, kills);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("stress"), answer, NULL, NULL);
    if (port == NULL)
        fail("the name is not free when all are dead: %s", strerror(errno));
    RLMessagePortInvalidate(port);
    RLRelease(port);
    remove_directory(directory);
    return 0;
}
