/* Random programs with objects of all kinds: created, added to modes of two loops, retained, invalidated and released at any moment, also
 * in callbacks and nested runs. No callback comes after its info was released; in the end every info is released, and no descriptor is
 * left. RL_SEEDS=1000 runs more programs, RL_SEED=7 one. */
#include "files.h"
#include "random.h"

#include <signal.h>
#include <sys/un.h>

enum { SLOTS = 24, INFOS = 4000, STEPS = 250, DEEPEST = 3 };

/* What the program knows of an object. It is never reused, so a callback that comes too late is noticed. */
struct info {
    atomic_int references;
    atomic_bool is_over; /* it was retained, and every reference has been released */
    bool is_servers;     /* each stream of a server retains it, the server itself does not */
};

static struct slot {
    RLRunLoopSourceRef object;
    int references; /* the program's */
    enum kind { signal_object, child, work, look_up, watch, stream, listener, server, group, kinds } kind;
    int peer; /* a stream's other end if it is a descriptor; otherwise -1 */
} slots[SLOTS];

static struct info infos[INFOS];
static int info_count, depth;
static struct looper other_loop;
static RLWorkersRef workers;
static RLRunLoopMode modes[3];

static const void *retain_info(const void *pointer)
{
    struct info *info = (struct info *)pointer;
    require(!info->is_over);
    info->references++;
    return info;
}
static void release_info(const void *pointer)
{
    struct info *info = (struct info *)pointer;
    require(info->references > 0);
    if (--info->references == 0)
        info->is_over = !info->is_servers;
}

/* The members of all contexts are the same. */
#define CONTEXT(type) \
    &(type) { .info = next_info(), .retain = retain_info, .release = release_info }
static struct info *next_info(void)
{
    require(info_count < INFOS);
    return &infos[info_count++];
}

static void steps(int count);

/* Every callback: on the main thread it may do what the program does. */
static void called(void *pointer)
{
    require(!((struct info *)pointer)->is_over);
    if (RLRunLoopGetCurrent() == RLRunLoopGetMain() && depth < DEEPEST && random_below(3) == 0)
        steps(3);
    require(!((struct info *)pointer)->is_over);
}

static void signalled(UNUSED RLSignalRef object, UNUSED const RLSignalInfo *signal, void *info) { called(info); }
static void child_ended(UNUSED RLChildRef object, UNUSED const RLChildStatus *status, void *info) { called(info); }
static void do_work(UNUSED RLWorkRef object, void *info) { require(!((struct info *)info)->is_over); }
static void work_done(UNUSED RLWorkRef object, void *info) { called(info); }
static void resolved(UNUSED RLHostResolveRef object, UNUSED RLArrayRef addresses, UNUSED int error, void *info)
{
    called(info);
}
static void files_changed(UNUSED RLFileWatchRef object, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                          void *info)
{
    called(info);
}
static void streamed(RLStreamRef object, const RLStreamEvent *event, void *info)
{
    if (event->type == kRLStreamEventEndEncountered || event->type == kRLStreamEventErrorOccurred)
        RLStreamClose(object);
    called(info);
}
static void connected(UNUSED RLListenerRef object, int descriptor, void *info)
{
    close(descriptor);
    called(info);
}

static RLRunLoopSourceRef make_stream_object(struct slot *slot)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    slot->peer = pair[1];
    return RLStreamCreate(NULL, pair[0], 1, streamed, CONTEXT(RLStreamContext));
}

static RLRunLoopSourceRef make_object(struct slot *slot)
{
    static const char *const arguments[] = {"true", NULL};
    RLChildSpawnOptions options = {.program = "/bin/true", .arguments = arguments, .input = kRLChildPipe};
    const char *paths[] = {base, NULL};
    static int names;
    char name[48];
    snprintf(name, sizeof name, "@objects-random-%d-%d", getpid(), ++names);
    switch (slot->kind) {
    case signal_object:
        return RLSignalCreate(NULL, SIGUSR1 + (int)random_below(2) * 2, 0, signalled, CONTEXT(RLSignalContext));
    case child:
        return RLChildCreateBySpawning(NULL, &options, child_ended, CONTEXT(RLChildContext));
    case work:
        return RLWorkCreate(NULL, 0, do_work, work_done, CONTEXT(RLWorkContext));
    case look_up:
        return RLHostResolveCreate(NULL, "127.0.0.1", "80", NULL, random_below(2) ? 1e-4 : 10, resolved,
                                   CONTEXT(RLWorkContext));
    case watch:
        return RLFileWatchCreate(NULL, paths, 0, 0, files_changed, CONTEXT(RLFileWatchContext));
    case stream:
        return make_stream_object(slot);
    case listener:
        return RLListenerCreateWithPath(NULL, name, connected, CONTEXT(RLListenerContext));
    case server:
        infos[info_count].is_servers = true;
        return RLServerCreateWithPath(NULL, name, NULL, streamed, CONTEXT(RLStreamContext));
    case group:
        return RLStreamGroupCreate(NULL);
    default:
        require(!"a kind");
    }
    return NULL;
}

