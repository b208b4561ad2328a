/* RLFileWatch while some events are lost, as happens when the watch of a directory begins in the middle of a change. */
#include "files.h"
#include <dlfcn.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The kit reads inotify events with syscall(2). Of the next events with any of these bits, the first `dropped_count`
 * are dropped. */
static uint32_t dropped;
static int dropped_count;
/* The kit also opens directories with syscall(2): opening this one fails with EACCES. */
static const char *closed;
/* While this is set, no inotify instance can be created. */
static bool refuses_queues;
/* While this is set, a thread that reads events is held before its read. */
static atomic_bool holds_readers;
static atomic_int held_readers;

static long without_dropped(char *bytes, long length)
{
    long kept = 0;
    for (long next = 0; next < length;) {
        struct inotify_event event;
        memcpy(&event, bytes + next, sizeof event);
        long size = (long)(sizeof event + event.len);
        if ((event.mask & dropped) != 0 && dropped_count > 0) {
            dropped_count--;
        } else {
            memmove(bytes + kept, bytes + next, (size_t)size);
            kept += size;
        }
        next += size;
    }
    return kept;
}

/* Reads six arguments, also where the caller has passed fewer. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    static long (*libc_syscall)(long number, ...);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat && closed != NULL && strcmp((const char *)arguments[1], closed) == 0) {
        errno = EACCES;
        return -1;
    }
    if (number == SYS_inotify_init1 && refuses_queues) {
        errno = EMFILE;
        return -1;
    }
    if (number == SYS_read && holds_readers) {
        held_readers++;
        while (holds_readers)
            sched_yield();
    }
    if (libc_syscall == NULL)
        libc_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long result =
        libc_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if (number == SYS_read && result > 0 && dropped_count > 0)
        result = without_dropped((char *)arguments[1], result);
    return result;
}

static void drop_events(uint32_t bits, int count)
{
    dropped = bits;
    dropped_count = count;
}

static struct record record;

static void set_up(void)
{
    make_tree();
    record = (struct record){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

/* The watch of one of the two directories begins in the middle of the exchange. */
START_TEST(an_exchange_with_a_missing_event_must_be_scanned)
{
    make_directory(in_tree("old"));
    make_directory(in_tree("new"));
    if (_i < 2) {
        write_file(in_tree("old/x"), "x");
        write_file(in_tree("new/y"), "y");
    } else {
        make_directory(in_tree("old/x"));
        make_directory(in_tree("old/x/in-x"));
        make_directory(in_tree("new/y"));
    }
    watch_base(&record, 0, 0);
    int watched = (int)RLFileWatchGetWatchCount(record.object);
    drop_events(_i % 2 ? IN_MOVED_FROM : IN_MOVED_TO, 1);
    require(syscall(SYS_renameat2, AT_FDCWD, in_tree("old/x"), AT_FDCWD, in_tree("new/y"), RENAME_EXCHANGE) == 0);
    await_all(&record);
    ck_assert_int_eq(dropped_count, 0);
    ck_assert_ptr_nonnull(strstr(record.words, _i < 2 ? "?old/x" : "?old/x/"));
    ck_assert_ptr_nonnull(strstr(record.words, _i < 2 ? "?new/y" : "?new/y/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), watched);
    record.words[0] = 0;
    if (_i >= 2) {
        write_file(in_tree("new/y/in-x/file"), "x");
        write_file(in_tree("old/x/file"), "x");
        assert_reported(&record, "+new/y/in-x/file +old/x/file");
    }
    end_watch(&record);
}
END_TEST

/* A file that was moved away is replaced by another one, as programs do that keep a backup. */
START_TEST(a_move_out_of_the_tree_and_a_rename_to_the_same_name_are_no_exchange)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(in_tree("old"));
    make_directory(in_tree("new"));
    write_file(in_tree("old/x"), "x");
    write_file(in_tree("new/y"), "y");
    watch_base(&record, 0, 0);
    require(rename(in_tree("old/x"), outside) == 0 && rename(in_tree("new/y"), in_tree("old/x")) == 0);
    assert_reported(&record, "->old/x new/y>old/x");
    end_watch(&record);
    unlink(outside);
}
END_TEST

/* However often a directory's recorded path becomes wrong, it is repaired each time. */
START_TEST(a_wrong_tree_is_repaired_as_often_as_necessary)
{
    enum { rounds = 12 };
    make_directory(in_tree("0"));
    watch_base(&record, 0, 0);
    for (int i = 0; i < rounds; i++) {
        record.words[0] = 0;
        drop_events(IN_MOVED_FROM | IN_MOVED_TO, 2);
        require(rename(in_tree("%d", i), in_tree("%d", i + 1)) == 0);
        make_directory(in_tree("%d/%d", i + 1, i)); /* is reported under a path that does not exist */
        make_directory(in_tree("other-%d", i));
        while (strchr(record.words, '?') == NULL && strchr(record.words, '#') == NULL)
            require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
        ck_assert_ptr_null(strchr(record.words, '#'));
    }
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2 + 2 * rounds);
    end_watch(&record);
}
END_TEST

