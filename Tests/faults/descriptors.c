/* Ten threads in turn watch one descriptor each, in a process with N free descriptors.
 *
 *     descriptors N
 *
 * Prints how many loops worked, how many reported EMFILE, how many worked once there were enough descriptors, and
 * how many descriptors are open after all threads have exited. */
#include "faults.h"

#include <semaphore.h>
#include <sys/resource.h>

enum { thread_count = 10 };

struct user {
    pthread_t thread;
    struct watched watched;
    RLRunLoopRunResult results[2];
    int errors[2];
    atomic_int ran;
    sem_t again;
};

static RLRunLoopRunResult run_once(int *error)
{
    errno = 0;
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    *error = errno;
    return result;
}

static void *use(void *info)
{
    struct user *user = info;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    CHECK(loop != NULL);
    RLRunLoopSourceRef source = watch(&user->watched, loop);
    CHECK(RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
    user->results[0] = run_once(&user->errors[0]);
    /* Whatever needs no descriptor works all the time. */
    atomic_int posted = 0;
    CHECK(RLRunLoopPostFunction(loop, RLSTR("quiet"), count_up, &posted));
    RLRunLoopRunInMode(RLSTR("quiet"), 0, 0);
    CHECK(posted == 1);
    atomic_store(&user->ran, 1);
    while (sem_wait(&user->again) != 0)
        ;
    if (user->results[0] == kRLRunLoopRunHandledSource)
        write_byte(&user->watched);
    user->results[1] = run_once(&user->errors[1]);
    end_source(source);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct user users[thread_count];
    struct rlimit usual;
    int worked = 0, refused = 0, worked_again = 0;
    CHECK(argc == 2);
    alarm(30);
    RLSetErrorHandler(no_mistake, NULL);
    close_range(3, ~0U, 0);
    for (int i = 0; i < thread_count; i++) {
        open_pipe(&users[i].watched);
        write_byte(&users[i].watched);
        CHECK(sem_init(&users[i].again, 0, 0) == 0);
    }
    int before = open_descriptors();
    int next = dup(0);
    CHECK(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &usual) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next + (rlim_t)atoi(argv[1]), usual.rlim_max}) == 0);
    for (int i = 0; i < thread_count; i++) {
        CHECK(pthread_create(&users[i].thread, NULL, use, &users[i]) == 0);
        until(&users[i].ran, 1);
        worked += users[i].results[0] == kRLRunLoopRunHandledSource;
        refused += users[i].results[0] == kRLRunLoopRunFinished && users[i].errors[0] == EMFILE;
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
    for (int i = 0; i < thread_count; i++) {
        sem_post(&users[i].again);
        CHECK(pthread_join(users[i].thread, NULL) == 0);
        worked_again += users[i].results[1] == kRLRunLoopRunHandledSource && users[i].watched.performed >= 1;
    }
    printf("worked %d refused %d worked-again %d left-open %d\n", worked, refused, worked_again,
           open_descriptors() - before);
    return 0;
}
