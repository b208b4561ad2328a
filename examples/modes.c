/* modes.c - a mode is a set of sources and timers. A run of the loop in a mode serves these and no others.
 *
 * Shows a custom mode, the common modes, and a nested run. A question is asked in its own mode: until it is
 * answered, ordinary work waits, while the clock, which is in the common modes, continues. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <string.h>

typedef struct Program {
    RLRunLoopSourceRef ordinary; /* in the default mode only */
    RLRunLoopSourceRef answer;   /* in the "question" mode only */
    RLRunLoopSourceRef clock;    /* in the common modes: the default mode, and "question" once that is made common */
    char log[32];                /* one letter per event */
    int nested;                  /* result of the nested run */
} Program;

static void note(Program *program, char letter, const char *sentence)
{
    size_t length = strlen(program->log);
    if (length + 1 < sizeof program->log)
        program->log[length] = letter;
    puts(sentence);
}

static void performOrdinary(void *info)
{
    Program *program = info;
    note(program, 'o', "    ordinary work is done");
}

static void performClock(void *info)
{
    Program *program = info;
    note(program, 'c', "    the clock is shown");
}

static void performAnswer(void *info)
{
    Program *program = info;
    note(program, 'a', "    the answer is here; stop the loop");
    /* Stops the innermost run only: the nested one. The outer run continues. */
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void tellMode(void *info)
{
    (void)info;
    RLRunLoopMode mode = RLRunLoopCopyCurrentMode(RLRunLoopGetCurrent()); /* Create rule; NULL outside of a run */
    printf("    (the loop runs in mode \"%s\" now)\n", RLStringGetCStringPtr(mode, kRLStringEncodingUTF8));
    RLRelease(mode);
}

/* Called by the loop in the default mode; runs the same loop again, in another mode. */
static void ask(void *info)
{
    Program *program = info;
    note(program, '?', "  a question is asked: run the loop in \"question\" mode until it is answered");
    RLRunLoopSourceSignal(program->ordinary);
    RLRunLoopSourceSignal(program->clock);
    RLRunLoopSourceSignal(program->answer);
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), RLSTR("question"), tellMode, NULL);
    program->nested = RLRunLoopRunInMode(RLSTR("question"), 10.0, 0);
    note(program, '!', "  the nested run has returned");
}

static RLRunLoopSourceRef addSource(Program *program, RLIndex order, void (*perform)(void *), RLRunLoopMode mode)
{
    RLRunLoopSourceContext context = {.info = program, .perform = perform};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(kRLAllocatorDefault, order, &context);
    if (source != NULL)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, mode);
    return source;
}

static void removeSource(RLRunLoopSourceRef source)
{
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
}

int main(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    const RLRunLoopMode question = RLSTR("question"); /* a mode is created when something is added to it */
    Program program = {.log = ""};
    program.ordinary = addSource(&program, 1, performOrdinary, kRLRunLoopDefaultMode);
    program.clock = addSource(&program, 2, performClock, kRLRunLoopCommonModes);
    program.answer = addSource(&program, 3, performAnswer, question);
    if (program.ordinary == NULL || program.clock == NULL || program.answer == NULL) {
        perror("modes");
        return 1;
    }
    /* The clock alone does not keep a run going: in a mode with no other source, a run finishes immediately. */
    RLRunLoopSourceSetKeepsModeRunning(program.clock, 0);

    puts("all three are signalled; one pass in \"question\" mode, which is not a common mode yet:");
    RLRunLoopSourceSignal(program.ordinary);
    RLRunLoopSourceSignal(program.clock);
    RLRunLoopSourceSignal(program.answer);
    RLRunLoopRunInMode(question, 0.0, 0);
    int ok = RLRunLoopSourceIsSignalled(program.ordinary) && RLRunLoopSourceIsSignalled(program.clock);

    puts("one pass in default mode: the others were kept for it");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0, 0);

    puts("\"question\" becomes a common mode, and gets what is in the common modes");
    RLRunLoopAddCommonMode(loop, question);
    ok = ok && RLRunLoopContainsSource(loop, program.clock, question) &&
         !RLRunLoopContainsSource(loop, program.ordinary, question);
    RLArrayRef modes = RLRunLoopCopyAllModes(loop);
    ok = ok && modes != NULL && RLArrayContainsValue(modes, (RLRange){0, RLArrayGetCount(modes)}, question);
    if (modes != NULL)
        RLRelease(modes);

    puts("a run in default mode, with a nested run:");
    RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, ask, &program);
    RLRunLoopRunResult outer = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0, 0);

    printf("events: %s; the nested run was %s, the outer one was not\n", program.log,
           program.nested == kRLRunLoopRunStopped ? "stopped" : "NOT stopped");
    ok = ok && strcmp(program.log, "aoc?ca!o") == 0 && program.nested == kRLRunLoopRunStopped &&
         outer == kRLRunLoopRunTimedOut;

    /* What a source reports about itself. */
    RLRunLoopSourceContext context = {.version = 0};
    RLRunLoopSourceGetContext(program.clock, &context);
    ok = ok && RLRunLoopSourceGetOrder(program.clock) == 2 && context.info == &program;

    /* A run in an empty mode returns immediately. */
    ok = ok && RLRunLoopRunInMode(RLSTR("empty"), 10.0, 0) == kRLRunLoopRunFinished;
    removeSource(program.ordinary);
    removeSource(program.clock);
    removeSource(program.answer);
    return ok ? 0 : 1;
}
