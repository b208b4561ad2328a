/* Implements Arrows.h. What was sent and has not arrived yet is in a hash table, with a queue for each key. */
#include "Arrows.h"
#include <RunLoop/RLRunLoopProbe.h>
#include <stdlib.h>

enum { BUCKET_BITS = 16, BUCKETS = 1 << BUCKET_BITS };

/* What a departure and its arrival have in common. */
struct Key {
    int process; /* 0: requests and replies, which go from one process to another */
    unsigned kind;
    uint64_t first, second;
};
/* Something that was sent with a certain key and has not arrived yet. The first in its queue has waited longest. */
struct Departure {
    struct Departure *earlier, *later;
    uint64_t number;
};
/* All departures of one key; never empty. */
struct Queue {
    struct Queue *next; /* in the bucket */
    struct Key key;
    struct Departure *first, *last;
};
struct Arrows {
    struct Queue *buckets[BUCKETS];
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

/* Returns where the pointer to the queue of a key is; the end of its bucket if there is none. */
static struct Queue **find(struct Arrows *arrows, const struct Key *key)
{
    uint64_t hash = (key->first * 31 + key->second) * 31 + (uint64_t)(unsigned)key->process * 16 + key->kind;
    struct Queue **place = &arrows->buckets[(hash * 0x9E3779B97F4A7C15u) >> (64 - BUCKET_BITS)];
    while (*place != NULL && !isSame(&(*place)->key, key))
        place = &(*place)->next;
    return place;
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
    struct Key key = keyOf(process, record);
    struct Queue **place = find(arrows, &key), *queue = *place;
    if (queue == NULL) {
        *place = queue = allocate(sizeof *queue);
        *queue = (struct Queue){.key = key};
    }
    struct Departure *departure = allocate(sizeof *departure);
    *departure = (struct Departure){.earlier = queue->last, .number = ++arrows->last};
    *(queue->last ? &queue->last->later : &queue->first) = departure;
    queue->last = departure;
    if (record->kind == kRLRunLoopProbeFunction)
        ++*postsOf(arrows, process);
    return departure->number;
}

/* Removes a departure from its queue and returns its number; frees the queue with the last one. */
static uint64_t take(struct Arrows *arrows, struct Queue **place, struct Departure *departure)
{
    struct Queue *queue = *place;
    uint64_t number = departure->number;
    if (queue->key.kind == kRLRunLoopProbeFunction)
        --*postsOf(arrows, queue->key.process);
    *(departure->earlier ? &departure->earlier->later : &queue->first) = departure->later;
    *(departure->later ? &departure->later->earlier : &queue->last) = departure->earlier;
    free(departure);
    if (queue->first == NULL) {
        *place = queue->next;
        free(queue);
    }
    return number;
}

void freeArrows(struct Arrows *arrows)
{
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        while (arrows->buckets[bucket] != NULL)
            take(arrows, &arrows->buckets[bucket], arrows->buckets[bucket]->first);
    for (struct Posts *next, *posts = arrows->posts; posts != NULL; posts = next) {
        next = posts->next;
        free(posts);
    }
    free(arrows);
}

void takeArrivals(struct Arrows *arrows, int process, const struct TraceRecord *record, struct Arrivals *arrived)
{
    struct Key key = keyOf(process, record);
    int takesAll = key.kind == kRLRunLoopProbeSource || key.kind == kRLRunLoopProbeWake;
    if (record->part == TRACE_WILL_CALL && (key.kind == kRLRunLoopProbeMessagePort || key.kind == kRLRunLoopProbeReply))
        return; /* matched when they were received */
    /* If several arrive together, the latest are shown. */
    for (struct Queue **place = find(arrows, &key); *place != NULL && isSame(&(*place)->key, &key);) {
        uint64_t number = take(arrows, place, takesAll ? (*place)->last : (*place)->first);
        if (arrived->count < ARRIVALS)
            arrived->numbers[arrived->count++] = number;
        if (!takesAll)
            return;
    }
}

void forgetDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record)
{
    struct Key key = keyOf(process, record);
    struct Queue **place = find(arrows, &key);
    if (*place != NULL)
        take(arrows, place, (*place)->last);
}
