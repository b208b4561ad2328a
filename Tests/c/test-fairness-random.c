/* Checks that nothing that is ready starves, with random mixtures of things that are always ready (descriptors of every kind,
 * signalled sources, due timers, queued functions), in random modes, beside random observers, in every kind of run, also nested.
 * Each must be called within a bounded number of callbacks of the others.
 *   FAIRNESS_SEED=n    runs one mixture and prints what it consists of
 *   FAIRNESS_COUNT=n   runs this many mixtures */
#include "harness.h"

#include <fcntl.h>
#include <sys/socket.h>

enum { MOST = 16, MODES = 2, STEPS = 1500 };

enum kind { PORT, FILE_DESCRIPTOR, PLAIN_FILE, SOCKET, SIGNALLED, TIMER, FUNCTION, KINDS };
static const char *const kind_names[KINDS] = {
    "version 1", "RLFileDescriptor", "/dev/null", "RLSocket", "signalled source", "timer", "function"};

struct member {
    enum kind kind;
    unsigned modes;          /* bit m: in mode m */
    int order, waited, most; /* callbacks of others in its modes since its own last one */
    int calling;             /* how many of its callbacks are running */
    int ends[2];
    RLRunLoopSourceRef source;
    RLRunLoopTimerRef timer;
    RLFileDescriptorRef descriptor;
    RLSocketRef socket;
};

static struct member members[MOST];
static int member_count, running_mode, depth, left, until_stop;
static bool nests;
static unsigned long long state;
static RLRunLoopRef rl;
static RLStringRef modes[MODES];

static unsigned below(unsigned limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % limit;
}

static void run_once(int mode, bool mayStop);
static void queue_again(struct member *member);

/* Executed by every callback of every member. */
static void called(struct member *member)
{
    for (int i = 0; i < member_count; i++) {
        struct member *other = &members[i];
        if (other == member || other->calling || !(other->modes & 1u << running_mode))
            continue;
        if (++other->waited > other->most)
            other->most = other->waited;
    }
    member->waited = 0;
    left--;
    if (left <= 0 || (until_stop > 0 && --until_stop == 0))
        RLRunLoopStop(rl);
    member->calling++;
    if (nests && depth == 0 && below(16) == 0) {
        int outer_mode = running_mode, outer_stop = until_stop;
        depth++;
        run_once((int)below(MODES), false);
        depth--;
        running_mode = outer_mode;
        until_stop = outer_stop;
    }
    member->calling--;
}

static int member_port(void *info) { return ((struct member *)info)->ends[0]; }
static void port_performs(void *info) { called(info); }

static void descriptor_called(RLFileDescriptorRef descriptor, UNUSED RLOptionFlags types, void *info)
{
    called(info);
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
}

static void socket_called(UNUSED RLSocketRef socket, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                          UNUSED const void *data, void *info)
{
    called(info);
}

static void signalled_performs(void *info)
{
    RLRunLoopSourceSignal(((struct member *)info)->source);
    RLRunLoopWakeUp(rl);
    called(info);
}

static void timer_fires(UNUSED RLRunLoopTimerRef timer, void *info) { called(info); }

static void function_runs(void *info)
{
    queue_again(info);
    called(info);
}

static void queue_again(struct member *member)
{
    RLStringRef names[MODES];
    RLIndex count = 0;
    for (int m = 0; m < MODES; m++)
        if (member->modes & 1u << m)
            names[count++] = modes[m];
    RLArrayRef array = RLArrayCreate(NULL, (const void **)names, count, &kRLTypeArrayCallBacks);
    require(array != NULL && RLRunLoopPostFunction(rl, array, function_runs, member));
    RLRelease(array);
}

static void add_source(struct member *member)
{
    for (int m = 0; m < MODES; m++)
        if (member->modes & 1u << m)
            RLRunLoopAddSource(rl, member->source, modes[m]);
}

static void make_member(struct member *member)
{
    RLFileDescriptorContext descriptor_context = {.info = member};
    RLSocketContext socket_context = {.info = member};
    *member = (struct member){.kind = (enum kind)below(KINDS),
                              .modes = 1 + below(3),
                              .order = below(2) ? 0 : (int)below(3) - 1,
                              .ends = {-1, -1}};
    if (member->kind <= SOCKET) {
        if (member->kind == PLAIN_FILE) {
            member->ends[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
        } else {
            require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, member->ends) == 0);
            require(write(member->ends[1], "x", 1) == 1);
        }
    }
    switch (member->kind) {
    case PORT:
        member->source = make_port_source(member->order, member_port, port_performs, member);
        break;
    case FILE_DESCRIPTOR:
    case PLAIN_FILE:
        member->descriptor =
            RLFileDescriptorCreate(NULL, member->ends[0], false, descriptor_called, &descriptor_context);
        RLFileDescriptorEnableCallBacks(member->descriptor, kRLFileDescriptorReadCallBack);
        member->source = RLFileDescriptorCreateRunLoopSource(NULL, member->descriptor, member->order);
        break;
    case SOCKET:
        member->socket =
            RLSocketCreateWithNative(NULL, member->ends[0], kRLSocketReadCallBack, socket_called, &socket_context);
        member->source = RLSocketCreateRunLoopSource(NULL, member->socket, member->order);
        break;
    case SIGNALLED: /* all of one order: as in CFRunLoop, a lower order always goes first */
        member->source = make_source(0, signalled_performs, member);
        RLRunLoopSourceSignal(member->source);
        break;
    case TIMER:
        member->timer = make_timer(0, 1e-9, timer_fires, member);
        for (int m = 0; m < MODES; m++)
            if (member->modes & 1u << m)
                RLRunLoopAddTimer(rl, member->timer, modes[m]);
        break;
    default:
        queue_again(member);
    }
    if (member->source)
        add_source(member);
}

