/* After all other threads have exited: items in the director's loop must be served there, other items must not be,
 * and valid items can be added again and work. */
#include "fuzz.h"

static void keep_alive(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) {}

/* Makes something ready for the item. Returns whether serving it can be observed at all. */
static bool provoke(struct item item)
{
    uint64_t one = 1;
    switch (item.kind) {
    case SOURCE0:
        RLRunLoopSourceSignal((RLRunLoopSourceRef)item.object);
        return true;
    case SOURCE1:
        return write(item.info->fd, &one, sizeof one) > 0;
    case TIMER:
        RLRunLoopTimerSetNextFireDate((RLRunLoopTimerRef)item.object, RLAbsoluteTimeGetCurrent() - 1);
        return true;
    case OBSERVER:
        return RLRunLoopObserverGetActivities((RLRunLoopObserverRef)item.object) &
               (kRLRunLoopEntry | kRLRunLoopBeforeTimers);
    case DESCRIPTOR:
        RLFileDescriptorEnableCallBacks((RLFileDescriptorRef)item.object, kRLFileDescriptorReadCallBack);
        return write(item.info->peer, "x", 1) == 1;
    case SOCKET:
        RLSocketEnableCallBacks((RLSocketRef)item.object, item.info->types & kRLSocketDataCallBack);
        return (item.info->types & kRLSocketReadCallBack) != 0 && write(item.info->peer, "x", 1) == 1;
    case PORT: {
        RLPortMessageRef message = RLPortMessageCreate(NULL, (RLPortRef)item.object, NULL, NULL);
        RLPortMessageSendBeforeDate(message, 0); /* if there is no room, there already are messages */
        RLRelease(message);
        return true;
    }
    case LOCAL: {
        RLMessagePortRef local = (RLMessagePortRef)item.object;
        if (RLMessagePortGetName(local) == NULL)
            check(RLMessagePortSetName(local, RLSTR("final")), "no name: %s", strerror(errno));
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLMessagePortGetName(local));
        check(remote != NULL, "a valid local port is not found: %s", strerror(errno));
        int32_t result = RLMessagePortSendRequest(remote, 0, NULL, 0, 0, NULL, NULL);
        check(result == kRLMessagePortSuccess || result == kRLMessagePortSendTimeout,
              "a local port's request ends with %d", result);
        RLRelease(remote);
        return true;
    }
    default:
        return false;
    }
}

/* Runs a mode until the item is called: up to a second if it should be called, and a few passes if it should not. */
static bool is_served(struct item item, RLRunLoopMode mode, bool should_be)
{
    int calls = item.info->calls;
    double end = now() + config.patience / 6;
    for (int pass = 0; pass < 4 || (should_be && now() < end); pass++) {
        run_in(mode, 0, false);
        if (item.info->calls != calls)
            return true;
    }
    return false;
}

static void check_membership(struct item item, RLRunLoopMode mode)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    if (!is_valid(item))
        return;
    bool is_member = is_in(loop, item, mode), can_be_seen = provoke(item);
    note(item.info, is_member ? "final: is in the mode" : "final: is not in the mode", 0);
    if (!can_be_seen)
        return;
    if (is_served(item, mode, is_member) == is_member)
        return;
    print_info(item.info);
    fail(__LINE__, "a %s is %s the mode and is %s", kind_names[item.kind], is_member ? "in" : "not in",
         is_member ? "not served" : "served");
}

static void remove_everywhere(struct item item)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    remove_from(loop, item, kRLRunLoopCommonModes);
    remove_from(loop, item, check_mode);
    for (int index = 0; index < MODES; index++)
        remove_from(loop, item, modes[index]);
    for (int index = 0; index < MODES; index++)
        check(!is_in(loop, item, modes[index]), "a %s was removed and is there", kind_names[item.kind]);
}

static void check_item(struct item item)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    if (item.kind == REMOTE || item.info == NULL)
        return;
    for (int index = 0; index < MODES; index++)
        check_membership(item, modes[index]);
    remove_everywhere(item);
    if (is_valid(item)) {
        add(loop, item, check_mode);
        if (!is_in(loop, item, check_mode)) {
            print_info(item.info);
            fail(__LINE__, "a valid %s in no loop cannot be added", kind_names[item.kind]);
        }
        check_membership(item, check_mode);
    }
    if (is_valid(item))
        invalidate(item);
    check(!is_in(loop, item, check_mode), "an invalid %s is in a mode", kind_names[item.kind]);
}

void check_what_is_left(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    is_final = true;
    for (int index = 0; index <= MODES; index++) {
        RLRunLoopTimerRef keeper =
            RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 1e6, 0, 0, 0, keep_alive, NULL);
        RLRunLoopAddTimer(loop, keeper, index == MODES ? check_mode : modes[index]);
        RLRelease(keeper);
    }
    for (int slot = 0; slot < config.slots; slot++) {
        doing("checks what is left", slot);
        struct item item = take(slot);
        if (item.object != NULL)
            check_item(item);
        release_held(item.object);
        clear_slot(slot, true);
    }
    drop_requests();
    is_final = false;
}
