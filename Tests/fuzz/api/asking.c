/* Messages, requests and functions that threads send to each other. */
#include "fuzz.h"

static _Atomic(struct question *) all_questions;

struct question *make_question(void)
{
    struct question *question = calloc(1, sizeof *question);
    check(question != NULL, "no memory");
    question->thread = self->index;
    question->next = all_questions;
    while (!atomic_compare_exchange_weak(&all_questions, &question->next, question))
        continue;
    return question;
}

void free_questions(void)
{
    for (struct question *question = all_questions, *next; question != NULL; question = next) {
        next = question->next;
        free(question);
    }
    all_questions = NULL;
}

/* ---- Ports ---- */

static RLArrayRef make_components(struct item other)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"component", 9);
    const void *values[] = {data, other.object};
    RLArrayRef components =
        RLArrayCreate(NULL, values, other.object != NULL && other.kind == PORT ? 2 : 1, &kRLTypeArrayCallBacks);
    RLRelease(data);
    return components;
}

void send_message(struct item item)
{
    if (item.kind != PORT)
        return;
    struct item other = take(pick_slot());
    RLPortRef reply = other.object != NULL && other.kind == PORT ? (RLPortRef)other.object : NULL;
    RLArrayRef components = one_in(&self->dice, 2) ? make_components(other) : NULL;
    RLPortMessageRef message = RLPortMessageCreate(NULL, (RLPortRef)item.object, reply, components);
    check(message != NULL, "no message: %s", strerror(errno));
    hold(message);
    if (components != NULL)
        RLRelease(components);
    note(item.info, "send", 0);
    RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 1e-3 * (double)below(&self->dice, 3));
    release_held(message);
    release_held(other.object);
}

/* ---- Message ports ---- */

static void hear_reply(UNUSED RLMessagePortRef remote, int32_t result, RLDataRef reply, void *info)
{
    struct question *question = info;
    enter(NULL, "hears a reply");
    check(question->thread == self->index, "a reply came to another thread");
    check(question->answered++ == 0, "a reply came twice");
    check(result <= 0 && result >= kRLMessagePortBecameInvalidError, "result %d of a request", result);
    if (reply != NULL)
        check(RLDataGetLength(reply) > 0, "an empty reply");
    act_in_callback();
    leave(NULL);
}

static void ask_and_wait(RLMessagePortRef remote, struct question *question, RLDataRef data, RLRunLoopMode mode)
{
    /* Occasionally long enough to notice that the server's thread exits. */
    double limit = one_in(&self->dice, 20) ? 1.5 : 1e-3 * (double)below(&self->dice, 20);
    RLDataRef reply = NULL;
    if (one_in(&self->dice, 2))
        open_to_cancellation();
    int32_t result = RLMessagePortSendRequest(remote, QUESTION, data, 1e-3, limit, mode, &reply);
    closed_to_cancellation();
    if (result == kRLMessagePortReceiveTimeout && question->ended)
        check(now() < question->ended_at + 1,
              "a client waited for %g s although the server's thread had ended in the callback",
              now() - question->ended_at);
    if (reply != NULL)
        RLRelease(reply);
}

void ask(struct item item)
{
    if (item.kind != REMOTE)
        return;
    RLMessagePortRef remote = (RLMessagePortRef)item.object;
    struct question *question = make_question();
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)&question, sizeof question);
    RLRunLoopMode mode = one_in(&self->dice, 2) ? kRLMessagePortPrivateReplyMode : modes[below(&self->dice, MODES)];
    hold(data);
    unsigned way = below(&self->dice, 3);
    if (way == 0)
        RLMessagePortSendRequest(remote, QUESTION, data, 1e-3 * (double)below(&self->dice, 3), 0, NULL, NULL);
    else if (way == 1 || self->runs >= 4)
        RLMessagePortSendRequestAsync(remote, QUESTION, data, 0, 1e-3 * (double)below(&self->dice, 30), mode,
                                      hear_reply, question);
    else
        ask_and_wait(remote, question, data, mode);
    release_held(data);
}

/* ---- Functions ---- */

static void run_function(UNUSED void *info)
{
    enter(NULL, "runs a function");
    act_in_callback();
    leave(NULL);
}

static void release_function(void *info) { check(--*(atomic_int *)info >= 0, "a function's info was released twice"); }

static int words[4]; /* infos of cancelled functions: only their addresses matter */

void perform_something(void)
{
    RLRunLoopRef loop = hold_any_loop();
    if (loop == NULL)
        return;
    RLTypeRef mode = one_in(&self->dice, 4) ? (RLTypeRef)all_modes : any_mode(&self->dice);
    void *word = &words[below(&self->dice, 4)];
    unsigned way = below(&self->dice, 5);
    if (way == 0) {
        RLRunLoopPerformFunction(loop, mode, run_function, word);
    } else if (way == 1) {
        RLRunLoopPostFunction(loop, mode, run_function, word);
    } else if (way == 2) {
        RLRunLoopPerformFunctionAfterDelay(loop, mode, run_function, word, 1e-3 * (double)below(&self->dice, 4));
    } else {
        RLTimeInterval delay = 1e-3 * (double)below(&self->dice, 4);
        open_functions++;
        if (way == 3 ? !RLRunLoopPerformFunctionWithRelease(loop, mode, run_function, &open_functions, release_function)
                     : !RLRunLoopPerformFunctionAfterDelayWithRelease(loop, mode, run_function, &open_functions, delay,
                                                                      release_function))
            open_functions--;
    }
    release_held(loop);
}

void cancel_performs(void)
{
    RLRunLoopRef loop = hold_any_loop();
    if (loop != NULL)
        RLRunLoopCancelPerformFunction(
            loop, run_function, one_in(&self->dice, 2) ? (void *)&open_functions : &words[below(&self->dice, 4)]);
    release_held(loop);
}

/* The waiting thread's own memory, which must not be used after the call. */
struct errand {
    _Atomic uint32_t magic;
    atomic_int runs;
};

static void run_errand(void *info)
{
    struct errand *errand = info;
    enter(NULL, "runs a function that is waited for");
    check(errand->magic == ALIVE, "a function runs after its caller has returned");
    act_in_callback();
    check(errand->magic == ALIVE, "a function's caller did not wait for it");
    errand->runs++; /* if the thread exited here, the errand was not run */
    leave(NULL);
}

void wait_for_function(void)
{
    RLRunLoopRef loop = hold_any_loop();
    if (loop == NULL)
        return;
    struct errand errand = {ALIVE, 0};
    bool is_own = self->has_loop && loop == RLRunLoopGetCurrent();
    bool done = RLRunLoopPerformFunctionAndWait(loop, any_mode(&self->dice), run_errand, &errand,
                                                1e-3 * (double)below(&self->dice, 4));
    check(errand.runs == done || (done && is_own), "a function ran %d times, and its caller was told %d", errand.runs,
          done);
    errand.magic = DEAD;
    release_held(loop);
}
