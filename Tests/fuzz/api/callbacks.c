/* The callbacks. Each one checks its info, does some acts, and checks again. */
#include "fuzz.h"

#include <sys/socket.h>

atomic_bool is_final;

/* Begins a callback. `info` is NULL for a function, which has no object. A thread may be cancelled in a run, but not
 * in a callback unless that allows it, because a callback holds references that are recorded nowhere. */
void enter(struct info *info, const char *what)
{
    if (self->depth < DEEPEST) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &self->cancel_states[self->depth]);
        self->calls[self->depth] = info;
        self->questions[self->depth] = NULL;
    }
    self->depth++;
    check(self->depth <= DEEPEST, "callbacks nested too deeply");
    doing(what, info == NULL ? -1 : info->slot);
    if (info == NULL)
        return;
    check(info->magic == ALIVE, "%s: called with a released info", what);
    check((info->invalidated_by & thread_bit()) == 0, "%s: called on the thread that had invalidated it", what);
    info->calls++;
    note(info, what, self->depth);
}

void leave(struct info *info)
{
    check(self->depth > 0, "a callback returns that is not there");
    self->depth--;
    if (info == NULL) {
        pthread_setcancelstate(self->cancel_states[self->depth], NULL);
        return;
    }
    note(info, "returns", self->depth);
    /* Observers and descriptors that are invalidated in their own callback release their info immediately. */
    bool may_be_gone = (info->kind == OBSERVER || info->kind == DESCRIPTOR) && info->invalidated_by & thread_bit();
    check(may_be_gone || info->magic == ALIVE, "%s: info was released while the callback ran", kind_names[info->kind]);
    pthread_setcancelstate(self->cancel_states[self->depth], NULL);
}

void act_in_callback(void)
{
    if (is_final || self->in_fork)
        return;
    for (unsigned count = below(&self->dice, 3); count > 0 && self->budget > 0 && self->depth < 8; count--) {
        self->budget--;
        act();
    }
    if (config.lingers && one_in(&self->dice, 4))
        usleep(below(&self->dice, 600));
}

/* ---- Sources ---- */

static void read_all(int fd)
{
    char buffer[512];
    while (read(fd, buffer, sizeof buffer) > 0)
        continue;
}

int port_of_source(void *info) { return ((struct info *)info)->fd; }

void perform_source(void *object)
{
    struct info *info = object;
    enter(info, "performs");
    if (info->fd >= 0 && (is_final || !one_in(&self->dice, 4)))
        read_all(info->fd);
    act_in_callback();
    leave(info);
}

/* Called on the thread that adds, removes or invalidates: checks the info, and gives other threads some time. */
static void pass_by(struct info *info, const char *what)
{
    check(info->magic == ALIVE, "%s: called with a released info", what);
    note(info, what, self->depth);
    if (is_final || self->in_fork)
        return;
    if (config.lingers && one_in(&self->dice, 3))
        usleep(below(&self->dice, 400));
    else
        pause_briefly(&self->dice);
}

void scheduled(void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode) { pass_by(info, "schedule"); }
void cancelled(void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode)
{
    if (self == NULL) /* the thread's loop is freed after the thread's function has returned */
        return;
    pass_by(info, "cancel");
}

/* ---- Timers and observers ---- */

void fire_timer(UNUSED RLRunLoopTimerRef timer, void *object)
{
    struct info *info = object;
    enter(info, "fires");
    check(info->repeats || self->in_fork || info->calls <= 1 + info->ended_in,
          "a timer that does not repeat fired %d times", info->calls);
    act_in_callback();
    leave(info);
}

void hear_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *object)
{
    struct info *info = object;
    enter(info, "hears");
    check(info->repeats || self->in_fork || info->calls <= 1 + info->ended_in,
          "an observer that does not repeat heard %d times", info->calls);
    if (one_in(&self->dice, 4))
        act_in_callback();
    leave(info);
}

/* ---- Descriptors and sockets ---- */

void call_descriptor(RLFileDescriptorRef f, RLOptionFlags types, void *object)
{
    struct info *info = object;
    enter(info, "calls");
    int fd = RLFileDescriptorGetNativeDescriptor(f);
    if (fd >= 0 && fd == info->fd && types & kRLFileDescriptorReadCallBack)
        read_all(fd);
    if (!is_final && !one_in(&self->dice, 4))
        RLFileDescriptorEnableCallBacks(f, 1 + below(&self->dice, 3));
    act_in_callback();
    leave(info);
}

void call_socket(RLSocketRef s, RLSocketCallBackType type, UNUSED RLDataRef address, const void *data, void *object)
{
    struct info *info = object;
    enter(info, "calls");
    if (type == kRLSocketReadCallBack) {
        char buffer[512];
        int fd = RLSocketGetNative(s);
        while (fd >= 0 && fd == info->fd && recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0)
            continue;
    } else if (type == kRLSocketDataCallBack) {
        check(data != NULL && RLDataGetLength(data) >= 0, "a socket's data is none");
    }
    act_in_callback();
    leave(info);
}

/* ---- Ports ---- */

void receive(RLPortRef port, RLPortMessageRef message, void *object)
{
    struct info *info = object;
    enter(info, "receives");
    check(RLPortMessageGetReceivePort(message) == port, "a message came to another port than its own");
    RLPortRef reply = RLPortMessageGetSendPort(message);
    if (reply != NULL && !is_final && !self->in_fork && one_in(&self->dice, 2)) {
        RLPortMessageRef answer = RLPortMessageCreate(NULL, reply, NULL, NULL);
        hold(answer);
        RLPortMessageSendBeforeDate(answer, 0);
        release_held(answer);
    }
    act_in_callback();
    leave(info);
}

enum { MOST_REQUESTS = 4 };
static RLMessagePortRequestRef requests[MOST_REQUESTS];
static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;

static RLMessagePortRequestRef exchange_request(unsigned index, RLMessagePortRequestRef request)
{
    pthread_mutex_lock(&requests_lock);
    RLMessagePortRequestRef old = requests[index];
    requests[index] = request;
    pthread_mutex_unlock(&requests_lock);
    return old;
}

static void answer_now(RLMessagePortRequestRef request)
{
    if (request == NULL)
        return;
    hold(request);
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"later", 5);
    if (one_in(&self->dice, 3)) /* otherwise the last reference is released without a reply */
        RLMessagePortRequestReply(request, data);
    RLRelease(data);
    release_held(request);
}

void answer_later(void) { answer_now(exchange_request(below(&self->dice, MOST_REQUESTS), NULL)); }

void drop_requests(void)
{
    for (unsigned index = 0; index < MOST_REQUESTS; index++)
        answer_now(exchange_request(index, NULL));
}

RLDataRef answer(RLMessagePortRef local, int32_t msgid, RLDataRef data, void *object)
{
    struct info *info = object;
    enter(info, "answers");
    struct question *question = NULL;
    if (msgid == QUESTION && RLDataGetLength(data) == sizeof question)
        RLDataGetBytes(data, (RLRange){0, sizeof question}, (uint8_t *)&question);
    if (!is_final && one_in(&self->dice, 4))
        answer_now(exchange_request(below(&self->dice, MOST_REQUESTS), RLMessagePortCopyRequest(local)));
    else
        self->questions[self->depth - 1] = question;
    act_in_callback();
    RLMessagePortGetRemainingTime(local);
    leave(info);
    return one_in(&self->dice, 4) ? NULL : RLDataCreate(NULL, (const uint8_t *)"answer", 6);
}
