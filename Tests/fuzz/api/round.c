/* One round: loops whose threads start and exit, threads without loops, and the checks after all of them have
 * exited. */
#include "fuzz.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

struct thread threads[MOST_THREADS];
_Thread_local struct thread *self;
RLRunLoopMode modes[MODES], lonely_mode, check_mode;
RLArrayRef all_modes;

/* Thread 0 is the director; its loop is an ordinary one that outlives the others. Then follow loops, mutators, and
 * the forker. */
enum { DIRECTOR = 0, FIRST_LOOP = 1, FIRST_MUTATOR = FIRST_LOOP + MOST_LOOPS, FORKER = FIRST_MUTATOR + MOST_MUTATORS };
static atomic_int mutators_left;

int loop_count(void) { return 1 + config.loops; }

RLRunLoopMode any_mode(struct dice *dice)
{
    return one_in(dice, 6) ? kRLRunLoopCommonModes : modes[one_in(dice, 2) ? 0 : below(dice, MODES)];
}

/* ---- References ---- */

void hold(RLTypeRef object)
{
    check(self->held_count < MOST_HELD, "too many references");
    self->held[self->held_count++] = object;
}

void release_held(RLTypeRef object)
{
    if (object == NULL)
        return;
    for (int index = self->held_count - 1; index >= 0; index--)
        if (self->held[index] == object) {
            self->held[index] = self->held[--self->held_count];
            RLRelease(object);
            return;
        }
    check(false, "a reference that is not held");
}

RLRunLoopRef hold_loop(int index)
{
    struct thread *thread = &threads[index];
    pthread_mutex_lock(&thread->lock);
    RLRunLoopRef loop = thread->loop == NULL ? NULL : (RLRunLoopRef)RLRetain(thread->loop);
    pthread_mutex_unlock(&thread->lock);
    if (loop != NULL)
        hold(loop);
    return loop;
}

RLRunLoopRef hold_any_loop(void) { return hold_loop((int)below(&self->dice, (unsigned)loop_count())); }

/* Publishes the thread's own loop, so that other threads can find it. */
static void publish_loop(void)
{
    RLRunLoopRef loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    pthread_mutex_lock(&self->lock);
    RLRunLoopRef old = self->loop;
    self->loop = loop;
    pthread_mutex_unlock(&self->lock);
    if (old != NULL)
        RLRelease(old);
}

static void forget_loop(struct thread *thread)
{
    if (thread->loop != NULL)
        RLRelease(thread->loop);
    thread->loop = NULL;
}

/* ---- The lifetime of a thread with a loop ---- */

RLRunLoopRunResult run_in(RLRunLoopMode mode, double seconds, bool returns)
{
    self->runs++;
    RLRunLoopRunResult result = RLRunLoopRunInMode(mode, seconds, returns);
    self->runs--;
    return result;
}

static void keep_alive(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) {}

/* Keeps modes from being empty, so that runs without a limit sleep. */
static void add_keepers(void)
{
    for (int index = 0; index < MODES; index++) {
        if (one_in(&self->dice, 3))
            continue;
        RLRunLoopTimerRef keeper =
            RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 1e6, 1e6, 0, 0, keep_alive, NULL);
        RLRunLoopAddTimer(RLRunLoopGetCurrent(), keeper, modes[index]);
        RLRelease(keeper);
    }
}

/* Publishes the item that the thread waits for, so that the director can end it if no other thread does. */
static void publish_lonely(struct item item)
{
    pthread_mutex_lock(&self->lock);
    self->lonely_item = item;
    self->lonely = item.info;
    pthread_mutex_unlock(&self->lock);
}

/* Runs a mode with a single item, which some other thread invalidates sooner or later. No function is posted to that
 * mode, so nothing else ends the run. */
