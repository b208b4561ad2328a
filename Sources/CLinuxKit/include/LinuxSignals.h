/* Signals: handlers, what they replace, and what the kernel says of a signal. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_SIGNALS_H
#define CLINUXKIT_SIGNALS_H
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*linux_handler)(int number, siginfo_t *information, void *context);

/* The members of siginfo_t and the functions of sigaction are in unions. */
struct linux_signal_origin {
    int code, process;
    uint32_t user;
    intptr_t value;
};
static inline struct linux_signal_origin linux_origin(const siginfo_t *information)
{
    struct linux_signal_origin origin = {.code = information->si_code};
    if (information->si_code == SI_USER || information->si_code == SI_QUEUE || information->si_code == SI_TKILL ||
        information->si_code == SI_MESGQ) {
        origin.process = information->si_pid;
        origin.user = information->si_uid;
    }
    if (information->si_code < 0 && information->si_code != SI_TKILL)
        origin.value = (intptr_t)information->si_value.sival_ptr;
    return origin;
}

/* What is done with a signal now. */
static inline int linux_get_action(int number, struct sigaction *action) { return sigaction(number, NULL, action); }
static inline int linux_set_action(int number, const struct sigaction *action)
{
    return sigaction(number, action, NULL);
}
static inline int linux_action_is(const struct sigaction *action, linux_handler handler)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == handler;
}
static inline int linux_action_is_default(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}
/* To the calling thread, where it waits until the handler of that signal has returned. */
static inline void linux_raise(int number) { raise(number); }
static inline int linux_action_is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Whether two actions do the same. What glibc adds for the kernel differs, and so does what is behind the 64 signals of a set. */
static inline int linux_actions_are_equal(const struct sigaction *one, const struct sigaction *other)
{
    const int restorer = 0x04000000;
    return one->sa_handler == other->sa_handler && (one->sa_flags | restorer) == (other->sa_flags | restorer) &&
           memcmp(&one->sa_mask, &other->sa_mask, sizeof(uint64_t)) == 0;
}

/* Installs `handler` in front of the action that it is to chain to: what that blocks stays blocked, and what it interrupts is
   interrupted. The sets of signals are opaque. */
static inline int linux_catch(int number, linux_handler handler, const struct sigaction *before)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    if (linux_action_is_function(before)) {
        action.sa_mask = before->sa_mask;
        action.sa_flags = before->sa_flags & (SA_RESTART | SA_NODEFER);
    }
    action.sa_sigaction = handler;
    action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    return sigaction(number, &action, NULL);
}

/* Blocks all signals of the calling thread, those that glibc has for itself, too; returns which were blocked. Async-signal-safe. */
static inline uint64_t linux_block_signals(void)
{
    const uint64_t all = ~0ULL;
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    return before;
}
static inline void linux_unblock_signals(uint64_t before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

/* Calls the function of an action. */
static inline void linux_call_action(const struct sigaction *action, int number, siginfo_t *information, void *context)
{
    if ((action->sa_flags & SA_SIGINFO) != 0)
        action->sa_sigaction(number, information, context);
    else
        action->sa_handler(number);
}
static inline int linux_action_is_for_once(const struct sigaction *action)
{
    return (action->sa_flags & (int)SA_RESETHAND) != 0;
}

/* SIGRTMIN is a function: glibc keeps the first for itself. */
static inline int linux_first_realtime_signal(void) { return SIGRTMIN; }
static inline int linux_last_signal(void) { return SIGRTMAX; }

/* How many of our handlers of a signal are being called on this thread, one by what another has called. Thread-local variables are not
   imported. */
extern __thread uint8_t linux_kit_signal_depths[65] __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline int linux_signal_depth(int number) { return linux_kit_signal_depths[number]; }
static inline void linux_change_signal_depth(int number, int change)
{
    linux_kit_signal_depths[number] = (uint8_t)(linux_kit_signal_depths[number] + change);
}

#endif
