/* runloop run: runs a program that can be asked by `runloop explain`, or that names its stalls. */
#include "Command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int runCommand(int count, char **arguments)
{
    int option;
    optind = 1;
    while ((option = getopt(count, arguments, "+s:b:")) != -1) {
        char *end;
        if (option == '?')
            return printUsage(stderr);
        if (option == 'b')
            setenv("RUNLOOP_STALL_SIGNAL", optarg, 1);
        else if (strtod(optarg, &end) >= 0.001 && (*end == 0 || strcmp(end, ",abort") == 0))
            setenv("RUNLOOP_STALL", optarg, 1);
        else {
            warn("SECONDS is a number from 0.001 on, perhaps with \",abort\"");
            return 2;
        }
    }
    if (optind == count)
        return printUsage(stderr);
    preloadCompanion();
    setenv("RUNLOOP_EXPLAIN", "1", 1);
    execvp(arguments[optind], arguments + optind);
    fail("%s: %s", arguments[optind], strerror(errno));
}
