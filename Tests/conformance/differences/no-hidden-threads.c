/* Difference 7: a timed run starts no thread (CF: libdispatch threads for the timeout). */
#include "../trace.h"

#include <dirent.h>

static int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    run("timed run", MODE, SOON, false);
    check("only this one", count_threads() == 1);
    show("threads");
    return 0;
}
