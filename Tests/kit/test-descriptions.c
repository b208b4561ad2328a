/* RLCopyDescription of each kind of object: its kind, the number that identifies it, if there is one, and the description of its info. */
#include "kit.h"

#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>

static RLStringRef describe(const void *info)
{
    return info != NULL ? RLStringCreateWithCString(NULL, info, kRLStringEncodingUTF8) : NULL;
}

/* Also releases the object. */
static void assert_described(RLRunLoopSourceRef object, const char *expected)
{
    char end[100];
    ck_assert_ptr_nonnull(object);
    RLStringRef text = RLCopyDescription(object);
    const char *found = strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), " info=");
    snprintf(end, sizeof end, " info=%s>", expected);
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found, end);
    RLRelease(text);
    RLRelease(object);
}

static void heard(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) {}
static void ended(UNUSED RLChildRef child, UNUSED const RLChildStatus *status, UNUSED void *info) {}
static void work(UNUSED RLWorkRef work, UNUSED void *info) {}
static void resolved(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error, UNUSED void *info)
{
}
static void accepted(UNUSED RLListenerRef listener, UNUSED int descriptor, UNUSED void *info) {}
static void changed(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                    UNUSED void *info)
{
}

START_TEST(works_and_what_is_done_by_works)
{
    RLWorkContext named = {.info = "of mine", .copyDescription = describe}, unnamed = {.copyDescription = describe};
    assert_described(RLWorkersCreate(NULL, 3), "RLWorkers 3");
    assert_described(RLWorkCreate(NULL, 0, work, NULL, NULL), "RLWork");
    assert_described(RLWorkCreate(NULL, 0, work, NULL, &unnamed), "RLWork");
    assert_described(RLWorkCreate(NULL, 0, work, NULL, &named), "RLWork of mine");
    assert_described(RLHostResolveCreate(NULL, "a.host", "http", NULL, 1, resolved, NULL), "RLHostResolve a.host:http");
    assert_described(RLHostResolveCreate(NULL, "a.host", NULL, NULL, 1, resolved, &named),
                     "RLHostResolve a.host of mine");
    assert_described(RLHostResolveCreate(NULL, NULL, "http", NULL, 1, resolved, &unnamed), "RLHostResolve :http");
}
END_TEST

START_TEST(what_is_watched)
{
    RLSignalContext signal_context = {.info = "of mine", .copyDescription = describe};
    RLFileWatchContext watch_context = {.info = "of mine", .copyDescription = describe};
    RLChildContext child_context = {.info = "of mine", .copyDescription = describe};
    const char *paths[] = {getenv("TMPDIR"), NULL};
    char expected[50];
    pid_t process = fork_child();
    if (process == 0)
        _exit(0);
    assert_described(RLSignalCreate(NULL, SIGHUP, 0, heard, &signal_context), "RLSignal 1 of mine");
    snprintf(expected, sizeof expected, "RLChild %d of mine", process);
    assert_described(RLChildCreate(NULL, process, ended, &child_context), expected);
    assert_described(RLFileWatchCreate(NULL, paths, 0, 0, changed, &watch_context), "RLFileWatch of mine");
    assert_described(RLFileWatchCreate(NULL, paths, 0, 0, changed, NULL), "RLFileWatch");
}
END_TEST

START_TEST(descriptors)
{
    RLStreamContext stream_context = {.info = "of mine", .copyDescription = describe};
    char expected[50];
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    snprintf(expected, sizeof expected, "RLStream %d of mine", pair[0]);
    assert_described(RLStreamCreate(NULL, pair[0], 1, NULL, &stream_context), expected);
    close(pair[1]);
    RLListenerRef listener = RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, accepted, NULL);
    snprintf(expected, sizeof expected, "RLListener %d", RLListenerGetNativeDescriptor(listener));
    assert_described(listener, expected);
}
END_TEST

static RLRunLoopSourceRef object;
static void use_as_signal(void) { ck_assert_int_eq(RLSignalGetNumber(object), 0); }
static void use_as_work(void) { ck_assert(!RLWorkCancel(object)); }

START_TEST(mistakes_name_the_kind)
{
    object = RLHostResolveCreate(NULL, "a.host", NULL, NULL, 1, resolved, NULL);
    ck_assert(RLWorkCancel(object)); /* it is a work */
    assert_reports(use_as_signal, "runloop: RLSignalGetNumber: signal: expected RLSignal, got RLHostResolve");
    RLRelease(object);
    object = RLSignalCreate(NULL, SIGHUP, 0, heard, NULL);
    assert_reports(use_as_work, "runloop: RLWorkCancel: work: expected RLWork, got RLSignal");
    RLRelease(object);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("descriptions");
    TCase *all = add_case(suite, "descriptions", 30);
    tcase_add_test(all, works_and_what_is_done_by_works);
    tcase_add_test(all, what_is_watched);
    tcase_add_test(all, descriptors);
    tcase_add_test(all, mistakes_name_the_kind);
    return suite;
}