static void create(struct slot *slot)
{
    slot->kind = (enum kind)random_below(kinds);
    if (slot->kind == child && random_below(4) > 0)
        slot->kind = stream;
    slot->peer = -1;
    slot->object = make_object(slot);
    require(slot->object != NULL || (slot->kind == child && errno == ENOSYS)); /* Valgrind */
    slot->references = slot->object != NULL;
}

static void remove_from_loops(RLRunLoopSourceRef object)
{
    for (int i = 0; i < 3; i++) {
        RLRunLoopRemoveSource(RLRunLoopGetMain(), object, modes[i]);
        RLRunLoopRemoveSource(other_loop.loop, object, modes[i]);
    }
}

/* Ends an object for good. RLRunLoopSourceInvalidate() closes a stream only while it is in a loop. */
static void end(struct slot *slot)
{
    if (slot->kind == stream)
        RLStreamClose(slot->object);
    else if (slot->kind != group)
        RLRunLoopSourceInvalidate(slot->object);
}

/* Gives up one of the program's references. With the last one, takes the object out of its loops; but a stream may stay in the main loop,
 * where it will be closed because its peer is. */
static void release(struct slot *slot)
{
    RLRunLoopSourceRef object = slot->object;
    if (slot->references == 1) {
        bool stays = slot->kind == stream && RLRunLoopContainsSource(RLRunLoopGetMain(), object, modes[0]);
        if (slot->peer >= 0)
            close(slot->peer);
        if (random_below(2) == 0 || (slot->kind == stream && !stays))
            end(slot);
        else if (!stays)
            remove_from_loops(object);
        slot->object = NULL;
    }
    slot->references--;
    RLRelease(object);
}

static struct slot *another(enum kind kind)
{
    for (int tries = 0; tries < 10; tries++) {
        struct slot *slot = &slots[random_below(SLOTS)];
        if (slot->object != NULL && slot->kind == kind)
            return slot;
    }
    return NULL;
}

static void connect_to(RLListenerRef object)
{
    RLDataRef address = RLListenerCopyAddress(object);
    if (address == NULL)
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to;
    memcpy(&to, RLDataGetBytePtr(address), (size_t)RLDataGetLength(address));
    if (connect(fd, (struct sockaddr *)&to, (socklen_t)RLDataGetLength(address)) == 0)
        (void)!write(fd, "hello", 5);
    close(fd);
    RLRelease(address);
}

static void touch_file(void)
{
    const char *path = in_tree("%u", random_below(4));
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    if (random_below(2) == 0)
        unlink(path);
}

static void use_stream(struct slot *slot)
{
    static char bytes[3000];
    struct slot *to;
    switch (random_below(9)) {
    case 0:
        RLStreamWrite(slot->object, bytes, (RLIndex)random_below(sizeof bytes));
        break;
    case 1:
        RLStreamAppend(slot->object, bytes, (RLIndex)random_below(100));
        break;
    case 2:
        (void)!write(slot->peer, bytes, random_below(sizeof bytes));
        break;
    case 3:
        (void)!read(slot->peer, bytes, random_below(sizeof bytes));
        break;
    case 4:
        RLStreamShutdown(slot->object);
        break;
    case 5:
        RLStreamCloseWhenWritten(slot->object);
        break;
    case 6:
        RLStreamSetIdleLimit(slot->object, random_below(2) ? 0.0001 : 1e9);
        break;
    case 7:
        if ((to = another(stream)) != NULL)
            (random_below(2) ? RLStreamForward : RLStreamForwardBoth)(slot->object, to->object);
        break;
    case 8:
        if ((to = another(group)) != NULL)
            (void)(random_below(3) ? RLStreamGroupAdd(to->object, slot->object)
                                   : RLStreamGroupRemove(to->object, slot->object));
        break;
    }
}

