/* The contents of a mode, parsed from the text of RLCopyDescription. librunloop has the same version, so the format is known; what cannot
   be parsed is left out. */
#include "Explanation.h"
#include "KitCallbacks.h"
#include <stdlib.h>
#include <string.h>

#define LISTED 12 /* the most sources that are listed */

/* A mode, as RLCopyDescription describes it: NAME(sources=2 timers=1 waits=1 {...} {...}). The mode may have more sources than the text
   describes. `waits` is the number of requests with which the thread waits in the mode; it is left out if there are none. */
struct ModeItems {
    char *description;
    const char *items;
    int sources, timers, waits;
};

/* Finds a mode in the description of its loop. `description`, which the caller frees, is NULL if the mode is not there. */
static struct ModeItems itemsOf(RLRunLoopRef loop, const char *mode)
{
    struct ModeItems found = {0};
    char start[300];
    RLStringRef description = RLCopyDescription(loop);
    const char *text = description ? RLStringGetCStringPtr(description, kRLStringEncodingUTF8) : NULL;
    snprintf(start, sizeof start, " %s(sources=", mode);
    const char *place = text ? strstr(text, start) : NULL;
    if (place != NULL &&
        sscanf(place + strlen(start), "%d timers=%d waits=%d", &found.sources, &found.timers, &found.waits) >= 2) {
        found.description = strdup(place + strlen(start));
        char *end = found.description ? strchr(found.description, ')') : NULL;
        if (end != NULL)
            *end = 0;
        found.items = found.description ? strchr(found.description, '{') : NULL;
    }
    if (description != NULL)
        RLRelease(description);
    return found;
}

/* A source in the list that `ModeItems` has. */
struct SourceItem {
    int version, signalled, descriptor;
    unsigned long function, info;
};

/* Reads the first source of a list and returns the rest; NULL if there is none. */
static const char *readItem(const char *items, struct SourceItem *item)
{
    long order;
    item->descriptor = -1;
    if (items == NULL ||
        sscanf(items, "{ version=%d order=%ld signalled=%d callout=%lx info=%lx fd=%d}", &item->version, &order,
               &item->signalled, &item->function, &item->info, &item->descriptor) < 5)
        return NULL;
    item->function = kitFunctionOfSource(item->function, item->info);
    const char *next = strchr(items + 1, '{');
    return next ? next : "";
}

static void sayItems(struct Explanation *it, const struct ModeItems *items)
{
    struct SourceItem item;
    const char *rest = items->items;
    int count = 0;
    for (; count < LISTED && (rest = readItem(rest, &item)) != NULL; count++) {
        fputs(count == 0 ? ": " : ", ", it->text);
        int isOurs = isOfLibrary(it, item.function);
        if (isOurs)
            fputs("an internal one for a port, message port or reply", it->text);
        else
            sayFunction(it->text, it->modules, item.function);
        if (item.descriptor >= 0) {
            fputs(" on descriptor ", it->text);
            sayDescriptor(it->text, item.descriptor);
        } else if (!isOurs)
            fputs(item.signalled ? " (signalled)" : " (not signalled)", it->text);
    }
    if (count > 0 && count < items->sources)
        fprintf(it->text, ", and %d more", items->sources - count);
}

void sayWhatKeeps(struct Explanation *it, const char *mode)
{
    struct ModeItems items = itemsOf(it->now->loop, mode);
    if (items.description == NULL)
        return;
    const char *and = items.sources > 0 && items.timers > 0 ? " and " : "";
    fputs(" A run in mode ", it->text);
    sayName(it->text, mode);
    if (items.sources + items.timers == 0 && items.waits > 0)
        fputs(" does not end by itself, because a request waits for its reply in the mode", it->text);
    else if (items.sources + items.timers == 0)
        fputs(" ends once no posted function is left, because the mode has no sources or timers", it->text);
    else
        fputs(" does not end by itself, because the mode has ", it->text);
    if (items.timers > 0)
        fprintf(it->text, "%d timer%s", items.timers, items.timers == 1 ? "" : "s");
    fputs(and, it->text);
    if (items.sources > 0)
        fprintf(it->text, "%d source%s", items.sources, items.sources == 1 ? "" : "s");
    sayItems(it, &items);
    fputs(".", it->text);
    free(items.description);
}

int descriptorOfSource(struct Explanation *it, uint64_t function)
{
    struct ModeItems items = itemsOf(it->now->loop, (const char *)it->now->state.mode);
    struct SourceItem item;
    int found = -1;
    for (const char *rest = items.items; (rest = readItem(rest, &item)) != NULL;)
        if (item.function == function && item.descriptor >= 0)
            found = item.descriptor;
    free(items.description);
    return found;
}
