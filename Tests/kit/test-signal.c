/* RLSignal: what the callback receives, when the signal is caught, lifetime and misuse. */
#include "signal-owner.h"

START_TEST(one_callback_counts_all_signals_and_describes_the_last)
{
    struct owner owner = {0};
    own(&owner, SIGUSR1);
    run_passes();
    ck_assert_int_eq(owner.calls, 0);
    raise(SIGUSR1);
    raise(SIGUSR1);
    ck_assert_int_eq(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42}), 0);
    run_passes();
    ck_assert_int_eq(owner.calls, 1);
    ck_assert_int_eq(owner.count, 3);
    ck_assert_int_eq(owner.last.number, SIGUSR1);
    ck_assert_int_eq(owner.last.code, SI_QUEUE);
    ck_assert_int_eq(owner.last.process, getpid());
    ck_assert_uint_eq(owner.last.user, getuid());
    ck_assert_int_eq((int)owner.last.value, 42);
    ck_assert_int_eq(owner.siginfo.si_signo, SIGUSR1);
    ck_assert_int_eq(owner.siginfo.si_value.sival_int, 42);
    run_passes();
    ck_assert_int_eq(owner.calls, 1);
    drop_source(owner.object);
}
END_TEST

START_TEST(queued_signals_are_counted_one_by_one)
{
    struct owner owner = {0};
    sigset_t blocked;
    own(&owner, SIGRTMIN + 1);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN + 1);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    for (int i = 1; i <= 5; i++)
        ck_assert_int_eq(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}), 0);
    ck_assert_int_eq(sigprocmask(SIG_UNBLOCK, &blocked, NULL), 0);
    run_passes();
    if (!THREAD_SANITIZED) { /* it delivers signals later, and only the first one of each number */
        ck_assert_int_eq(owner.count, 5);
        ck_assert_int_eq((int)owner.last.value, 5);
    }
    drop_source(owner.object);
}
END_TEST

START_TEST(a_signal_that_no_process_sent_has_no_sender)
{
    struct owner owner = {0};
    own(&owner, SIGUSR2);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value.sival_int = 7};
    struct itimerspec soon = {.it_value.tv_nsec = 1};
    ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    ck_assert_int_eq(timer_settime(timer, 0, &soon, NULL), 0);
    while (owner.calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
    ck_assert_int_eq(owner.last.code, SI_TIMER);
    ck_assert_int_eq((int)owner.last.value, 7);
    ck_assert_int_eq(owner.last.process, 0);
    timer_delete(timer);
    drop_source(owner.object);
}
END_TEST

/* -- When the signal is caught -- */

START_TEST(a_signal_is_caught_while_an_object_is_in_a_loop)
{
    struct owner owners[2] = {0};
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopMode other = RLSTR("other");
    make_owner(&owners[0], SIGUSR2, 0);
    ck_assert(!is_caught(SIGUSR2));
    RLRunLoopAddSource(rl, owners[0].object, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, owners[0].object, other);
    ck_assert(is_caught(SIGUSR2));
    own(&owners[1], SIGUSR2);
    RLRunLoopRemoveSource(rl, owners[0].object, other);
    RLRunLoopRemoveSource(rl, owners[0].object, kRLRunLoopDefaultMode);
    ck_assert(is_caught(SIGUSR2));
    RLRunLoopSourceInvalidate(owners[1].object);
    ck_assert(!is_caught(SIGUSR2));
    RLRunLoopAddSource(rl, owners[0].object, kRLRunLoopDefaultMode);
    ck_assert(is_caught(SIGUSR2));
    raise(SIGUSR2);
    run_passes();
    ck_assert_int_eq(owners[0].calls, 1);
    ck_assert_int_eq(owners[1].calls, 0);
    drop_source(owners[0].object);
    ck_assert(!is_caught(SIGUSR2));
    RLRelease(owners[1].object);
}
END_TEST

