/* Semantics 1: on the main thread a mode that is not common is Finished when it is empty, as on any thread. */
#include "trace.h"

int main(void)
{
    run("custom mode", OTHER, AGES, false);
    return 0;
}
