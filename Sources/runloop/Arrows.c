/* Arrows.h. What is under way is in a hash table, with a queue for each key. */
#include "Arrows.h"
#include <RunLoop/RLRunLoopProbe.h>
#include <stdlib.h>

enum { BUCKETS = 4096 };

/* What departure and arrival have in common. */
struct Key {
    int process; /* 0: of requests and replies, which go from one to the other */
    unsigned kind;
    uint64_t first, second;
};
struct Departure {
    struct Departure *next; /* the one before it in the bucket: last in, first */
    struct Key key;
    uint64_t number;
};
struct Arrows {
    struct Departure *buckets[BUCKETS];
    uint64_t last;
    struct Posts {
        struct Posts *next;
        int process;
        size_t count;
    } * posts;
};

struct Arrows *makeArrows(void)
{
    struct Arrows *arrows = calloc(1, sizeof *arrows);
    if (arrows == NULL)
        fail("out of memory");
    return arrows;
}

void freeArrows(struct Arrows *arrows)
{
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (struct Departure *next, *departure = arrows->buckets[bucket]; departure != NULL; departure = next) {
            next = departure->next;
            free(departure);
        }
    for (struct Posts *next, *posts = arrows->posts; posts != NULL; posts = next) {
        next = posts->next;
        free(posts);
    }
    free(arrows);
}

static struct Key keyOf(int process, const struct TraceRecord *record)
{
    struct Key key = {.process = process, .kind = record->kind};
    switch (record->kind) {
    case kRLRunLoopProbeSource:
    case kRLRunLoopProbeFunction:
        key.first = record->function, key.second = record->info;
        break;
    case kRLRunLoopProbeSleep:
        key.kind = kRLRunLoopProbeWake; /* fall through */
    case kRLRunLoopProbeWake:
    case kRLRunLoopProbePort:
        key.first = record->what;
        break;
    default:
        key.process = 0, key.first = record->what;
    }
    return key;
}

static int isSame(const struct Key *left, const struct Key *right)
{
    return left->process == right->process && left->kind == right->kind && left->first == right->first &&
           left->second == right->second;
}

static struct Departure **bucketOf(struct Arrows *arrows, const struct Key *key)
{
    uint64_t hash = (key->first * 31 + key->second) * 31 + (uint64_t)(unsigned)key->process * 16 + key->kind;
    return &arrows->buckets[(hash * 0x9E3779B97F4A7C15u) >> 52];
}

static size_t *postsOf(struct Arrows *arrows, int process)
{
    struct Posts *posts = arrows->posts;
    while (posts != NULL && posts->process != process)
        posts = posts->next;
    if (posts == NULL) {
        posts = allocate(sizeof *posts);
        *posts = (struct Posts){.next = arrows->posts, .process = process};
        arrows->posts = posts;
    }
    return &posts->count;
}

size_t countPosts(const struct Arrows *arrows, int process) { return *postsOf((struct Arrows *)arrows, process); }

uint64_t noteDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record)
{
    struct Departure *departure = allocate(sizeof *departure);
    departure->key = keyOf(process, record);
    departure->number = ++arrows->last;
    struct Departure **bucket = bucketOf(arrows, &departure->key);
    departure->next = *bucket;
    *bucket = departure;
    if (record->kind == kRLRunLoopProbeFunction)
        ++*postsOf(arrows, process);
    return departure->number;
}

static uint64_t take(struct Arrows *arrows, struct Departure **place)
{
    struct Departure *departure = *place;
    uint64_t number = departure->number;
    if (departure->key.kind == kRLRunLoopProbeFunction)
        --*postsOf(arrows, departure->key.process);
    *place = departure->next;
    free(departure);
    return number;
}

/* The first that departed, which is the last of its key in the bucket; or NULL. */
static struct Departure **find(struct Arrows *arrows, const struct Key *key, int isLast)
{
    struct Departure **found = NULL;
    for (struct Departure **place = bucketOf(arrows, key); *place != NULL; place = &(*place)->next)
        if (isSame(&(*place)->key, key) && !(isLast && found != NULL))
            found = place;
    return found;
}

void takeArrivals(struct Arrows *arrows, int process, const struct TraceRecord *record, struct Arrivals *arrived)
{
    struct Key key = keyOf(process, record);
    int takesAll = key.kind == kRLRunLoopProbeSource || key.kind == kRLRunLoopProbeWake;
    struct Departure **place;
    if (record->part == TRACE_WILL_CALL && (key.kind == kRLRunLoopProbeMessagePort || key.kind == kRLRunLoopProbeReply))
        return; /* they were received before */
    while ((place = find(arrows, &key, takesAll)) != NULL) {
        uint64_t number = take(arrows, place);
        if (arrived->count < ARRIVALS)
            arrived->numbers[arrived->count++] = number;
        if (!takesAll)
            return;
    }
}

void forgetDepartures(struct Arrows *arrows, int process, const struct TraceRecord *record)
{
    struct Key key = keyOf(process, record);
    if (record->kind != kRLRunLoopProbeFunction || record->detail == 0) {
        struct Departure **last = find(arrows, &key, 1);
        if (last != NULL)
            take(arrows, last);
        return;
    }
    /* Cancelled: all with this info and, unless it is NULL, this function. */
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (struct Departure **place = &arrows->buckets[bucket]; *place != NULL;) {
            const struct Key *its = &(*place)->key;
            if (its->process == process && its->kind == kRLRunLoopProbeFunction && its->second == key.second &&
                (key.first == 0 || its->first == key.first))
                take(arrows, place);
            else
                place = &(*place)->next;
        }
}
