/* Helpers shared by the tests of RLWorkers. */
#ifndef RUNLOOP_TESTS_KIT_WORKERS_H
#define RUNLOOP_TESTS_KIT_WORKERS_H
#include "kit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

static RLWorkersRef workers;
static gate hold; /* work that waits for it continues one by one */
static atomic_int begun;
static _Thread_local bool is_worker;
static RLRunLoopRef main_loop;

struct job {
    RLWorkRef work;
    atomic_int calls;
    bool ends_thread;
    const char *name;
    int completed;
};

/* Returns the number of workers' threads. They are found by name, since a sanitizer has threads, too. */
UNUSED static int live_workers(void)
{
    char path[300], name[32] = "";
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(directory));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        count += file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "runloop-worker\n") == 0;
        if (file != NULL)
            fclose(file);
    }
    closedir(directory);
    return count;
}

/* Waits until there are that many threads. Fails if there are more, unless 0 are wanted. A thread names itself when
 * it starts. */
UNUSED static void await_workers(int wanted)
{
    int live;
    while ((live = live_workers()) != wanted) {
        require(live < wanted || wanted == 0);
        sched_yield();
    }
}

UNUSED static void set_up(void)
{
    gate_init(&hold);
    main_loop = RLRunLoopGetCurrent();
    workers = RLWorkersCreate(NULL, 2);
    ck_assert_int_eq(RLWorkersGetLimit(workers), 2);
}

UNUSED static void tear_down(void)
{
    if (workers != NULL)
        RLRelease(workers);
    await_workers(0);
}

UNUSED static void do_job(RLWorkRef work, void *info)
{
    struct job *job = info;
    require(work == job->work && RLRunLoopGetCurrent() != main_loop);
    is_worker = true;
    bool ends_thread = job->ends_thread;
    job->calls++; /* afterwards a waiting thread may leave the function that owns the job */
    if (ends_thread)
        pthread_exit(NULL);
}

UNUSED static void wait_in_job(RLWorkRef work, void *info)
{
    begun++;
    gate_pass(&hold);
    do_job(work, info);
}

UNUSED static void job_is_done(RLWorkRef work, void *info)
{
    struct job *job = info;
    require(work == job->work && !is_worker && !RLRunLoopSourceIsValid(work) && job->calls == 1);
    job->completed++;
    if (job->name)
        note(job->name);
}

UNUSED static void make_job(struct job *job, RLWorkFunction function)
{
    RLWorkContext context = {.info = job};
    job->work = RLWorkCreate(NULL, 0, function, job_is_done, &context);
    add(job->work);
}

UNUSED static void submit(struct job *job, RLWorkFunction function)
{
    make_job(job, function);
    ck_assert(RLWorkersSubmit(workers, job->work));
}

UNUSED static void run_until_finished(void)
{
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
}

UNUSED static void drop_jobs(struct job *jobs, int count)
{
    for (int i = 0; i < count; i++)
        RLRelease(jobs[i].work);
}

#endif
