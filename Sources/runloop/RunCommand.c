/* runloop run: runs a program that can be queried by `runloop explain`, or that reports its stalls. */
#include "../RunLoopTrace/SignalName.h"
#include "Command.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int canBeCaught(int number)
{
    struct sigaction action;
    return number > 0 && number != SIGKILL && number != SIGSTOP && sigaction(number, NULL, &action) == 0;
}

int runCommand(int count, char **arguments)
{
    int option, isWatching = 0;
    const char *name = NULL;
    optind = 1;
    while ((option = getopt(count, arguments, "+s:b:")) != -1) {
        char *end;
        if (option == '?')
            return printUsage(stderr);
        double seconds = strtod(optarg, &end);
        if (option == 'b')
            name = optarg;
        else if (seconds >= 0.001 && seconds <= 1e6 && (*end == 0 || strcmp(end, ",abort") == 0))
            isWatching = setenv("RUNLOOP_STALL", optarg, 1) == 0;
        else {
            warn("SECONDS must be a number from 0.001 to 1000000, optionally followed by \",abort\"");
            return 2;
        }
    }
    if (optind == count)
        return printUsage(stderr);
    if (name != NULL && (!isWatching || !canBeCaught(signalNamed(name)))) {
        if (isWatching)
            warn("-b %s: no such signal, or it cannot be caught", name);
        else
            warn("-b requires -s: it adds a backtrace to the reports of -s");
        return 2;
    }
    if (name != NULL)
        setenv("RUNLOOP_STALL_SIGNAL", name, 1);
    preloadCompanion();
    setenv("RUNLOOP_EXPLAIN", "1", 1);
    execvp(arguments[optind], arguments + optind);
    fail("%s: %s", arguments[optind], strerror(errno));
}
