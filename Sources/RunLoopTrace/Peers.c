/* Which process serves a message port. This is found from the descriptors of this process, since a connection knows the process at its
   other end. */
#include "Words.h"
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PLAIN_PART 40 /* how many bytes of the port's name the name of its file has */
#define HASH 16       /* how many digits follow */

/* Whether a socket's path is that of a port: .../NAME-0123456789abcdef.SUFFIX, where NAME is the beginning of the port's name with _ for
   other characters than letters, digits and dots. */
static int isPathOf(const char *path, const char *port)
{
    const char *file = strrchr(path, '/');
    file = file ? file + 1 : path;
    size_t length = strlen(port) < PLAIN_PART ? strlen(port) : PLAIN_PART;
    for (size_t index = 0; index < length; index++) {
        unsigned char byte = (unsigned char)port[index];
        int isPlain = byte < 128 && (isalnum(byte) || byte == '.');
        if (file[index] != (isPlain ? (char)byte : '_'))
            return 0;
    }
    file += length;
    return *file == '-' && strspn(file + 1, "0123456789abcdef") == HASH && file[1 + HASH] == '.';
}

/* Returns the process at the other end of a descriptor that is a connection to a port; 0 if it is not one, -1 if the process has no number
   in this PID namespace. */
static int serverOf(int descriptor, const char *port)
{
    struct sockaddr_un address = {0};
    struct ucred peer;
    socklen_t size = sizeof address - 1, peerSize = sizeof peer;
    if (getpeername(descriptor, (struct sockaddr *)&address, &size) != 0 || address.sun_family != AF_UNIX ||
        !isPathOf(address.sun_path, port) || getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &peerSize) != 0)
        return 0;
    return peer.pid > 0 ? peer.pid : -1;
}

void sayServer(FILE *text, const char *port)
{
    DIR *descriptors = opendir("/proc/thread-self/fd");
    struct dirent *entry;
    int server = 0;
    if (descriptors == NULL)
        return;
    while ((entry = readdir(descriptors)) != NULL) {
        int one = entry->d_name[0] == '.' ? 0 : serverOf(atoi(entry->d_name), port);
        /* Two ports may have names that begin alike. */
        server = server != 0 && one != 0 && server != one ? -1 : one != 0 ? one : server;
    }
    closedir(descriptors);
    if (server < 0)
        return;
    fputs(" of ", text);
    if (server > 0)
        sayProcess(text, server);
    else
        fputs("this process", text);
}
