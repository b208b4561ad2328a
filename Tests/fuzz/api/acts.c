/* What threads do: one random act at a time. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static enum act pick_act(void)
{
    unsigned point = below(&self->dice, config.total);
    for (int act = 0;; act++) {
        if (point < config.weights[act])
            return (enum act)act;
        point -= config.weights[act];
    }
}

/* ---- Items ---- */

static void move_item(struct item item)
{
    RLRunLoopRef from = self->has_loop && one_in(&self->dice, 2) ? hold_loop(self->index) : hold_any_loop();
    RLRunLoopRef to = hold_any_loop();
    RLRunLoopMode mode = any_mode(&self->dice);
    if (from != NULL && to != NULL) {
        remove_from(from, item, kRLRunLoopCommonModes);
        for (int index = 0; index < MODES; index++)
            remove_from(from, item, modes[index]);
        add(to, item, mode);
    }
    release_held(from);
    release_held(to);
}

static void signal_item(struct item item)
{
    uint64_t one = 1;
    if (item.kind == SOURCE0)
        RLRunLoopSourceSignal((RLRunLoopSourceRef)item.object);
    else if (item.info != NULL && item.kind == SOURCE1)
        (void)!write(item.info->fd, &one, sizeof one);
    else if (item.info != NULL && item.info->peer >= 0)
        (void)!write(item.info->peer, "12345678", 1 + below(&self->dice, 8));
    /* In the child of a fork, another thread's lock may be held forever. */
    if (item.kind == SOURCE0 && !self->in_fork && !one_in(&self->dice, 4)) {
        RLRunLoopRef loop = hold_any_loop();
        if (loop != NULL)
            RLRunLoopWakeUp(loop);
        release_held(loop);
    }
}

/* Invalidates a source that may be waiting to perform. It must not perform afterwards, so the thread's own loop runs
 * immediately. */
static void invalidate_and_look(struct item item)
{
    if (item.kind <= SOURCE1 && one_in(&self->dice, 2))
        signal_item(item);
    invalidate(item);
    if (config.lingers && (self->has_loop || self->index == 0) && self->runs < 4 && one_in(&self->dice, 2))
        run_in(modes[one_in(&self->dice, 2) ? 0 : below(&self->dice, MODES)], 0, false);
}

static void enable_item(struct item item)
{
    bool enables = !one_in(&self->dice, 4);
    RLOptionFlags types = 1 + below(&self->dice, 15);
    if (item.kind == DESCRIPTOR)
        (enables ? RLFileDescriptorEnableCallBacks : RLFileDescriptorDisableCallBacks)((RLFileDescriptorRef)item.object,
                                                                                       types & 3);
    else if (item.kind == SOCKET)
        (enables ? RLSocketEnableCallBacks : RLSocketDisableCallBacks)((RLSocketRef)item.object,
                                                                       types & item.info->types);
}

static void set_date(struct item item)
{
    if (item.kind != TIMER)
        return;
    RLRunLoopTimerRef timer = (RLRunLoopTimerRef)item.object;
    if (one_in(&self->dice, 4))
        RLRunLoopTimerSetTolerance(timer, 1e-4 * (double)below(&self->dice, 10));
    else
        RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 1e-4 * (double)below(&self->dice, 30));
}

static void look_at(struct item item)
{
    RLRunLoopRef loop = hold_any_loop();
    if (loop != NULL) {
        RLRunLoopMode mode = any_mode(&self->dice);
        is_in(loop, item, mode);
        RLRunLoopIsWaiting(loop);
        RLRunLoopGetNextTimerFireDate(loop, modes[0]);
        RLRunLoopMode current = RLRunLoopCopyCurrentMode(loop);
        if (current != NULL)
            RLRelease(current);
        RLArrayRef all = RLRunLoopCopyAllModes(loop);
        RLRelease(all);
        if (one_in(&self->dice, 8))
            RLRunLoopAddCommonMode(loop, modes[below(&self->dice, MODES)]);
    }
    release_held(loop);
    is_valid(item);
    RLHash(item.object);
    RLRelease(RLCopyDescription(item.object));
}

static void act_on(enum act act, struct item item)
{
    RLRunLoopRef loop = act == ADD || act == REMOVE ? hold_any_loop() : NULL;
    switch (act) {
    case ADD:
        if (loop != NULL)
            add(loop, item, any_mode(&self->dice));
        break;
    case REMOVE:
        if (loop != NULL)
            remove_from(loop, item, any_mode(&self->dice));
        break;
    case MOVE:
        move_item(item);
        break;
    case INVALIDATE:
        invalidate_and_look(item);
        break;
    case SIGNAL:
        signal_item(item);
        break;
    case ENABLE:
        enable_item(item);
        break;
    case SET_DATE:
        set_date(item);
        break;
    case SEND:
        send_message(item);
        break;
    case REQUEST:
        ask(item);
        break;
    default:
        look_at(item);
    }
    release_held(loop);
}

/* ---- Loops ---- */

/* Runs the loop inside a callback, or in a thread that has no other run. Short, because the callback cannot return
 * meanwhile. */