static void wait_for_the_only_item(void)
{
    enum kind kind = any_kind(&self->dice);
    if (kind == REMOTE || kind == OBSERVER)
        return;
    int slot = (int)below(&self->dice, (unsigned)config.slots);
    fill_slot(slot, kind);
    struct item item = take(slot);
    if (item.object != NULL && item.info != NULL && item.kind == kind) {
        add(RLRunLoopGetCurrent(), item, lonely_mode);
        publish_lonely(item);
        if (!self->over) {
            doing("runs the mode of a single item", slot);
            open_to_cancellation();
            run_in(lonely_mode, HUGE_VAL, false);
            closed_to_cancellation();
        }
        publish_lonely((struct item){.kind = kind});
        remove_from(RLRunLoopGetCurrent(), item, lonely_mode); /* in case the run was stopped */
    }
    release_held(item.object);
}

static void end_of_life(void *thread)
{
    self = thread;
    self->doing = "ends";
    self->with = -1;
    publish_lonely((struct item){.kind = REMOTE});
    for (; self->depth > 0; self->depth--) {
        if (self->depth > DEEPEST)
            continue;
        struct question *question = self->questions[self->depth - 1];
        if (question != NULL) {
            question->ended_at = now();
            question->ended = true;
        }
        if (self->calls[self->depth - 1] != NULL)
            self->calls[self->depth - 1]->ended_in++;
    }
    while (self->held_count > 0)
        RLRelease(self->held[--self->held_count]);
    pthread_mutex_lock(&self->lock);
    self->is_alive = false;
    pthread_mutex_unlock(&self->lock);
}

static void live(void)
{
    static const double times[] = {0, 0.0005, 0.003, 0.02, HUGE_VAL};
    publish_loop();
    add_keepers();
    for (int runs = 0; !self->over && runs < 400; runs++) {
        RLRunLoopMode mode = modes[one_in(&self->dice, 2) ? 0 : below(&self->dice, MODES)];
        if (config.lonely && one_in(&self->dice, 4))
            wait_for_the_only_item();
        doing("runs", -1);
        bool is_long = below(&self->dice, 4) == 0;
        open_to_cancellation();
        RLRunLoopRunResult result = run_in(mode, times[is_long ? 4 : below(&self->dice, 4)], one_in(&self->dice, 3));
        closed_to_cancellation();
        if (result == kRLRunLoopRunFinished)
            sched_yield();
        if (one_in(&self->dice, 3) && self->budget-- > 0)
            act();
    }
}

static void *loop_thread(void *thread)
{
    self = thread;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_push(end_of_life, thread);
    live();
    pthread_cleanup_pop(1);
    return NULL;
}

static void *mutator_thread(void *thread)
{
    self = thread;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int step = 0; step < config.steps; step++)
        act();
    while (self->held_count > 0)
        RLRelease(self->held[--self->held_count]);
    mutators_left--;
    doing("has done its steps", -1);
    return NULL;
}

/* Forks, and the child exits immediately, as before exec. Never calls the library. */
static void *forker_thread(void *thread)
{
    self = thread;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (!self->over) {
        self->doing = "forks";
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        check(status == 0, "the child of a thread that never used the library ended with status %x", status);
        usleep(1000 + below(&self->dice, 3000));
    }
    self->doing = "forks no more";
    return NULL;
}

static void start(int index, void *(*body)(void *))
{
    struct thread *thread = &threads[index];
    thread->index = index;
    thread->lives++;
    thread->dice = dice_of(config.seed + (uint64_t)thread->lives * 1000003, (unsigned)index + 1);
    thread->has_loop = body == loop_thread;
    thread->is_mutator = body == mutator_thread;
    thread->over = false;
    thread->depth = thread->runs = thread->held_count = thread->must_return = 0;
    thread->budget = 300;
    thread->with = -1;
    thread->doing = "starts";
    pthread_mutex_lock(&thread->lock);
    thread->is_alive = true;
    thread->is_joined = false;
    check(pthread_create(&thread->handle, NULL, body, thread) == 0, "no thread");
    pthread_mutex_unlock(&thread->lock);
}

