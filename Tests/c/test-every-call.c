/* Checks that no info stays retained whatever happens in a callback: the thread forks, or exits, or is cancelled, or another
 * thread forks. A thread uses items of every kind. The first try intervenes in its first callback, the second try in its second,
 * and so on through all of them. Then everything is released. */
#include "harness.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum kind { SIGNALLED, COMPARED, READ, TIMER, REPEATING, OBSERVER, ONCE, DESCRIPTOR, SOCKET, PORT, FUNCTION, KINDS };
static const char *const kinds[KINDS] = {
    "source",   "source",         "source on a descriptor", "timer",  "repeating timer",
    "observer", "observer, once", "descriptor object",      "socket", "port",
    "function"};
static struct thing {
    enum kind kind;
    struct lifetime life; /* counts the references to its info */
} things[KINDS];

enum act { FORK, EXIT, CANCEL, FORK_ELSEWHERE };
static struct plan {
    enum act act;
    int call;       /* number of the callback in which it happens */
    int most_depth; /* of nested runs */
    bool moves;     /* timers and observers move to another loop in their callbacks */
} plan;
static int calls, depth;
static const char *name_of_call = "none";
static pthread_t worker;
static atomic_bool has_worker;
static gate reached, may_return;
static struct looper other;
static pid_t forked;
static int readable[2], descriptor_ends[2], socket_ends[2];

/* Executed in every callback of a thing: acts if this is the planned one. */
static void take_call(const char *function, const void *info)
{
    static char name[64];
    if (!has_worker || !pthread_equal(pthread_self(), worker) || ++calls != plan.call)
        return;
    snprintf(name, sizeof name, "%s of a %s", function, kinds[((const struct thing *)info)->kind]);
    name_of_call = name;
    switch (plan.act) {
    case FORK:
        forked = fork_child();
        break;
    case EXIT:
        gate_open(&reached);
        pthread_exit(NULL);
    case CANCEL:
        gate_open(&reached);
        pthread_cancel(worker);
        pthread_testcancel();
        break;
    case FORK_ELSEWHERE:
        gate_open(&reached);
        gate_pass(&may_return);
        break;
    }
}

/* Not counted as a call: until it has returned, the library does not know what it has retained. */
static const void *retain(const void *info)
{
    lifetime_retain(&((const struct thing *)info)->life);
    return info;
}

static void release(const void *info)
{
    lifetime_release(&((const struct thing *)info)->life);
    take_call("release", info);
}

static void release_function(void *info) { release(info); }
static RLStringRef describe(UNUSED const void *info) { return NULL; }

static RLBoolean equal(const void *one, const void *two)
{
    take_call("equal", one);
    return one == two;
}

static RLHashCode hash(const void *info)
{
    take_call("hash", info);
    return 5;
}

