/* signals.c - signals as callbacks: two owners of one signal that do not know each other, next to the program's own
 * handler; and SIGTERM as an orderly way to exit.
 *
 * Compile with -lrunloop-kit -lrunloop. */
#define _POSIX_C_SOURCE 200809L /* sigaction, kill, sigqueue */
#include <RunLoopKit/RunLoopKit.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

typedef struct Owner {
    const char *name;
    long count; /* of its signals */
} Owner;

/* An ordinary callback: it may print, allocate, lock, and run the loop. */
static void heard(RLSignalRef signal, const RLSignalInfo *information, void *info)
{
    Owner *owner = info;
    owner->count += information->count;
    printf("  %s: %s, %ld at once, the last from %s", owner->name,
           RLSignalGetNumber(signal) == SIGUSR1 ? "SIGUSR1" : "SIGTERM", information->count,
           information->process == getpid() ? "this process" : "another process");
    if (information->code == SI_QUEUE)
        printf(", with the number %d", (int)information->value);
    puts("");
    if (information->number == SIGTERM)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static volatile sig_atomic_t handled;

/* A signal handler interrupts the program anywhere, so it may do almost nothing. */
static void handle(int number) { handled += number == SIGUSR1; }

static RLSignalRef watch(int number, Owner *owner)
{
    RLSignalContext context = {.info = owner};
    RLSignalRef signal = RLSignalCreate(NULL, number, 0, heard, &context);
    if (signal == NULL)
        perror("signals");
    else
        RLRunLoopAddSource(RLRunLoopGetCurrent(), signal, kRLRunLoopDefaultMode);
    return signal;
}

static int isDefault(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

int main(void)
{
    Owner log = {.name = "the log"}, cache = {.name = "the cache"}, end = {.name = "the end"};
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);

    RLSignalRef signals[] = {watch(SIGUSR1, &log), watch(SIGUSR1, &cache), watch(SIGTERM, &end)};
    if (signals[0] == NULL || signals[1] == NULL || signals[2] == NULL)
        return 1;

    puts("three signals, one pass: each owner is called once");
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42});
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    printf("the program's own handler was called %d times\n", (int)handled);

    puts("the log stops listening");
    RLRunLoopSourceInvalidate(signals[0]);
    kill(getpid(), SIGUSR1);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);

    puts("SIGTERM stops the loop");
    kill(getpid(), SIGTERM);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0);

    for (int i = 0; i < 3; i++) {
        RLRunLoopSourceInvalidate(signals[i]);
        RLRelease(signals[i]);
    }
    sigaction(SIGUSR1, NULL, &action);
    int ok = log.count == 3 && cache.count == 4 && end.count == 1 && result == kRLRunLoopRunStopped && handled == 4 &&
             action.sa_handler == handle && isDefault(SIGTERM);
    puts(ok ? "everything is restored" : "something is NOT restored");
    return ok ? 0 : 1;
}
