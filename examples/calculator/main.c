/* main.c - a calculator service. `calculator` is the client, and starts the server as `calculator server`. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, setenv */
#include "calculator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "server") == 0)
        return run_server();

    /* Keep this example's port names in a private directory. A real program needs none of this. */
    char directory[] = "/tmp/calculator-XXXXXX";
    if (mkdtemp(directory) == NULL)
        return 1;
    setenv("RUNLOOP_PORT_DIR", directory, 1);
    int result = run_client(arguments[0]);
    rmdir(directory);
    return result;
}