static void drop_member(struct member *member)
{
    if (member->socket) {
        RLSocketSetSocketFlags(member->socket, 0);
        RLSocketInvalidate(member->socket);
        RLRelease(member->socket);
    }
    if (member->descriptor) {
        RLFileDescriptorInvalidate(member->descriptor);
        RLRelease(member->descriptor);
    }
    if (member->source)
        drop_source(member->source);
    if (member->timer)
        drop_timer(member->timer);
    for (int i = 0; i < 2; i++)
        if (member->ends[i] >= 0)
            close(member->ends[i]);
}

static void run_once(int mode, bool mayStop)
{
    bool has_any = false;
    for (int i = 0; i < member_count; i++)
        has_any |= (members[i].modes & 1u << mode) != 0;
    if (!has_any)
        return;
    running_mode = mode;
    if (!mayStop || below(3) == 0) {
        RLRunLoopRunInMode(modes[mode], 0, below(2) != 0);
        return;
    }
    until_stop = 1 + (int)below(60);
    switch (below(3)) {
    case 0:
        RLRunLoopRunInMode(modes[mode], 100, true);
        break;
    case 1:
        RLRunLoopRunInMode(modes[mode], 100, false);
        break;
    default:
        RLRunLoopRunInMode(modes[mode], 1e20, false);
    }
    until_stop = 0;
}

static void no_observation(UNUSED RLRunLoopObserverRef o, UNUSED RLRunLoopActivity a, UNUSED void *info) {}

/* The promise of RLRunLoop.h, converted to callbacks: what n ready things may do in the passes for which one of them may have to
 * wait. */
static int bound(void)
{
    int per_pass = 1, descriptors = 0;
    for (int i = 0; i < member_count; i++) {
        per_pass += members[i].kind == FUNCTION ? 3 : members[i].kind >= SIGNALLED ? 1 : 0;
        descriptors += members[i].kind <= SOCKET;
    }
    return 32 * (descriptors + 1) * per_pass;
}

static void describe(unsigned seed)
{
    fprintf(stderr, "FAIRNESS_SEED=%u, limit %d%s\n", seed, bound(), nests ? ", nested runs" : "");
    for (int i = 0; i < member_count; i++)
        fprintf(stderr, "  %-16s order %2d modes %x waited for at most %d callbacks\n", kind_names[members[i].kind],
                members[i].order, members[i].modes, members[i].most);
}

static bool one_mixture(unsigned seed, bool prints)
{
    state = seed * 2654435761u + 12345;
    member_count = 2 + (int)below(MOST - 2);
    nests = below(3) == 0;
    for (int i = 0; i < member_count; i++)
        make_member(&members[i]);
    RLRunLoopObserverRef observer = NULL;
    if (below(2)) {
        observer = make_observer(below(256) | (1u << (1 + below(2))), true, 0, no_observation, NULL);
        for (int m = 0; m < MODES; m++)
            RLRunLoopAddObserver(rl, observer, modes[m]);
    }
    left = STEPS + 4 * bound();
    while (left > 0)
        run_once((int)below(MODES), true);
    bool is_fair = true;
    for (int i = 0; i < member_count; i++)
        is_fair = is_fair && members[i].most <= bound();
    if (!is_fair || prints)
        describe(seed);
    if (observer)
        drop_observer(observer);
    for (int i = 0; i < member_count; i++)
        drop_member(&members[i]);
    RLRunLoopCancelPerformFunction(rl, function_runs, NULL);
    for (int i = 0; i < member_count; i++)
        RLRunLoopCancelPerformFunction(rl, function_runs, &members[i]);
    return is_fair;
}

START_TEST(nothing_that_is_ready_starves)
{
    const char *one = getenv("FAIRNESS_SEED"), *many = getenv("FAIRNESS_COUNT");
    rl = RLRunLoopGetCurrent();
    modes[0] = kRLRunLoopDefaultMode;
    modes[1] = RLSTR("other");
    if (one) {
        require(one_mixture((unsigned)atoi(one), true));
        return;
    }
    int unfair = 0;
    for (unsigned seed = 1; seed <= (many ? (unsigned)atoi(many) : SCALED(200u)); seed++)
        unfair += !one_mixture(seed, false);
    ck_assert_int_eq(unfair, 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fairness-random");
    tcase_add_test(add_case(suite, "mixtures", 120), nothing_that_is_ready_starves);
    return suite;
}
