/* One thread stops at a given machine instruction until another has done something: every interleaving of two short functions, one after
 * the other. For conditions that a race of two instructions needs, which no number of repetitions meets. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "harness.h"

/* Sanitizers make a thousand instructions of one. */
#if defined(__x86_64__) && !SANITIZED
#define CAN_INTERRUPT 1
#include <signal.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100 };
static struct {
    void (*deed)(void);
    int left;
} interruption;

/* After each instruction, as long as the processor's trap flag is set. */
static void on_trap(UNUSED int number, UNUSED siginfo_t *info, void *context)
{
    if (interruption.left-- > 0)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    interruption.deed();
}

/* Calls `body`, and `deed` behind that many of its instructions. False if it has no more: then `deed` is called when it has returned. */
static bool interrupt_behind(int instructions, void (*body)(void), void (*deed)(void))
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    interruption.deed = deed;
    interruption.left = instructions;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    body();
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    if (interruption.left < 0)
        return true;
    deed();
    return false;
}
#else
#define CAN_INTERRUPT 0

static bool interrupt_behind(int instructions, void (*body)(void), void (*deed)(void))
{
    (instructions ? body : deed)();
    (instructions ? deed : body)();
    return instructions == 0;
}
#endif

#endif
