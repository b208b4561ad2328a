/* The objects shared by all threads: a few slots, so that threads collide. */
#include "fuzz.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static struct item slots[MOST_SLOTS];
static pthread_mutex_t locks[MOST_SLOTS] = {[0 ... MOST_SLOTS - 1] = PTHREAD_MUTEX_INITIALIZER};
/* Half of all acts concern one slot for some time, so that threads collide there. */
static atomic_int focus;

struct item take(int slot)
{
    pthread_mutex_lock(&locks[slot]);
    struct item item = slots[slot];
    if (item.object != NULL)
        RLRetain(item.object);
    pthread_mutex_unlock(&locks[slot]);
    if (item.object != NULL)
        hold(item.object);
    return item;
}

int pick_slot(void)
{
    if (self->depth > 0 && self->depth <= DEEPEST && one_in(&self->dice, 3))
        return self->calls[self->depth - 1] == NULL ? focus : self->calls[self->depth - 1]->slot;
    if (one_in(&self->dice, 40))
        focus = (int)below(&self->dice, (unsigned)config.slots);
    return one_in(&self->dice, 2) ? focus : (int)below(&self->dice, (unsigned)config.slots);
}

enum kind any_kind(struct dice *dice)
{
    for (;;) {
        enum kind kind = (enum kind)below(dice, KINDS);
        if (config.kinds & 1U << kind)
            return kind;
    }
}

static void put(int slot, struct item item, bool invalidates)
{
    pthread_mutex_lock(&locks[slot]);
    struct item old = slots[slot];
    slots[slot] = item;
    pthread_mutex_unlock(&locks[slot]);
    if (old.object == NULL)
        return;
    hold(old.object);
    /* The first two live until they are invalidated, whatever references exist; so may a port that was sent a
     * message containing itself. */
    if (invalidates || old.kind == DESCRIPTOR || old.kind == SOCKET || old.kind == PORT)
        invalidate(old);
    note(old.info, "dropped", 0);
    release_held(old.object);
}

void fill_slot(int slot, enum kind kind)
{
    doing("creates", slot);
    struct item item = {.kind = kind, .info = make_info(kind, slot)};
    item.object = create(kind, &item.info);
    put(slot, item, !one_in(&self->dice, 4));
}

void clear_slot(int slot, bool invalidates) { put(slot, (struct item){.kind = SOURCE0}, invalidates); }

/* ---- Creating objects ---- */

static RLStringRef any_name(void)
{
    static const char *const names[] = {"one", "two", "three"};
    return RLStringCreateWithCString(NULL, names[below(&self->dice, 3)], kRLStringEncodingASCII);
}

static void open_pair(struct info *info)
{
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "no sockets: %s",
          strerror(errno));
    info->fd = ends[0];
    info->peer = ends[1];
}

static RLTypeRef create_source(enum kind kind, struct info *info)
{
    RLIndex order = (RLIndex)below(&self->dice, 3);
    if (kind == SOURCE0) {
        RLRunLoopSourceContext context = {.info = info,
                                          .retain = retain_info,
                                          .release = release_info,
                                          .schedule = scheduled,
                                          .cancel = cancelled,
                                          .perform = perform_source};
        return RLRunLoopSourceCreate(NULL, order, &context);
    }
    RLRunLoopSourceContext1 context = {.version = 1,
                                       .info = info,
                                       .retain = retain_info,
                                       .release = release_info,
                                       .getPort = port_of_source,
                                       .perform = perform_source};
    info->fd = eventfd(below(&self->dice, 2), EFD_CLOEXEC | EFD_NONBLOCK);
    return RLRunLoopSourceCreate(NULL, order, (RLRunLoopSourceContext *)&context);
}

static RLTypeRef create_timer(struct info *info)
{
    RLRunLoopTimerContext context = {.info = info, .retain = retain_info, .release = release_info};
    info->repeats = !one_in(&self->dice, 3);
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 1e-3 * (double)below(&self->dice, 5);
    double interval = info->repeats ? 1e-4 * (double)(1 + below(&self->dice, 40)) : 0;
    return RLRunLoopTimerCreate(NULL, date, interval, 0, 0, fire_timer, &context);
}

