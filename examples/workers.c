/* workers.c - slow work on separate threads while the loop stays responsive: progress, completion, work that is
 * cancelled before it begins, and work that notices that it has been cancelled.
 *
 * Compile with -lrunloop-kit -lrunloop. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>

typedef struct Sum {
    const char *name;
    RLRunLoopRef loop; /* the loop that progress is posted to */
    long last, result;
    int isComplete;
} Sum;

static void half(void *info) { printf("  %s: half of it\n", ((Sum *)info)->name); }

static void begun(void *info)
{
    printf("  %s: it runs\n", ((Sum *)info)->name);
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* Runs on a worker thread, so it may block for as long as it likes. */
static void add(RLWorkRef work, void *info)
{
    Sum *sum = info;
    for (long number = 1; number <= sum->last; number++) {
        sum->result += number;
        if (number == 500000)
            RLRunLoopPostFunction(sum->loop, kRLRunLoopDefaultMode, half, sum);
        if (number % 1000 == 0 && !RLRunLoopSourceIsValid(work))
            return;
    }
}

/* Spins until it is cancelled. */
static void searchForEver(RLWorkRef work, void *info)
{
    Sum *sum = info;
    RLRunLoopPostFunction(sum->loop, kRLRunLoopDefaultMode, begun, sum);
    while (RLRunLoopSourceIsValid(work)) {}
}

/* Runs on the loop's thread, and sees everything that the work function has written. */
static void added(RLWorkRef work, void *info)
{
    Sum *sum = info;
    sum->isComplete = !RLRunLoopSourceIsValid(work);
    printf("  %s: the sum is %ld\n", sum->name, sum->result);
}

static RLWorkRef start(RLWorkersRef workers, RLWorkFunction function, Sum *sum)
{
    RLWorkContext context = {.info = sum};
    RLWorkRef work = RLWorkCreate(NULL, 0, function, added, &context);
    if (work == NULL)
        return NULL;
    sum->loop = RLRunLoopGetCurrent();
    RLRunLoopAddSource(sum->loop, work, kRLRunLoopDefaultMode);
    if (!RLWorkersSubmit(workers, work))
        perror("workers");
    return work;
}

int main(void)
{
    RLWorkersRef workers = RLWorkersCreate(NULL, 1);
    if (workers == NULL)
        return 1;
    printf("%ld thread at most: works run one after the other\n", (long)RLWorkersGetLimit(workers));
    Sum sums[] = {{.name = "first", .last = 1000000},
                  {.name = "second", .last = 10},
                  {.name = "endless"},
                  {.name = "last", .last = 4}};
    RLWorkRef works[] = {start(workers, add, &sums[0]), start(workers, add, &sums[1])};

    /* The works are the only things in the loop, so the run finishes when they are complete. */
    int ok = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunFinished;

    puts("one that never ends by itself keeps the thread, and the last has to wait");
    RLWorkRef endless = start(workers, searchForEver, &sums[2]), last = start(workers, add, &sums[3]);
    ok = ok && RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunStopped;
    printf("the last is cancelled before it begins: %s\n", RLWorkCancel(last) ? "yes" : "NO");
    printf("the endless one has begun, so it can only be notified: %s\n", RLWorkCancel(endless) ? "NO" : "yes");

    RLRelease(workers); /* waits for the endless work */
    puts("the workers are gone");
    ok = ok && sums[0].result == 500000500000 && sums[1].result == 55 && sums[0].isComplete && sums[1].isComplete &&
         !sums[2].isComplete && sums[3].result == 0;
    RLRelease(works[0]);
    RLRelease(works[1]);
    RLRelease(endless);
    RLRelease(last);
    return ok ? 0 : 1;
}
