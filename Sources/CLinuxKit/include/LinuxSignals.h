/* Signals: handlers, the actions that they replace, and the origin of a signal. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_SIGNALS_H
#define CLINUXKIT_SIGNALS_H
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*linux_handler)(int number, siginfo_t *information, void *context);

/* The origin of a signal, from its siginfo_t. In C because the members of siginfo_t and the functions of struct
   sigaction are in unions. */
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

/* Copies the action that is in force for a signal. */
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
/* Raises a signal on the calling thread. In that signal's handler, it stays pending until the handler has returned. */
static inline void linux_raise(int number) { raise(number); }
static inline int linux_action_is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Returns whether two actions are equal, ignoring the flag that glibc adds for the kernel, and what follows the 64
   signals in a signal set. */
static inline int linux_actions_are_equal(const struct sigaction *one, const struct sigaction *other)
{
    const int restorer = 0x04000000;
    return one->sa_handler == other->sa_handler && (one->sa_flags | restorer) == (other->sa_flags | restorer) &&
           memcmp(&one->sa_mask, &other->sa_mask, sizeof(uint64_t)) == 0;
}

/* Installs `handler` in front of an action, to which it will chain: it blocks the same signals, and interrupts the same
   system calls. In C because signal sets are opaque. */
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

/* Blocks all signals on the calling thread, including those that glibc reserves. Returns the previous mask.
   Async-signal-safe. */
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

/* SIGRTMIN and SIGRTMAX are function calls, because glibc reserves the first real-time signals. */
static inline int linux_first_realtime_signal(void) { return SIGRTMIN; }
static inline int linux_last_signal(void) { return SIGRTMAX; }

/* How many calls of the kit's handler for each signal are active on this thread, nested by way of the handlers that
   they call. In C because Swift does not import thread-local variables. */
extern __thread uint8_t linux_kit_signal_depths[65] __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline int linux_signal_depth(int number) { return linux_kit_signal_depths[number]; }
static inline void linux_change_signal_depth(int number, int change)
{
    linux_kit_signal_depths[number] = (uint8_t)(linux_kit_signal_depths[number] + change);
}

#endif
