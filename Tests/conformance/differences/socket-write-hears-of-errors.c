/* Difference 9: a connection error that no connect callback reports causes a write callback, and the write fails.
 * (CF clears the error in the kernel and does not report it: a program that waits for room waits without limit.) */
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
