/* Semantics 1: on the main thread, a run of an empty mode that is not common is Finished, as on any thread. */
#include "trace.h"

int main(void)
{
    run("custom mode", OTHER, AGES, false);
    return 0;
}