static void schedule(void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { take_call("schedule", info); }
static void cancel(void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { take_call("cancel", info); }

static int get_port(void *info)
{
    take_call("getPort", info);
    return readable[0];
}

static void make_readable(void)
{
    ck_assert(write(readable[1], "x", 1) == 1 && write(descriptor_ends[1], "x", 1) == 1);
}

/* Executed by the perform or callout of every thing. */
static void perform(void *info)
{
    if (has_worker && pthread_equal(pthread_self(), worker) && depth < plan.most_depth) {
        depth++;
        make_readable();
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
        depth--;
    }
    take_call("callback", info);
}

static void read_and_perform(void *info)
{
    char byte;
    (void)!read(readable[0], &byte, 1);
    perform(info);
}

static void move_timer(RLRunLoopTimerRef timer, void *info)
{
    if (plan.moves && pthread_equal(pthread_self(), worker)) {
        RLRunLoopRemoveTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
        RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    }
    perform(info);
}

static void move_observer(RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    if (plan.moves && pthread_equal(pthread_self(), worker)) {
        RLRunLoopRemoveObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
        RLRunLoopAddObserver(other.loop, observer, kRLRunLoopDefaultMode);
    }
    perform(info);
}

static void on_descriptor(RLFileDescriptorRef descriptor, UNUSED RLOptionFlags types, void *info)
{
    char byte;
    (void)!read(RLFileDescriptorGetNativeDescriptor(descriptor), &byte, 1);
    perform(info);
}

static void on_socket(UNUSED RLSocketRef socket, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                      UNUSED const void *data, void *info)
{
    perform(info);
}

static void on_message(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, void *info) { perform(info); }

/* -- What the thread does -- */

static RLRunLoopRef loop;
/* Sources: signalled, compared, on a descriptor; of a descriptor object, a socket, a port. */
static RLRunLoopSourceRef sources[6];
static RLRunLoopTimerRef timers[2];
static RLRunLoopObserverRef observers[2];
static RLFileDescriptorRef descriptor;
static RLSocketRef sock;
static RLPortRef port;
static RLPortMessageRef message;

static void make_items(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        things[kind].kind = (enum kind)kind;
    RLRunLoopSourceContext signalled = {0,    &things[SIGNALLED], retain, release, describe, equal,
                                        hash, schedule,           cancel, perform};
    sources[0] = RLRunLoopSourceCreate(NULL, 0, &signalled);
    signalled.info = &things[COMPARED];
    sources[1] = RLRunLoopSourceCreate(NULL, 0, &signalled);
    RLRunLoopSourceContext1 read = {1,     &things[READ], retain,   release,         describe,
                                    equal, hash,          get_port, read_and_perform};
    sources[2] = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&read);
    for (int i = 0; i < 2; i++) {
        RLRunLoopTimerContext timer = {0, &things[TIMER + i], retain, release, describe};
        timers[i] = RLRunLoopTimerCreate(NULL, 1, i * 1e-4, 0, 0, move_timer, &timer);
        RLRunLoopObserverContext observer = {0, &things[OBSERVER + i], retain, release, describe};
        observers[i] = RLRunLoopObserverCreate(NULL, i ? kRLRunLoopBeforeTimers : kRLRunLoopAllActivities, i == 0, 0,
                                               move_observer, &observer);
    }
    RLFileDescriptorContext of_descriptor = {.info = &things[DESCRIPTOR], .retain = retain, .release = release};
    descriptor = RLFileDescriptorCreate(NULL, descriptor_ends[0], false, on_descriptor, &of_descriptor);
    sources[3] = RLFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    RLSocketContext of_socket = {0, &things[SOCKET], retain, release, describe};
    sock = RLSocketCreateWithNative(NULL, socket_ends[0], kRLSocketDataCallBack, on_socket, &of_socket);
    sources[4] = RLSocketCreateRunLoopSource(NULL, sock, 0);
    RLPortContext of_port = {0, &things[PORT], retain, release, describe};
    port = RLPortCreate(NULL, on_message, &of_port, NULL);
    sources[5] = RLPortCreateRunLoopSource(NULL, port, 0);
    message = RLPortMessageCreate(NULL, port, NULL, NULL);
}

static void use_items(void)
{
    for (int i = 0; i < 6; i++)
        RLRunLoopAddSource(loop, sources[i], kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, sources[0], kRLRunLoopCommonModes);
    for (int i = 0; i < 2; i++) {
        RLRunLoopAddTimer(loop, timers[i], kRLRunLoopDefaultMode);
        RLRunLoopAddObserver(loop, observers[i], kRLRunLoopDefaultMode);
    }
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
    make_readable();
    ck_assert(write(socket_ends[1], "x", 1) == 1);
    RLRunLoopSourceSignal(sources[0]);
    RLRunLoopSourceSignal(sources[1]);
    ck_assert(RLPortMessageSendBeforeDate(message, 1e12));
    retain(&things[FUNCTION]);
    ck_assert(
        RLRunLoopPostFunctionWithRelease(loop, kRLRunLoopDefaultMode, perform, &things[FUNCTION], release_function));
    for (int i = 0; i < 8; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, i & 1);
    RLRunLoopRemoveSource(loop, sources[1], kRLRunLoopDefaultMode);
    RLRunLoopAddCommonMode(loop, RLSTR("extra"));
}

/* Releases an item only once, even if the thread ends in the middle and another one starts again. */
#define DROP(item, invalidate)  \
    do {                        \
        if (item) {             \
            RLTypeRef dropped;  \
            invalidate(item);   \
            dropped = item;     \
            item = NULL;        \
            RLRelease(dropped); \
        }                       \
    } while (0)

static void drop_items(void)
{
    for (int i = 0; i < 6; i++)
        DROP(sources[i], RLRunLoopSourceInvalidate);
    for (int i = 0; i < 2; i++) {
        DROP(timers[i], RLRunLoopTimerInvalidate);
        DROP(observers[i], RLRunLoopObserverInvalidate);
    }
    DROP(descriptor, RLFileDescriptorInvalidate);
    DROP(sock, RLSocketInvalidate);
    DROP(message, (void));
    DROP(port, RLPortInvalidate);
    RLRunLoopCancelPerformFunction(loop, perform, &things[FUNCTION]);
}

static void check_infos(const char *where)
{
    for (int kind = 0; kind < KINDS; kind++) {
        int held = lifetime_held(&things[kind].life);
        if (held != 0)
            fprintf(stderr, "call %d, %s, %s: the info of a %s is retained %d times\n", plan.call, name_of_call, where,
                    kinds[kind], held);
        child_assert(held == 0);
    }
}

static void *work(UNUSED void *info)
{
    worker = pthread_self();
    has_worker = true;
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    make_items();
    use_items();
    drop_items();
    if (forked == 0) {
        check_infos("in the child");
        _exit(0);
    }
    gate_open(&reached);
    return NULL;
}

static void drop_in_child(UNUSED void *info)
{
    has_worker = false;
    alarm(20);
    drop_items();
    check_infos("in the child");
}

/* -- One try, in its own process; exits with NO_CALL if the thread makes fewer calls -- */
enum { NO_CALL = 2 };

static void try_call(UNUSED void *info)
{
    int status = 0;
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    forked = -1;
    gate_init(&reached);
    gate_init(&may_return);
    make_pipe(readable);
    make_pipe(descriptor_ends);
    child_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends) == 0);
    if (plan.moves)
        looper_start(&other);
    pthread_t thread = start_thread(work, NULL);
    gate_pass(&reached);
    /* If the thread makes fewer calls, it has ended. A child forked before it is joined would leak it, which ThreadSanitizer
     * reports. */
    if (plan.act == FORK_ELSEWHERE && calls >= plan.call) {
        status = run_in_child(drop_in_child, NULL);
        gate_open(&may_return);
    }
    join_thread(thread);
    if (forked > 0)
        child_assert(waitpid(forked, &status, 0) == forked);
    child_assert(status == 0);
    drop_items();
    if (plan.moves)
        looper_stop(&other);
    check_infos("at the end");
    RLRelease(loop);
    _exit(calls < plan.call ? NO_CALL : 0);
}

