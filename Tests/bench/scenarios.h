/*
 * scenarios.h -- main() and the table of scenarios; included at the end of every backend.
 *
 *     <program> --list                                the scenarios and variants it has
 *     <program> <scenario> <variant> <parameter>      one run, one line of JSON
 */
#ifndef BENCH_SCENARIOS_H
#define BENCH_SCENARIOS_H

#include "loop.h"

static struct loop loops[2];
static struct loop *first_loop(void) { return &loops[0]; }
static bool scenario_is(const char *name) { return strcmp(result.scenario, name) == 0; }

#include "scenarios-wake.h"
#include "scenarios-timers.h"
#include "scenarios-descriptors.h"
#include "scenarios-messages.h"
#include "scenarios-echo.h"

/* A whole process: one loop, one call, exit. launch.c measures it from outside. */
static void startup(const char *parameter)
{
    (void)parameter;
    passes.total = 1;
    result.operations = 1;
    measure_begin();
    loop_init(first_loop());
    again_start(first_loop());
    loop_run(first_loop());
    CHECK(passes.done == 1);
}

static const struct scenario {
    const char *name, *parameter;       /* NULL: any */
    unsigned takes;
    void (*run)(const char *parameter);
} scenarios[] = {
    { "pass",     NULL,         PASS,          pass              },
    { "post",     NULL,         POST,          post              },
    { "wake",     "spinning",   WAKE_SPINNING, wake              },
    { "wake",     "one",        WAKE,          wake              },
    { "wake",     "cross",      WAKE,          wake              },
#ifdef HAS_SOURCES
    { "signal",   NULL,         SIGNAL,        signal_one        },
#endif
#ifdef HAS_CALL
    { "call",     NULL,         CALL,          call              },
#endif
    { "churn",    NULL,         TIMERS,        churn             },
    { "rearm",    NULL,         TIMERS,        rearm             },
    { "fire",     NULL,         TIMERS,        fire              },
    { "lateness", NULL,         LATENESS,      lateness          },
    { "chain",    NULL,         DESCRIPTORS,   chain             },
    { "memory",   "timer",      TIMERS,        timer_memory      },
    { "memory",   "descriptor", DESCRIPTORS,   descriptor_memory },
    { "startup",  NULL,         STARTUP,       startup           },
#ifdef HAS_ASK
    { "ask",      NULL,         ASK,           ask               },
#endif
#ifdef HAS_ECHO
    { "echo",     NULL,         ECHO_SERVER,   echo              },
#endif
#ifdef HAS_DELIVER
    { "deliver",  NULL,         DELIVER,       deliver           },
#endif
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static const struct scenario *the_scenario;

static void *run_scenario(void *unused)
{
    (void)unused;
    the_scenario->run(result.parameter);
    print_result();
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int s = 0; s < SCENARIOS; s++)
            for (int v = 0; variants[v].name; v++)
                if (variants[v].takes & scenarios[s].takes)
                    printf("%s %s\n", scenarios[s].name, variants[v].name);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: %s --list | <scenario> <variant> [<parameter>]\n", argv[0]);
        return 2;
    }
    result.scenario = argv[1];
    result.variant = argv[2];
    result.parameter = argc > 3 ? argv[3] : "";
    while (variants[chosen].name && strcmp(variants[chosen].name, result.variant) != 0)
        chosen++;
    for (int s = 0; s < SCENARIOS; s++)
        if (strcmp(scenarios[s].name, result.scenario) == 0 &&
            (!scenarios[s].parameter || strcmp(scenarios[s].parameter, result.parameter) == 0))
            the_scenario = &scenarios[s];
    if (!the_scenario || !variants[chosen].name || !(variants[chosen].takes & the_scenario->takes))
        return EXIT_UNSUPPORTED;

    arm_give_up();
    if (variants[chosen].own_thread && the_scenario->takes != STARTUP) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run_scenario, NULL) == 0);
        pthread_join(thread, NULL);
    } else {
        run_scenario(NULL);
    }
    return 0;
}

#endif
