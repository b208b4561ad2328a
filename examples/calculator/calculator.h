/* calculator.h - what the server and its clients agree on. */
#ifndef CALCULATOR_H
#define CALCULATOR_H
#include <RunLoop/RunLoop.h>

#define CALCULATOR_NAME "com.example.calculator"

enum {
    CALCULATE = 1, /* "2 + 3": the reply is "5" */
    THINK,         /* a sum, too, but it takes its time and answers from a timer */
    WHO_AM_I,      /* the reply says who asks, as the kernel knows it */
    CRASH,         /* the server dies in the middle of it */
    STOP           /* the server ends as it should */
};

int run_server(void); /* in a process of its own */
int run_client(const char *program);

#endif