static void join(int index)
{
    if (threads[index].is_joined)
        return;
    doing("joins", index);
    pthread_join(threads[index].handle, NULL);
    pthread_mutex_lock(&threads[index].lock);
    threads[index].is_joined = true;
    threads[index].is_alive = false;
    pthread_mutex_unlock(&threads[index].lock);
}

static bool has_ended(int index)
{
    pthread_mutex_lock(&threads[index].lock);
    bool ended = !threads[index].is_alive;
    pthread_mutex_unlock(&threads[index].lock);
    return ended;
}

/* ---- Exit of a loop's thread ---- */

/* Stops the outermost run. Nested runs have short limits, and this is called again after each. */
static void stop_for_good(UNUSED void *info)
{
    if (!self->over)
        return;
    if (self->runs > 1)
        RLRunLoopPostFunction(RLRunLoopGetCurrent(), all_modes, stop_for_good, NULL);
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void end_lonely_item(struct thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    struct item item = thread->lonely_item;
    if (item.object != NULL)
        hold(RLRetain(item.object));
    pthread_mutex_unlock(&thread->lock);
    if (item.object != NULL && is_valid(item))
        invalidate(item);
    release_held(item.object);
}

static void end_loop(int index)
{
    struct thread *thread = &threads[index];
    doing("ends loop", index);
    thread->over = true;
    for (double begin = now(); !has_ended(index) && thread->lonely != NULL;) {
        end_lonely_item(thread);
        check(now() < begin + config.patience / 3, "loop %d sleeps although its only item is invalid", index);
        usleep(500);
    }
    RLRunLoopRef loop = hold_loop(index);
    if (loop != NULL) {
        RLRunLoopPostFunction(loop, all_modes, stop_for_good, NULL);
        release_held(loop);
    }
    join(index);
}

/* ---- The round ---- */

static void *direct(UNUSED void *unused)
{
    self = &threads[DIRECTOR];
    *self = (struct thread){.index = DIRECTOR,
                            .dice = dice_of(config.seed, 999),
                            .budget = 1000,
                            .with = -1,
                            .lives = 1,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .is_alive = true,
                            .is_joined = true};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    publish_loop();
    for (int index = 0; index < config.loops; index++)
        start(FIRST_LOOP + index, loop_thread);
    mutators_left = config.mutators;
    for (int index = 0; index < config.mutators; index++)
        start(FIRST_MUTATOR + index, mutator_thread);
    if (config.forker)
        start(FORKER, forker_thread);
    for (int pass = 0; mutators_left > 0; pass++) {
        for (int index = 0; index < config.loops; index++)
            if (has_ended(FIRST_LOOP + index)) {
                join(FIRST_LOOP + index);
                start(FIRST_LOOP + index, loop_thread);
            }
        if (config.denies_membarrier && pass == 3)
            deny_membarrier();
        doing("directs", -1);
        if (one_in(&self->dice, 4))
            act();
        else
            usleep(500);
    }
    for (int index = 0; index < config.mutators; index++)
        join(FIRST_MUTATOR + index);
    if (config.forker) {
        threads[FORKER].over = true;
        join(FORKER);
    }
    for (int index = 0; index < config.loops; index++)
        end_loop(FIRST_LOOP + index);
    check_what_is_left();
    for (int index = 0; index < MOST_THREADS; index++)
        forget_loop(&threads[index]);
    doing("ends", -1);
    return NULL;
}

void run_round(void)
{
    pthread_t director;
    for (int index = 0; index < MOST_THREADS; index++) {
        threads[index].lives = 0;
        threads[index].is_joined = true;
        pthread_mutex_init(&threads[index].lock, NULL);
    }
    check(pthread_create(&director, NULL, direct, NULL) == 0, "no thread");
    pthread_join(director, NULL);
    settle_infos();
    free_questions();
}
