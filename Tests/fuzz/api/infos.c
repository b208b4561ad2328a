/* The infos of callbacks: see fuzz.h. */
#include "fuzz.h"

static _Atomic(struct info *) all_infos;
static atomic_uint serials;
atomic_int open_functions;

struct info *make_info(enum kind kind, int slot)
{
    struct info *info = calloc(1, sizeof *info);
    check(info != NULL, "no memory");
    info->magic = ALIVE;
    info->kind = kind;
    info->slot = slot;
    info->serial = ++serials;
    info->fd = info->peer = -1;
    info->next = all_infos;
    while (!atomic_compare_exchange_weak(&all_infos, &info->next, info))
        continue;
    return info;
}

void discard_info(struct info *info) { info->magic = DEAD; }

void note(struct info *info, const char *what, int other)
{
    if (info == NULL)
        return;
    unsigned index = info->noted++;
    info->notes[index % NOTES] = (struct note){what, self == NULL ? -1 : self->index, other};
}

const void *retain_info(const void *object)
{
    struct info *info = (struct info *)object;
    check(info->magic == ALIVE, "retain of a released info: %s %u", kind_names[info->kind], info->serial);
    info->count++;
    return info;
}

void release_info(const void *object)
{
    struct info *info = (struct info *)object;
    check(info->magic == ALIVE, "release of a released info: %s %u", kind_names[info->kind], info->serial);
    int left = --info->count;
    note(info, "release", left);
    if (left == 0)
        info->magic = DEAD;
}

void print_info(const struct info *info)
{
    fprintf(stderr, "  %s %u in slot %d: count %d, calls %d, threads ended in it %d, invalidated by %llx, %s%s fd %d\n",
            kind_names[info->kind], info->serial, info->slot, info->count, info->calls, info->ended_in,
            (unsigned long long)info->invalidated_by, info->repeats ? "repeats," : "", info->closes ? "closes," : "",
            info->fd);
    unsigned end = info->noted, begin = end > NOTES ? end - NOTES : 0;
    for (unsigned index = begin; index < end; index++) {
        struct note shown = info->notes[index % NOTES];
        fprintf(stderr, "    thread %d: %s %d\n", shown.thread, shown.what, shown.other);
    }
}

void settle_infos(void)
{
    int leaked = 0;
    const struct info *first = NULL;
    for (struct info *info = all_infos; info != NULL; info = info->next) {
        if (info->magic != ALIVE)
            continue;
        if (leaked++ < 5)
            print_info(first = info);
    }
    if (first != NULL)
        fail(__LINE__, "%d infos were never released, among them that of a %s%s", leaked, kind_names[first->kind],
             first->ended_in > 0 ? " in whose callback a thread had ended" : "");
    check(open_functions == 0, "%d functions' infos were not released", open_functions);
    struct info *next;
    for (struct info *info = all_infos; info != NULL; info = next) {
        next = info->next;
        if (info->fd >= 0 && !info->closes)
            close(info->fd);
        if (info->peer >= 0)
            close(info->peer);
        free(info);
    }
    all_infos = NULL;
}