static void use(struct slot *slot)
{
    switch (slot->kind) {
    case signal_object:
        raise(RLSignalGetNumber(slot->object));
        break;
    case child:
        RLChildSendSignal(slot->object, 0);
        break;
    case work:
    case look_up:
        (void)(random_below(4) ? RLWorkersSubmit(workers, slot->object) : RLWorkCancel(slot->object));
        break;
    case watch:
        touch_file();
        break;
    case stream:
        use_stream(slot);
        break;
    case listener:
    case server:
        random_below(8) ? connect_to(slot->object) : RLListenerClose(slot->object);
        break;
    case group:
        RLStreamGroupWrite(slot->object, "news", 4, NULL);
        break;
    default:
        break;
    }
}

static void step(void)
{
    struct slot *slot = &slots[random_below(SLOTS)];
    if (slot->object == NULL)
        return create(slot);
    RLRunLoopRef loop = random_below(4) ? RLRunLoopGetMain() : other_loop.loop;
    RLRunLoopMode mode = modes[random_below(3)];
    RLRunLoopSourceRef object = slot->object;
    switch (random_below(12)) {
    case 0:
    case 1:
        if (slot->kind != group)
            RLRunLoopAddSource(loop, object, mode);
        break;
    case 2:
        RLRunLoopRemoveSource(loop, object, mode);
        break;
    case 3:
        if (slot->references < 3 && RLRetain(object))
            slot->references++;
        break;
    case 4:
        release(slot);
        break;
    case 5:
        if (slot->kind != group && random_below(3) == 0)
            RLRunLoopSourceInvalidate(object);
        break;
    case 6:
        RLRelease(RLCopyDescription(object));
        break;
    case 7:
        depth++;
        RLRunLoopRunInMode(modes[random_below(2) * 2], random_below(2) * 0.0005, random_below(2) == 0);
        depth--;
        break;
    default:
        use(slot);
    }
}

static void steps(int count)
{
    depth++;
    for (int i = 0; i < count; i++)
        step();
    depth--;
}

/* Whether no object is left: not in the other thread's loop either, nor streams of servers whose end has not been read yet. */
static bool is_all_released(void)
{
    for (int i = 0; i < info_count; i++)
        if (infos[i].references > 0)
            return false;
    return true;
}

static void run_program(uint64_t seed)
{
    int descriptors = open_descriptors();
    random_state = seed;
    info_count = 0;
    memset(infos, 0, sizeof infos);
    workers = RLWorkersCreate(NULL, 2);
    steps(STEPS);
    depth = DEEPEST; /* callbacks make no steps any more */
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].object != NULL)
            end(&slots[i]);
        while (slots[i].object != NULL)
            release(&slots[i]);
    }
    RLRelease(workers);
    while (!is_all_released())
        for (int i = 0; i < 3; i += 2)
            RLRunLoopRunInMode(modes[i], 0.001, 1);
    depth = 0;
    while (seed > 0 && open_descriptors() > descriptors) /* the other thread may be about to close one */
        sched_yield();
}

START_TEST(random_programs_release_everything)
{
    const char *more = getenv("RL_SEEDS"), *one = getenv("RL_SEED");
    int first = one != NULL ? atoi(one) : 1, last = one != NULL ? first : more != NULL ? atoi(more) : SCALED(60);
    make_tree();
    modes[0] = kRLRunLoopDefaultMode;
    modes[1] = kRLRunLoopCommonModes;
    modes[2] = RLSTR("other");
    signal(SIGUSR1, SIG_IGN); /* while no object is for it */
    signal(SIGUSR2, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    looper_start(&other_loop);
    run_program(0); /* what is made once */
    for (int seed = first; seed <= last; seed++)
        run_program((uint64_t)seed);
    looper_stop(&other_loop);
    drop_tree();
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("objects random");
    TCase *all = add_case(suite, "objects random", 60);
    tcase_add_test(all, random_programs_release_everything);
    return suite;
}
