/* Explains why a loop does not rest. */
#include "Explanation.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MILLISECOND 1000000ull

/* Returns the callback that was called most often in this round; NULL if none was. */
static const struct NowCallee *mostCalled(const struct NowState *state)
{
    const struct NowCallee *most = NULL;
    for (int index = 0; index < NOW_CALLEES; index++) {
        const struct NowCallee *one = &state->callees[index];
        if (one->round == state->round && one->count > 0 && (most == NULL || one->count > most->count))
            most = one;
    }
    return most;
}

/* Returns the callback on which a loop spins: the loop has been busy for a tenth of a second, and at least half of 100 or more calls were
   of this callback. NULL if there is none. */
const struct NowCallee *spinningOn(const struct NowState *state, uint64_t time)
{
    const struct NowCallee *most = mostCalled(state);
    if (most == NULL || time < state->busy + 100 * MILLISECOND || time > state->changed + 100 * MILLISECOND)
        return NULL;
    return state->callsInRound >= 100 && most->count * 2 >= state->callsInRound ? most : NULL;
}

static int unreadBytes(int descriptor)
{
    int count;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : -1;
}

/* Explains why a descriptor is always ready. If it may wait, checks twice whether anything is being read. */
static void sayWhyDescriptor(struct Explanation *it, int descriptor)
{
    struct pollfd ready = {.fd = descriptor, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0 || !(ready.revents & (POLLIN | POLLHUP | POLLERR)))
        return;
    int before = unreadBytes(descriptor);
    if (it->mayWait)
        usleep(5000);
    int after = unreadBytes(descriptor);
    fputs(" Descriptor ", it->text);
    sayDescriptor(it->text, descriptor);
    if (!(ready.revents & POLLIN))
        fputs(" stays ready because its other end is closed", it->text);
    else if (before > 0 && before == after)
        fprintf(it->text, " stays ready: %d byte%s waiting to be read, and the callback reads none", before,
                before == 1 ? " is" : "s are");
    else
        fputs(" is still ready after each callback", it->text);
    fputs(".", it->text);
}

static void sayWhySpins(struct Explanation *it, const struct NowCallee *most)
{
    if (most->again * 2 >= most->count) {
        fputs(most->kind == kRLRunLoopProbeSource ? " The callback signals its own source each time."
                                                  : " The function posts itself each time.",
              it->text);
    } else if (most->kind == kRLRunLoopProbeTimer && most->interval > 0 && most->interval < MILLISECOND) {
        fputs(" The timer repeats every ", it->text);
        sayTime(it->text, most->interval);
        fputs(".", it->text);
    } else if (most->kind == kRLRunLoopProbeTimer) {
        fputs(" The timer is set to a date in the past each time.", it->text);
    } else {
        int descriptor = most->descriptor <= INT32_MAX ? (int)most->descriptor : descriptorOfSource(it, most->function);
        if (descriptor >= 0)
            sayWhyDescriptor(it, descriptor);
    }
}

void saySpinning(struct Explanation *it, const struct NowState *state, const struct NowCallee *most)
{
    fputs(" has hardly slept for ", it->text);
    sayTime(it->text, since(it, state->busy));
    fprintf(it->text, ": of %llu calls, %llu went to ", (unsigned long long)state->callsInRound,
            (unsigned long long)most->count);
    sayCallback(it->text, it->modules, most->kind, most->function, most->descriptor);
    fputs(".", it->text);
    sayWhySpins(it, most);
}