static RLTypeRef create_observer(struct info *info)
{
    RLRunLoopObserverContext context = {.info = info, .retain = retain_info, .release = release_info};
    info->repeats = !one_in(&self->dice, 3);
    RLOptionFlags activities =
        one_in(&self->dice, 2) ? kRLRunLoopAllActivities : roll(&self->dice) & kRLRunLoopAllActivities;
    return RLRunLoopObserverCreate(NULL, activities, info->repeats, (RLIndex)below(&self->dice, 3), hear_activity,
                                   &context);
}

static RLTypeRef create_descriptor(struct info *info)
{
    RLFileDescriptorContext context = {.info = info, .retain = retain_info, .release = release_info};
    open_pair(info);
    info->closes = one_in(&self->dice, 2);
    return RLFileDescriptorCreate(NULL, info->fd, info->closes, call_descriptor, &context);
}

static RLTypeRef create_socket(struct info *info)
{
    static const RLOptionFlags types[] = {kRLSocketReadCallBack, kRLSocketDataCallBack, kRLSocketNoCallBack};
    RLSocketContext context = {.info = info, .retain = retain_info, .release = release_info};
    RLOptionFlags callbacks = types[below(&self->dice, 3)] | (one_in(&self->dice, 2) ? kRLSocketWriteCallBack : 0) |
                              (one_in(&self->dice, 3) ? kRLSocketConnectCallBack : 0);
    open_pair(info);
    info->closes = true;
    info->types = callbacks;
    return RLSocketCreateWithNative(NULL, info->fd, callbacks, call_socket, &context);
}

static RLTypeRef create_local(struct info **info)
{
    RLMessagePortContext context = {.info = *info, .retain = retain_info, .release = release_info};
    RLStringRef name = one_in(&self->dice, 3) ? NULL : any_name();
    RLBoolean is_another = 0;
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, &context, &is_another);
    if (name != NULL)
        RLRelease(name);
    if (is_another || port == NULL) {
        discard_info(*info);
        *info = NULL; /* the port's info belongs to another slot */
    }
    return port;
}

static RLTypeRef create_remote(void)
{
    RLStringRef name = config.peer && one_in(&self->dice, 2) ? RLSTR("peer") : any_name();
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, name);
    RLRelease(name);
    return port;
}

RLTypeRef create(enum kind kind, struct info **info)
{
    RLPortContext context = {.info = *info, .retain = retain_info, .release = release_info};
    note(*info, "create", self->index);
    switch (kind) {
    case SOURCE0:
    case SOURCE1:
        return create_source(kind, *info);
    case TIMER:
        return create_timer(*info);
    case OBSERVER:
        return create_observer(*info);
    case DESCRIPTOR:
        return create_descriptor(*info);
    case SOCKET:
        return create_socket(*info);
    case PORT: {
        RLPortRef port = RLPortCreate(NULL, receive, &context, NULL);
        if (one_in(&self->dice, 3))
            RLPortSetCapacity(port, 1 + (RLIndex)below(&self->dice, 3));
        return port;
    }
    case LOCAL:
        return create_local(info);
    default:
        discard_info(*info);
        *info = NULL;
        return create_remote();
    }
}

/* ---- What can be done with any of them ---- */

void invalidate(struct item item)
{
    RLTypeRef object = item.object;
    note(item.info, "invalidate", self->depth);
    switch (item.kind) {
    case SOURCE0:
    case SOURCE1:
        RLRunLoopSourceInvalidate((RLRunLoopSourceRef)object);
        break;
    case TIMER:
        RLRunLoopTimerInvalidate((RLRunLoopTimerRef)object);
        break;
    case OBSERVER:
        RLRunLoopObserverInvalidate((RLRunLoopObserverRef)object);
        break;
    case DESCRIPTOR:
        RLFileDescriptorInvalidate((RLFileDescriptorRef)object);
        break;
    case SOCKET:
        RLSocketInvalidate((RLSocketRef)object);
        break;
    case PORT:
        RLPortInvalidate((RLPortRef)object);
        break;
    default:
        RLMessagePortInvalidate((RLMessagePortRef)object);
    }
    if (item.info != NULL)
        item.info->invalidated_by |= thread_bit();
    note(item.info, "invalidated", self->depth);
    check(!is_valid(item), "a %s is valid after it was invalidated", kind_names[item.kind]);
}