/* The watch has a directory under a path that it has left, and the new directory at that path cannot be watched. */
START_TEST(a_directory_reported_as_unwatched_reports_no_events)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/sub"));
    watch_base(&record, 0, 0);
    drop_events(IN_MOVED_FROM | IN_MOVED_TO, 2);
    require(rename(in_tree("a"), in_tree("b")) == 0);
    closed = in_tree("a");
    make_directory(closed);
    assert_reported(&record, "+a/ #a/");
    ck_assert_int_eq(record.error, EACCES);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 1);
    write_file(in_tree("b/file"), "x");
    write_file(in_tree("b/sub/file"), "x");
    write_file(in_tree("a/file"), "x");
    assert_reported(&record, "");
    require(rename(in_tree("a"), in_tree("c")) == 0); /* tried again, under a path that can be opened */
    assert_reported(&record, "a>c/ +c/file");
    write_file(in_tree("c/file"), "y");
    write_file(in_tree("c/other"), "y");
    assert_reported(&record, "+c/other");
    end_watch(&record);
}
END_TEST

/* Two loops share the object: one calls the callback, which forks while the other loop reads. */
static struct looper reader;
static void fork_in_call(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                         void *info)
{
    pid_t *child = info;
    if (*child >= 0)
        return;
    holds_readers = true;
    RLRunLoopAddSource(reader.loop, watch, kRLRunLoopDefaultMode);
    write_file(in_tree("b"), "x");
    while (held_readers == 0)
        sched_yield();
    *child = fork_child();
    holds_readers = false;
}

START_TEST(a_file_watch_callback_may_fork_while_another_loop_reads)
{
    const char *paths[] = {base, NULL};
    pid_t child = -1;
    RLFileWatchContext context = {.info = &child};
    looper_start(&reader);
    RLFileWatchRef watch = add(RLFileWatchCreate(NULL, paths, 0, 0, fork_in_call, &context));
    write_file(in_tree("a"), "x");
    while (child < 0)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    if (child == 0) /* the child has returned from the callback */
        _exit(0);
    int status = -1;
    require(waitpid(child, &status, 0) == child);
    ck_assert_int_eq(status, 0);
    looper_stop(&reader);
    RLRunLoopSourceInvalidate(watch);
    RLRelease(watch);
}
END_TEST

/* A directory is new when everything has to be read again, but there is no inotify instance for some time. */
START_TEST(no_directory_is_reported_as_unwatched_while_there_is_no_queue)
{
    watch_base(&record, 0, 0);
    record.ignored |= kRLFileWatchCreated;
    make_directory(in_tree("a"));
    overflow_queue("one", "two", queue_limit());
    refuses_queues = true;
    for (int turn = 0; turn < 10; turn++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0);
    ck_assert_str_eq(record.words, "");
    refuses_queues = false;
    while (record.words[0] == 0)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    ck_assert_str_eq(record.words, "?./");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    end_watch(&record);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-unheard");
    TCase *tcase = add_case(suite, "file-watch-unheard", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_loop_test(tcase, an_exchange_with_a_missing_event_must_be_scanned, 0, 4);
    tcase_add_test(tcase, a_move_out_of_the_tree_and_a_rename_to_the_same_name_are_no_exchange);
    tcase_add_test(tcase, a_wrong_tree_is_repaired_as_often_as_necessary);
    tcase_add_test(tcase, a_directory_reported_as_unwatched_reports_no_events);
    tcase_add_test(tcase, a_file_watch_callback_may_fork_while_another_loop_reads);
    if (queue_limit() <= 20000)
        tcase_add_test(tcase, no_directory_is_reported_as_unwatched_while_there_is_no_queue);
    return suite;
}