static void nest(void)
{
    static const double times[] = {0, 0, 0.0003, 0.002};
    if (self->runs >= 4)
        return;
    if (one_in(&self->dice, 3) && self->must_return == 0)
        open_to_cancellation();
    run_in(modes[one_in(&self->dice, 2) ? 0 : below(&self->dice, MODES)], times[below(&self->dice, 4)],
           one_in(&self->dice, 3));
    closed_to_cancellation();
}

static void with_a_loop(enum act act)
{
    RLRunLoopRef loop = hold_any_loop();
    if (loop == NULL)
        return;
    if (act == STOP)
        RLRunLoopStop(loop);
    else
        RLRunLoopWakeUp(loop);
    release_held(loop);
}

/* ---- Thread exit ---- */

void open_to_cancellation(void)
{
    if (self->has_loop && config.weights[CANCEL_THREAD] != 0)
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}
void closed_to_cancellation(void) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); }

static bool may_end(void) { return self->has_loop && self->must_return == 0 && !is_final && !self->in_fork; }

void end_thread(void)
{
    doing("exits", -1);
    pthread_exit(NULL);
}

void point_of_cancellation(void)
{
    if (!may_end())
        return;
    open_to_cancellation();
    pthread_testcancel();
    closed_to_cancellation();
}

/* Cancels a thread with a loop, or interrupts any thread: the handler in main.c wakes the director's loop. */
static void reach_a_thread(bool cancels)
{
    struct thread *thread = &threads[1 + below(&self->dice, MOST_THREADS - 1)];
    pthread_mutex_lock(&thread->lock);
    if (thread->is_alive && !thread->is_joined) {
        if (!cancels)
            pthread_kill(thread->handle, SIGUSR1);
        else if (thread->has_loop)
            pthread_cancel(thread->handle);
    }
    pthread_mutex_unlock(&thread->lock);
}

/* ---- fork ---- */

static bool is_called(const struct info *info)
{
    for (int depth = 0; depth < self->depth && depth < DEEPEST; depth++)
        if (self->calls[depth] == info)
            return true;
    return false;
}

/* Only this thread exists in the child: whatever the others were doing with the item must not matter. */
static void look_in_child(struct item item)
{
    self->in_fork = true;
    alarm((unsigned)config.patience / 2 + 1);
    if (item.object == NULL || one_in(&self->dice, 3))
        return;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    if (item.kind == LOCAL || item.kind == REMOTE) {
        check(!is_valid(item), "a message port is valid in the child");
        return;
    }
    if (item.info->ended_in > 0 || is_called(item.info) || !is_valid(item))
        return;
    add(loop, item, check_mode);
    check(is_in(loop, item, check_mode), "a valid %s cannot be added in the child", kind_names[item.kind]);
    signal_item(item);
    run_in(check_mode, 0, false);
    if (!is_valid(item)) /* it was only to be called once */
        return;
    int count = item.info->count;
    invalidate(item);
    if (item.info->closes)
        check(fcntl(item.info->fd, F_GETFD) < 0, "a %s that is invalidated in the child does not close",
              kind_names[item.kind]);
    if (item.kind != SOURCE0 && item.kind != SOURCE1)
        check(item.info->count < count, "a %s that is invalidated in the child keeps its info", kind_names[item.kind]);
}

void fork_and_look(void)
{
    struct item item = take(pick_slot());
    pid_t child = fork();
    if (child == 0) {
        look_in_child(item);
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    check(status == 0, "the child of a fork ended with status %x", status);
    release_held(item.object);
}

/* ---- All acts ---- */

void act(void)
{
    enum act act = pick_act();
    int slot = pick_slot();
    doing(act_names[act], slot);
    switch (act) {
    case CREATE:
        fill_slot(slot, any_kind(&self->dice));
        break;
    case DROP:
        clear_slot(slot, one_in(&self->dice, 2));
        break;
    case PERFORM:
        perform_something();
        break;
    case WAIT_FOR:
        wait_for_function();
        break;
    case CANCEL_PERFORM:
        cancel_performs();
        break;
    case NEST:
        nest();
        break;
    case STOP:
    case WAKE:
        with_a_loop(act);
        break;
    case EXIT_THREAD:
        if (self->depth > 0 && may_end() && one_in(&self->dice, 3))
            end_thread();
        break;
    case CANCEL_THREAD:
        reach_a_thread(true);
        break;
    case CANCELLATION_POINT:
        if (self->depth > 0)
            point_of_cancellation();
        break;
    case FORK:
        fork_and_look();
        break;
    case PAUSE:
        pause_briefly(&self->dice);
        break;
    case ANSWER:
        answer_later();
        break;
    case RAISE:
        reach_a_thread(false);
        break;
    default: {
        struct item item = take(slot);
        if (item.object == NULL || (!is_valid(item) && one_in(&self->dice, 3)))
            fill_slot(slot, any_kind(&self->dice));
        else
            act_on(act, item);
        release_held(item.object);
    }
    }
}
