/* Difference 7: sockets are watched by the loop that contains their source (CF: by a separate thread, started by the
 * first CFSocket of a process). */
#include "../socket.h"

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
    static Sock s;
    add_pair(&s, READ);
    check("only this one", count_threads() == 1);
    show("threads");
    return 0;
}
