/* Difference 9: an error of the connection that no connect callback tells is news for the write callback, and the write
 * fails. (CF takes the error from the kernel and tells it nobody: who waits for room waits for ever.) */
#include "../socket.h"

static void test(void)
{
    int nobody = bound(AF_INET, SOCK_STREAM);
    CFDataRef address = address_of(nobody);
    Sock s = {.socket = NULL};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(fd, (const struct sockaddr *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address));
    await(fd, POLLERR);
    create_on(&s, fd, WRITE);
    add_to(&s, MODE);
    step("refused");
    step("later");
    CFSocketInvalidate(s.socket);
    CFRelease(address);
    close(nobody);
}

int main(void) { return on_thread(test); }
