/* RLHostResolve: addresses, errors, the time limit, cancellation, lifetime, misuse. The program defines its own
 * getaddrinfo(), which can be made to wait, and uses no network. */
#include "kit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>

static RLWorkersRef workers;
static gate hold;
static atomic_int asked, answered;
static atomic_bool must_wait;

/* Resolves numeric addresses and this machine only. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **answer)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    struct addrinfo ours = *hints;
    asked++;
    if (must_wait)
        gate_pass(&hold);
    ours.ai_flags |= AI_NUMERICHOST;
    int error = real(host, service, &ours, answer);
    answered++;
    return error;
}

static RLHostResolveRef to_invalidate;
static void *invalidate_object(void *object)
{
    RLRunLoopSourceInvalidate(object);
    return NULL;
}

/* Interposes the function that the kit calls; at that moment another thread may invalidate the object, and may have to wait for this
 * one. */
static pthread_t invalidator;
void RLRunLoopAddTimer(RLRunLoopRef loop, RLRunLoopTimerRef timer, RLRunLoopMode mode)
{
    void (*real)(RLRunLoopRef, RLRunLoopTimerRef, RLRunLoopMode) = dlsym(RTLD_NEXT, "RLRunLoopAddTimer");
    if (to_invalidate) {
        invalidator = start_thread(invalidate_object, to_invalidate);
        while (RLRunLoopSourceIsValid(to_invalidate))
            sched_yield();
    }
    real(loop, timer, mode);
}

struct query {
    RLHostResolveRef object;
    int calls, error;
    RLIndex count;
    struct sockaddr_storage first;
};

static void resolved(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info)
{
    struct query *query = info;
    require(resolve == query->object && !RLRunLoopSourceIsValid(resolve) && (addresses == NULL) == (error != 0));
    query->calls++;
    query->error = error;
    if (addresses == NULL)
        return;
    query->count = RLArrayGetCount(addresses);
    RLDataRef address = RLArrayGetValueAtIndex(addresses, 0);
    memcpy(&query->first, RLDataGetBytePtr(address), (size_t)RLDataGetLength(address));
}

static void set_up(void)
{
    gate_init(&hold);
    workers = RLWorkersCreate(NULL, 1);
}

static void tear_down(void) { RLRelease(workers); }

static void ask(struct query *query, const char *host, const char *service, const struct addrinfo *hints,
                double timeout)
{
    RLWorkContext context = {.info = query};
    query->object = RLHostResolveCreate(NULL, host, service, hints, timeout, resolved, &context);
    add(query->object);
    ck_assert(RLWorkersSubmit(workers, query->object));
}

static void run_until_finished(void)
{
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
}

START_TEST(resolving_a_host_returns_its_addresses)
{
    struct query queries[2] = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&queries[0].first;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&queries[1].first;
    char host[] = "127.0.0.1";
    ask(&queries[0], host, "80", NULL, HUGE_VAL);
    host[0] = 'x'; /* the name was copied */
    ask(&queries[1], "::1", NULL, NULL, 1000);
    run_until_finished();
    ck_assert(queries[0].calls == 1 && queries[0].error == 0 && queries[0].count == 1);
    ck_assert(four->sin_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_LOOPBACK) &&
              ntohs(four->sin_port) == 80);
    ck_assert(queries[1].calls == 1 && six->sin6_family == AF_INET6 && six->sin6_port == 0);
    RLRelease(queries[0].object);
    RLRelease(queries[1].object);
}
END_TEST

START_TEST(hints_are_passed_to_getaddrinfo)
{
    struct query queries[2] = {0};
    struct addrinfo hints = {.ai_family = AF_INET6, .ai_flags = AI_PASSIVE};
    ask(&queries[0], "127.0.0.1", NULL, &hints, HUGE_VAL);
    ask(&queries[1], NULL, "7", &hints, HUGE_VAL);
    run_until_finished();
    ck_assert(queries[0].error == EAI_ADDRFAMILY || queries[0].error == EAI_NONAME);
    ck_assert_int_eq(queries[1].error, 0);
    ck_assert_int_ge(queries[1].count, 2); /* all socket types, as the hints specify none */
    ck_assert(IN6_IS_ADDR_UNSPECIFIED(&((struct sockaddr_in6 *)&queries[1].first)->sin6_addr));
    RLRelease(queries[0].object);
    RLRelease(queries[1].object);
}
END_TEST

START_TEST(an_unknown_host_or_service_is_an_error)
{
    struct query query = {0};
    ask(&query, "no.such.host", "80", NULL, HUGE_VAL);
    run_until_finished();
    ck_assert(query.calls == 1 && query.error == EAI_NONAME && query.count == 0);
    RLRelease(query.object);
    query = (struct query){0};
    ask(&query, "127.0.0.1", "65616", NULL, HUGE_VAL);
    run_until_finished();
    ck_assert(query.calls == 1 && query.error == EAI_SERVICE);
    RLRelease(query.object);
}
END_TEST