START_TEST(a_signal_that_was_ignored_is_ignored_again)
{
    struct owner owner = {0};
    struct sigaction action;
    signal(SIGPIPE, SIG_IGN);
    own(&owner, SIGPIPE);
    raise(SIGPIPE);
    run_passes();
    ck_assert_int_eq(owner.count, 1);
    drop_source(owner.object);
    ck_assert(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
}
END_TEST

static void *read_byte(void *info)
{
    char byte;
    return read(*(int *)info, &byte, 1) == 1 ? info : NULL;
}

START_TEST(interrupted_system_calls_are_restarted)
{
    struct owner owner = {0};
    int ends[2];
    void *result;
    ck_assert_int_eq(pipe(ends), 0);
    own(&owner, SIGUSR1);
    pthread_t thread = start_thread(read_byte, &ends[0]);
    for (int i = 0; i < 20; i++)
        pthread_kill(thread, SIGUSR1);
    while (owner.calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
    ck_assert_int_eq(write(ends[1], "", 1), 1);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_nonnull(result);
    close_pipe(ends);
    drop_source(owner.object);
}
END_TEST

/* -- Lifetime, misuse -- */

static struct lifetime life;
static RLStringRef describe_life(UNUSED const void *info)
{
    return RLStringCreateWithCString(NULL, "a life", kRLStringEncodingUTF8);
}
static void never(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info)
{
    require(false);
}

START_TEST(info_is_retained_until_the_object_is_freed)
{
    RLSignalContext context = {0, &life, lifetime_retain, lifetime_release, describe_life};
    RLSignalRef signal = RLSignalCreate(NULL, SIGHUP, 0, never, &context);
    ck_assert_int_eq(RLSignalGetNumber(signal), SIGHUP);
    ck_assert_uint_eq(RLGetTypeID(signal), RLRunLoopSourceGetTypeID());
    RLStringRef text = RLCopyDescription(signal);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "RLSignal 1 a life"));
    RLRelease(text);
    add(signal);
    RLRunLoopSourceInvalidate(signal);
    ck_assert_int_eq(RLSignalGetNumber(signal), SIGHUP);
    ck_assert_int_eq(life.retains, 1);
    ck_assert_int_eq(life.releases, 0);
    RLRelease(signal);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

static int refused;
static RLSignalContext refused_context = {0};
static void create_refused(void) { ck_assert_ptr_null(RLSignalCreate(NULL, refused, 0, never, &refused_context)); }
#define CREATE "runloop: RLSignalCreate: "

START_TEST(signals_that_cannot_be_watched_are_refused_with_a_reason)
{
    const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}, wrong[] = {0, -1, 65, 1000};
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++) {
        refused = synchronous[i];
        assert_reports(create_refused,
                       CREATE "number: a synchronous signal: the faulting instruction would be executed again");
        ck_assert_int_eq(errno, EINVAL);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused = wrong[i];
        assert_reports(create_refused, CREATE "number: not a signal number");
    }
    refused = SIGKILL;
    assert_reports(create_refused, CREATE "number: SIGKILL and SIGSTOP cannot be caught");
    refused = SIGCHLD;
    assert_reports(create_refused, CREATE "number: one SIGCHLD may stand for several children; use RLChildCreate");
    refused = SIGABRT;
    assert_reports(create_refused, CREATE "number: abort() terminates the process even if a handler returns");
    refused = 33;
    assert_reports(create_refused, CREATE "number: reserved by the C library");
}
END_TEST

static void create_without_callout(void) { ck_assert_ptr_null(RLSignalCreate(NULL, SIGHUP, 0, NULL, NULL)); }
static void ask_null(void) { ck_assert_int_eq(RLSignalGetNumber(NULL), 0); }
static RLRunLoopSourceRef other_source;
static void ask_other(void) { ck_assert_int_eq(RLSignalGetNumber(other_source), 0); }

START_TEST(wrong_arguments_of_signal_functions_are_reported)
{
    refused = SIGHUP;
    refused_context.version = 1;
    assert_reports(create_refused, CREATE "context: version must be 0");
    assert_reports(create_without_callout, CREATE "callout: expected a function, got NULL");
    assert_reports(ask_null, "runloop: RLSignalGetNumber: signal: expected RLSignal, got NULL");
    other_source = make_source(0, do_nothing, NULL);
    assert_reports(ask_other, "runloop: RLSignalGetNumber: signal: expected RLSignal, got another source");
    drop_source(other_source);
    other_source = (RLRunLoopSourceRef)RLRunLoopGetCurrent();
    ask_other();
    assert_misuse("RLRunLoopSourceGetContext", "source", "expected RLRunLoopSource, got RLRunLoop");
}
END_TEST

static void create_refused_without_handler(void)
{
    RLSetErrorHandler(NULL, NULL);
    create_refused();
}

START_TEST(without_an_error_handler_misuse_is_a_line_on_stderr)
{
    char said[256];
    refused = SIGKILL;
    capture_stderr(create_refused_without_handler, said, sizeof said);
    ck_assert_str_eq(said, CREATE "number: SIGKILL and SIGSTOP cannot be caught\n");
}
END_TEST

static void create_refused_in_child(UNUSED void *info)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    setenv("RUNLOOP_MISUSE", "abort", 1);
    refused = SIGKILL;
    create_refused();
}

START_TEST(misuse_aborts_if_requested_by_the_environment)
{
    ck_assert_int_eq(run_in_child(create_refused_in_child, NULL), 128 + SIGABRT);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("signal");
    TCase *calls = add_case(suite, "calls", 20);
    tcase_add_test(calls, one_callback_counts_all_signals_and_describes_the_last);
    tcase_add_test(calls, queued_signals_are_counted_one_by_one);
    tcase_add_test(calls, a_signal_that_no_process_sent_has_no_sender);
    tcase_add_test(calls, a_signal_is_caught_while_an_object_is_in_a_loop);
    tcase_add_test(calls, a_signal_that_was_ignored_is_ignored_again);
    tcase_add_test(calls, interrupted_system_calls_are_restarted);
    TCase *mistakes = add_case(suite, "misuse", 20);
    tcase_add_test(mistakes, info_is_retained_until_the_object_is_freed);
    tcase_add_test(mistakes, signals_that_cannot_be_watched_are_refused_with_a_reason);
    tcase_add_test(mistakes, wrong_arguments_of_signal_functions_are_reported);
    tcase_add_test(mistakes, without_an_error_handler_misuse_is_a_line_on_stderr);
    tcase_add_test(mistakes, misuse_aborts_if_requested_by_the_environment);
    return suite;
}