/* With ThreadSanitizer, which makes a fork eight times as expensive, only every third call is tried; each test of an act tries
 * different ones. */
static void try_all_calls(struct plan tried)
{
    int result;
    plan = tried;
    plan.call = WITH_THREAD_SANITIZER ? -((int)tried.act + tried.most_depth + 2 * tried.moves) % 3 : 0;
    do {
        plan.call += WITH_THREAD_SANITIZER ? 3 : 1;
        result = run_in_child(try_call, NULL);
        ck_assert_msg(result == 0 || result == NO_CALL, "call %d: %d", plan.call, result);
    } while (result == 0);
    ck_assert_int_gt(plan.call, 30);
}

START_TEST(every_info_is_released_whatever_callbacks_do) { try_all_calls((struct plan){.act = (enum act)_i}); }
END_TEST

START_TEST(every_info_is_released_whatever_callbacks_of_nested_runs_do)
{
    try_all_calls((struct plan){.act = (enum act)_i, .most_depth = 1});
}
END_TEST

START_TEST(every_info_is_released_when_items_move_between_loops)
{
    try_all_calls((struct plan){.act = (enum act)_i, .moves = true});
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("every-call");
    TCase *tcase = add_case(suite, "calls", 60);
    tcase_add_loop_test(tcase, every_info_is_released_whatever_callbacks_do, FORK, FORK_ELSEWHERE + 1);
    tcase_add_loop_test(tcase, every_info_is_released_whatever_callbacks_of_nested_runs_do, FORK, FORK_ELSEWHERE + 1);
    tcase_add_loop_test(tcase, every_info_is_released_when_items_move_between_loops, FORK, FORK_ELSEWHERE + 1);
    return suite;
}
