/* calculator.h - what the server and its clients agree on. */
#ifndef CALCULATOR_H
#define CALCULATOR_H
#include <RunLoop/RunLoop.h>

#define CALCULATOR_NAME "com.example.calculator"

enum {
    CALCULATE = 1, /* "2 + 3": the reply is "5" */
    THINK,         /* also a calculation, but a slow one: the reply is sent later, from a timer */
    WHO_AM_I,      /* the reply is the client's process ID, as reported by the kernel */
    CRASH,         /* the server is killed while it handles this request */
    STOP           /* the server exits normally */
};

int run_server(void); /* called in a separate process */
int run_client(const char *program);

#endif
