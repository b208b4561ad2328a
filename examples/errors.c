/* errors.c - what happens when the library is misused: one line of diagnosis, a failure value, and no damage.
 *
 * Without a handler the line is printed to stderr. With RUNLOOP_MISUSE=abort in the environment the program also
 * aborts, which is useful in a debugger. */
#include <RunLoop/RunLoop.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Reports {
    int count;
    char last[256];
} Reports;

/* Called on the thread that made the mistake. */
static void report(const char *message, void *info)
{
    Reports *reports = info;
    reports->count++;
    snprintf(reports->last, sizeof reports->last, "%s", message);
}

/* Whether exactly one report was made, it names the function, and the call returned its failure value. */
static int reported(Reports *reports, const char *mistake, const char *function, int failed)
{
    int ok = failed && reports->count == 1 && strstr(reports->last, function) != NULL;
    printf("%s: %s\n", mistake, ok ? "reported, with no other effect" : "NOT AS EXPECTED");
    fprintf(stderr, "  the report: %s\n", reports->count > 0 ? reports->last : "(none)");
    *reports = (Reports){0};
    return ok;
}

static void perform(void *info) { (void)info; }

static void fire(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
}

int main(void)
{
    /* The headers and the loaded library can differ; they are compatible if the major versions are equal. */
    if (RLGetVersion() / 10000 != RL_VERSION_MAJOR) {
        fputs("errors: built for another version of the library\n", stderr);
        return 1;
    }

    Reports reports = {0};
    RLSetErrorHandler(report, &reports);

    RLRunLoopRef loop = RLRunLoopGetCurrent();
    const RLRunLoopMode mode = kRLRunLoopDefaultMode;
    const RLAbsoluteTime inAnHour = RLAbsoluteTimeGetCurrent() + 3600.0;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(kRLAllocatorDefault, inAnHour, 0, 0, 0, fire, NULL);
    RLRunLoopSourceContext context = {.perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, &context);
    if (timer == NULL || source == NULL) {
        perror("errors");
        return 1;
    }

    /* The wrong kind of object: the cast silences the compiler, but the library notices. */
    RLRunLoopSourceRef wrong = (RLRunLoopSourceRef)(void *)timer;
    RLRunLoopAddSource(loop, wrong, mode);
    int ok = reported(&reports, "a timer added as a source", "RLRunLoopAddSource",
                      !RLRunLoopContainsTimer(loop, timer, mode));

    RLRunLoopAddTimer(loop, NULL, mode);
    ok &= reported(&reports, "no timer at all", "RLRunLoopAddTimer", 1);

    RLRunLoopTimerRef never = RLRunLoopTimerCreate(kRLAllocatorDefault, NAN, 0, 0, 0, fire, NULL);
    ok &= reported(&reports, "a date that is not a number", "RLRunLoopTimerCreate", never == NULL);

    RLBoolean queued = RLRunLoopPostFunction(loop, mode, NULL, NULL);
    ok &= reported(&reports, "no function to post", "RLRunLoopPostFunction", !queued);

    queued = RLRunLoopPostFunction((RLRunLoopRef)(void *)source, mode, perform, NULL);
    ok &= reported(&reports, "a function posted to a source", "RLRunLoopPostFunction", !queued);

    /* A library built on run loops can report its own callers' mistakes in the same way. */
    RLReportError("ClockCreate", "period", "negative", 1);
    ok &= reported(&reports, "a clock with a negative period", "ClockCreate", 1);

    /* Not a mistake: invalidating twice, or adding an invalid object, is silently ignored. */
    RLRunLoopTimerInvalidate(timer);
    RLRunLoopTimerInvalidate(timer);
    RLRunLoopAddTimer(loop, timer, mode);
    ok &= reports.count == 0 && !RLRunLoopContainsTimer(loop, timer, mode);
    printf("an invalid timer added again: %s\n", reports.count == 0 ? "ignored without a report" : "REPORTED");

    /* The loop is unharmed: the valid source works. */
    RLRunLoopAddSource(loop, source, mode);
    RLRunLoopSourceSignal(source);
    ok &= RLRunLoopRunInMode(mode, 0.0, 1) == kRLRunLoopRunHandledSource;

    RLSetErrorHandler(NULL, NULL); /* stderr again: `reports` must not outlive this function */
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
    RLRelease(timer);
    puts(ok ? "the loop works as before" : "something went wrong");
    return ok ? 0 : 1;
}
