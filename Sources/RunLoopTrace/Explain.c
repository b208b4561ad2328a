/* Implements Explain.h, from the states in Now.h and from what RLCopyDescription returns for a loop. */
#include "Explain.h"
#include "Companion.h"
#include "Explanation.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 100

/* --- what it does --------------------------------------------------------------------------------------------------------- */

static void sayCall(struct Explanation *it, const struct NowCall *call)
{
    sayCallback(it->text, it->modules, call->kind, call->function, call->descriptor);
}

static void sayAsleep(struct Explanation *it, const struct NowState *state)
{
    const char *mode = (const char *)state->mode;
    fputs(" has been asleep in mode ", it->text);
    sayName(it->text, mode);
    fputs(" for ", it->text);
    sayTime(it->text, since(it, state->asleep));
    if (!it->isOwn)
        saySystemCall(it->text, it->now->thread);
    if (state->until == NOW_NOTHING) {
        fputs(", and will sleep until an event occurs: no timer is pending and the run has no time limit.", it->text);
        return;
    }
    RLStringRef name = RLStringCreateWithCString(NULL, mode, kRLStringEncodingUTF8);
    RLAbsoluteTime date = name ? RLRunLoopGetNextTimerFireDate(it->now->loop, name) : 0;
    double seconds = (double)(int64_t)(state->until - it->time) * 1e-9;
    int isTimer = date != 0 && date - RLAbsoluteTimeGetCurrent() <= seconds + 0.005;
    if (name != NULL)
        RLRelease(name);
    fputs(", and will wake in ", it->text);
    sayTime(it->text, seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
    fprintf(it->text, " at the latest, when %s.", isTimer ? "a timer is due" : "the run's time limit expires");
}

/* Describes the running callbacks, innermost first. */
static void sayCalls(struct Explanation *it, const struct NowState *state, int isInnermostSaid)
{
    uint64_t depth = state->depth < NOW_FRAMES ? state->depth : NOW_FRAMES;
    for (uint64_t index = depth - (isInnermostSaid ? 1 : 0); index-- > 0;) {
        if (isOfLibrary(it, state->frames[index].function))
            continue;
        fputs(" This happens within ", it->text);
        sayCall(it, &state->frames[index]);
        fputs(", which was called ", it->text);
        sayTime(it->text, since(it, state->frames[index].since));
        fputs(" ago.", it->text);
    }
}

static void sayState(struct Explanation *it, const struct NowState *state)
{
    if (state->asleep != 0) {
        sayAsleep(it, state);
        sayCalls(it, state, 0);
    } else if (state->depth > 0 && state->depth <= NOW_FRAMES) {
        const struct NowCall *call = &state->frames[state->depth - 1];
        fputs(" has been in ", it->text);
        sayCall(it, call);
        fputs(" for ", it->text);
        sayTime(it->text, since(it, call->since));
        if (!it->isOwn)
            saySystemCall(it->text, it->now->thread);
        fputs(".", it->text);
        sayCalls(it, state, 1);
    } else {
        RLRunLoopMode mode = RLRunLoopCopyCurrentMode(it->now->loop);
        fputs(mode ? " is awake, between callbacks" : " is not running its loop", it->text);
        if (mode != NULL)
            RLRelease(mode);
        else if (!it->isOwn)
            saySystemCall(it->text, it->now->thread);
        fputs(".", it->text);
    }
}

static void sayWaking(struct Explanation *it, const struct NowWaking *waking)
{
    if (waking->when == 0)
        return;
    if (waking->thread == 0 && waking->kind == 0)
        return;
    fputs(" It was last woken ", it->text);
    sayTime(it->text, since(it, waking->when));
    fputs(" ago ", it->text);
    if (waking->thread == 0) {
        fputs("to call ", it->text);
        sayCallback(it->text, it->modules, waking->kind, waking->function, NOW_NOTHING);
    } else {
        fputs("by ", it->text);
        sayThread(it->text, (int)waking->thread);
        if (waking->kind == kRLRunLoopProbeFunction || waking->kind == kRLRunLoopProbeSource) {
            fputs(waking->kind == kRLRunLoopProbeFunction ? ", which had posted " : ", which had signalled ", it->text);
            sayFunction(it->text, it->modules, waking->function);
        } else if (waking->kind != 0)
            fputs(", which had sent a message", it->text);
    }
    fputs(".", it->text);
}

static void sayRequests(struct Explanation *it, const struct NowState *state)
{
    for (int index = 0; index < NOW_REQUESTS; index++) {
        if (state->requests[index].since == 0)
            continue;
        const char *port = (const char *)state->requests[index].port;
        fputs(" It is waiting for the reply to a request that it sent ", it->text);
        sayTime(it->text, since(it, state->requests[index].since));
        fputs(" ago to message port ", it->text);
        sayName(it->text, port);
        sayServer(it->text, port);
        fputs(".", it->text);
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------------ */

static void explainOne(struct Explanation *it)
{
    const struct NowState *state = &it->now->state;
    const struct NowCallee *most = spinningOn(state, it->time);
    int isAsleep = state->asleep != 0;
    RLRunLoopMode mode = RLRunLoopCopyCurrentMode(it->now->loop);
    char name[256] = "";
    if (mode != NULL) {
        RLStringGetCString(mode, name, sizeof name, kRLStringEncodingUTF8);
        RLRelease(mode);
    } else if (isAsleep)
        strcpy(name, (const char *)state->mode);
    fputc('T', it->text);
    char *thread = NULL;
    size_t size;
    FILE *text = open_memstream(&thread, &size);
    if (text != NULL) {
        sayThread(text, it->now->thread);
        fclose(text);
        fputs(thread + 1, it->text);
        free(thread);
    }
    if (it->now->thread == getpid())
        fputs(", the main thread,", it->text);
    if (most != NULL)
        saySpinning(it, state, most);
    else
        sayState(it, state);
    sayRequests(it, state);
    if (name[0] != 0)
        sayWhatKeeps(it, name);
    if (most == NULL)
        sayWaking(it, &state->waking);
    fputs("\n", it->text);
}

/* Breaks lines between words, and puts an empty line between paragraphs. */
static char *wrap(const char *text)
{
    char *wrapped = malloc(strlen(text) * 2 + 2), *end = wrapped;
    size_t column = 0;
    while (wrapped != NULL && *text != 0) {
        size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + length > WIDTH) {
            *end++ = '\n';
            column = 0;
        } else if (column > 0) {
            *end++ = ' ';
            column++;
        }
        memcpy(end, text, length);
        end += length;
        column += length;
        text += length;
        if (*text == '\n') {
            *end++ = '\n';
            if (text[1] != 0)
                *end++ = '\n';
            column = 0;
        }
        text += *text != 0;
    }
    if (wrapped != NULL)
        *end = 0;
    return wrapped;
}

char *explain(RLRunLoopRef only, int mayWait)
{
    struct NowSnapshot *snapshots;
    int count = nowCopy(only, &snapshots);
    char *text = NULL, *wrapped = NULL;
    size_t size;
    FILE *file = count > 0 ? open_memstream(&text, &size) : NULL;
    struct Module *modules = file ? readModules("/proc/thread-self/maps") : NULL;
    /* The newest entry is the first of the list; the oldest is explained first. */
    for (int index = count - 1; file != NULL && index >= 0; index--) {
        struct Explanation it = {.text = file, .modules = modules, .now = &snapshots[index], .mayWait = mayWait};
        it.isOwn = snapshots[index].thread == gettid();
        it.time = clockNow();
        if (nowRefresh(&snapshots[index]))
            explainOne(&it);
    }
    if (file != NULL && fclose(file) == 0)
        wrapped = wrap(text);
    free(text);
    freeModules(modules);
    nowFree(snapshots, count);
    return wrapped;
}