START_TEST(a_lookup_may_time_out_while_it_runs)
{
    struct query query = {0};
    must_wait = true;
    ask(&query, "127.0.0.1", NULL, NULL, 0.001);
    await_count(&asked, 1);
    run_until_finished();
    ck_assert(query.calls == 1 && query.error == kRLHostResolveTimedOut);
    RLRelease(query.object);
    gate_open(&hold);
    await_count(&answered, 1);
    run_passes();
    ck_assert_int_eq(query.calls, 1);
}
END_TEST

START_TEST(a_lookup_may_time_out_before_it_runs)
{
    struct query queries[2] = {0};
    must_wait = true;
    ask(&queries[0], "127.0.0.1", NULL, NULL, HUGE_VAL);
    await_count(&asked, 1);
    ask(&queries[1], "127.0.0.1", NULL, NULL, 0);
    while (queries[1].calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    ck_assert_int_eq(queries[1].error, kRLHostResolveTimedOut);
    must_wait = false;
    gate_open(&hold);
    run_until_finished();
    RLRelease(workers);
    workers = RLWorkersCreate(NULL, 1);
    ck_assert(queries[0].error == 0 && queries[1].calls == 1 && asked == 1);
    RLRelease(queries[0].object);
    RLRelease(queries[1].object);
}
END_TEST

START_TEST(an_answer_ends_the_time_limit)
{
    struct query query = {0};
    ask(&query, "127.0.0.1", NULL, NULL, 3600);
    run_until_finished(); /* no timer is left */
    ck_assert(query.calls == 1 && query.error == 0);
    RLRelease(query.object);
}
END_TEST

START_TEST(a_cancelled_lookup_does_not_call_back)
{
    struct query queries[2] = {0};
    must_wait = true;
    for (int i = 0; i < 2; i++)
        ask(&queries[i], "127.0.0.1", NULL, NULL, 3600);
    await_count(&asked, 1);
    ck_assert(!RLWorkCancel(queries[0].object));
    ck_assert(RLWorkCancel(queries[1].object));
    run_until_finished();
    gate_open(&hold);
    RLRelease(queries[0].object);
    RLRelease(queries[1].object);
    RLRelease(workers);
    workers = RLWorkersCreate(NULL, 1);
    ck_assert(queries[0].calls == 0 && queries[1].calls == 0 && asked == 1);
}
END_TEST

START_TEST(the_time_limit_follows_a_lookup_to_other_modes)
{
    struct query query = {0};
    RLRunLoopMode other = RLSTR("other");
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    must_wait = true;
    ask(&query, "127.0.0.1", NULL, NULL, 0.001);
    RLRunLoopAddSource(rl, query.object, other);
    RLRunLoopRemoveSource(rl, query.object, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    RLRunLoopRemoveSource(rl, query.object, other);
    ck_assert_int_eq(RLRunLoopRunInMode(other, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(query.calls, 0);
    RLRunLoopAddSource(rl, query.object, other);
    ck_assert_int_eq(RLRunLoopRunInMode(other, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert(query.calls == 1 && query.error == kRLHostResolveTimedOut);
    gate_open(&hold);
    RLRelease(query.object);
}
END_TEST

static void *ask_on_a_thread(void *info)
{
    ask(info, "127.0.0.1", NULL, NULL, 3600);
    await_count(&answered, 1);
    return NULL; /* the thread exits with the object and its timer in its loop */
}

START_TEST(a_lookup_outlives_the_thread_of_its_loop)
{
    struct query query = {0};
    join_thread(start_thread(ask_on_a_thread, &query));
    add(query.object);
    run_until_finished();
    ck_assert(query.calls == 1 && query.error == 0);
    RLRelease(query.object);
}
END_TEST

START_TEST(a_lookup_may_be_invalidated_while_it_is_added)
{
    struct query query = {0};
    query.object = to_invalidate = RLHostResolveCreate(NULL, "127.0.0.1", NULL, NULL, 3600, resolved, NULL);
    add(query.object);
    join_thread(invalidator);
    ck_assert(!RLRunLoopSourceIsValid(query.object));
    RLRelease(query.object);
}
END_TEST

static struct lifetime life;
static RLStringRef describe_life(UNUSED const void *info) { return NULL; }
static void never(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error, UNUSED void *info)
{
    require(false);
}

START_TEST(info_is_retained_until_the_object_is_freed)
{
    RLWorkContext context = {0, &life, lifetime_retain, lifetime_release, describe_life};
    RLHostResolveRef resolve = RLHostResolveCreate(NULL, "a.host", "http", NULL, 3600, never, &context);
    RLStringRef text = RLCopyDescription(resolve);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "RLHostResolve a.host:http>"));
    RLRelease(text);
    add(resolve);
    RLRunLoopSourceInvalidate(resolve);
    ck_assert(life.retains == 1 && life.releases == 0);
    RLRelease(resolve);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

/* The time limit counts in each loop that has the object, from when the object was added to the first one. */
START_TEST(the_time_limit_counts_in_every_loop)
{
    struct looper looper;
    struct query query = {0};
    looper_start(&looper);
    must_wait = true;
    ask(&query, "127.0.0.1", NULL, NULL, 0.02);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), query.object, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(looper.loop, query.object, RLSTR("never run"));
    add(query.object);
    RLRunLoopRemoveSource(looper.loop, query.object, RLSTR("never run"));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert(query.calls == 1 && query.error == kRLHostResolveTimedOut);
    gate_open(&hold);
    RLRelease(query.object);
    looper_stop(&looper);
}
END_TEST

static RLHostResolveRef moving;
static RLRunLoopRef loops_of_moving[2];
static void *add_and_remove(void *info)
{
    uint32_t random = (uint32_t)(intptr_t)info + 1;
    RLRunLoopMode modes[] = {RLSTR("one"), RLSTR("other")};
    for (int i = 0; i < SCALED(2000); i++) {
        random = random * 1664525 + 1013904223;
        RLRunLoopRef loop = loops_of_moving[random >> 20 & 1];
        if ((random >> 24 & 1) != 0)
            RLRunLoopAddSource(loop, moving, modes[random >> 28 & 1]);
        else
            RLRunLoopRemoveSource(loop, moving, modes[random >> 28 & 1]);
    }
    return NULL;
}

START_TEST(threads_that_add_and_remove_a_lookup_leak_nothing)
{
    RLWorkContext context = {0, &life, lifetime_retain, lifetime_release, NULL};
    struct looper looper;
    looper_start(&looper);
    moving = RLHostResolveCreate(NULL, "a.host", NULL, NULL, 3600, never, &context);
    loops_of_moving[0] = RLRunLoopGetCurrent();
    loops_of_moving[1] = looper.loop;
    on_threads(4, add_and_remove);
    RLRunLoopSourceInvalidate(moving);
    RLRelease(moving);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("one"), 0, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 0, 0), kRLRunLoopRunFinished);
    looper_stop(&looper);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static void create_nothing(void) { ck_assert_ptr_null(RLHostResolveCreate(NULL, NULL, NULL, NULL, 1, never, NULL)); }
static void create_nan(void) { ck_assert_ptr_null(RLHostResolveCreate(NULL, "a", NULL, NULL, NAN, never, NULL)); }
static void create_callout(void) { ck_assert_ptr_null(RLHostResolveCreate(NULL, "a", NULL, NULL, 1, NULL, NULL)); }
static void create_version(void)
{
    RLWorkContext context = {.version = 1};
    ck_assert_ptr_null(RLHostResolveCreate(NULL, "a", NULL, NULL, 1, never, &context));
}
#define CREATE "runloop: RLHostResolveCreate: "

START_TEST(wrong_arguments_of_host_resolve_create_are_reported)
{
    assert_reports(create_nothing, CREATE "host: NULL, as is service");
    assert_reports(create_nan, CREATE "timeout: not a number");
    assert_reports(create_callout, CREATE "callout: expected a function, got NULL");
    assert_reports(create_version, CREATE "context: version must be 0");
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("host resolve");
    TCase *all = add_case(suite, "host resolve", 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, resolving_a_host_returns_its_addresses);
    tcase_add_test(all, hints_are_passed_to_getaddrinfo);
    tcase_add_test(all, an_unknown_host_or_service_is_an_error);
    tcase_add_test(all, a_lookup_may_time_out_while_it_runs);
    tcase_add_test(all, a_lookup_may_time_out_before_it_runs);
    tcase_add_test(all, an_answer_ends_the_time_limit);
    tcase_add_test(all, a_cancelled_lookup_does_not_call_back);
    tcase_add_test(all, the_time_limit_follows_a_lookup_to_other_modes);
    tcase_add_test(all, the_time_limit_counts_in_every_loop);
    tcase_add_test(all, threads_that_add_and_remove_a_lookup_leak_nothing);
    tcase_add_test(all, a_lookup_outlives_the_thread_of_its_loop);
    tcase_add_test(all, a_lookup_may_be_invalidated_while_it_is_added);
    tcase_add_test(all, info_is_retained_until_the_object_is_freed);
    tcase_add_test(all, wrong_arguments_of_host_resolve_create_are_reported);
    return suite;
}