bool is_valid(struct item item)
{
    switch (item.kind) {
    case SOURCE0:
    case SOURCE1:
        return RLRunLoopSourceIsValid((RLRunLoopSourceRef)item.object);
    case TIMER:
        return RLRunLoopTimerIsValid((RLRunLoopTimerRef)item.object);
    case OBSERVER:
        return RLRunLoopObserverIsValid((RLRunLoopObserverRef)item.object);
    case DESCRIPTOR:
        return RLFileDescriptorIsValid((RLFileDescriptorRef)item.object);
    case SOCKET:
        return RLSocketIsValid((RLSocketRef)item.object);
    case PORT:
        return RLPortIsValid((RLPortRef)item.object);
    default:
        return RLMessagePortIsValid((RLMessagePortRef)item.object);
    }
}

RLRunLoopSourceRef hold_source(struct item item)
{
    RLRunLoopSourceRef source = NULL;
    RLIndex order = (RLIndex)below(&self->dice, 3);
    if (item.kind == SOURCE0 || item.kind == SOURCE1)
        source = (RLRunLoopSourceRef)RLRetain(item.object);
    else if (item.kind == DESCRIPTOR)
        source = RLFileDescriptorCreateRunLoopSource(NULL, (RLFileDescriptorRef)item.object, order);
    else if (item.kind == SOCKET)
        source = RLSocketCreateRunLoopSource(NULL, (RLSocketRef)item.object, order);
    else if (item.kind == PORT)
        source = RLPortCreateRunLoopSource(NULL, (RLPortRef)item.object, order);
    else if (item.kind == LOCAL)
        source = RLMessagePortCreateRunLoopSource(NULL, (RLMessagePortRef)item.object, order);
    if (source != NULL)
        hold(source);
    return source;
}

void add(RLRunLoopRef loop, struct item item, RLRunLoopMode mode)
{
    note(item.info, "add", self->depth);
    if (item.kind == TIMER) {
        RLRunLoopAddTimer(loop, (RLRunLoopTimerRef)item.object, mode);
    } else if (item.kind == OBSERVER) {
        RLRunLoopAddObserver(loop, (RLRunLoopObserverRef)item.object, mode);
    } else {
        RLRunLoopSourceRef source = hold_source(item);
        if (source != NULL)
            RLRunLoopAddSource(loop, source, mode);
        release_held(source);
    }
}

void remove_from(RLRunLoopRef loop, struct item item, RLRunLoopMode mode)
{
    note(item.info, "remove", self->depth);
    if (item.kind == TIMER) {
        RLRunLoopRemoveTimer(loop, (RLRunLoopTimerRef)item.object, mode);
    } else if (item.kind == OBSERVER) {
        RLRunLoopRemoveObserver(loop, (RLRunLoopObserverRef)item.object, mode);
    } else {
        RLRunLoopSourceRef source = hold_source(item);
        if (source != NULL)
            RLRunLoopRemoveSource(loop, source, mode);
        release_held(source);
    }
}

bool is_in(RLRunLoopRef loop, struct item item, RLRunLoopMode mode)
{
    if (item.kind == TIMER)
        return RLRunLoopContainsTimer(loop, (RLRunLoopTimerRef)item.object, mode);
    if (item.kind == OBSERVER)
        return RLRunLoopContainsObserver(loop, (RLRunLoopObserverRef)item.object, mode);
    RLRunLoopSourceRef source = hold_source(item);
    bool is_there = source != NULL && RLRunLoopContainsSource(loop, source, mode);
    release_held(source);
    return is_there;
}
