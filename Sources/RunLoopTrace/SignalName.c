#include "SignalName.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int signalNamed(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    if (strncmp(name, "RTMIN+", 6) == 0)
        number = SIGRTMIN + strtol(name + 6, &end, 10);
    else if (end == name || *end != 0) {
        for (number = 1; number < SIGRTMIN; number++)
            if (sigabbrev_np((int)number) != NULL && strcmp(sigabbrev_np((int)number), name) == 0)
                break;
        return number < SIGRTMIN ? (int)number : 0;
    }
    return *end == 0 && number > 0 && number <= SIGRTMAX ? (int)number : 0;
}
