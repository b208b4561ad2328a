/* The frames of the message-port protocol, for tests that play one end of a connection with a plain socket. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_FRAMES_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_FRAMES_H
#include "message-port.h"
#include <grp.h>

struct head {
    uint32_t magic;
    uint8_t kind, location;
    uint16_t reserved;
    uint32_t id;
    int32_t message;
    uint64_t length, deadline;
};
enum {
    MAGIC = 0x324D4C52,
    HELLO = 1,
    REQUEST,
    REPLY,
    DROPPED,
    RING,
    DOORBELL,
    PIECE,
    ABANDONED,
    ABSENT = 0,
    INLINE,
    PIECES,
    IN_FILE,
    INLINE_LIMIT = 64 * 1024,
    PIECE_LIMIT = 128 * 1024
};

/* Returns the address of the only port in the test's directory whose name contains `part`. */
static UNUSED struct sockaddr_un address_of(const char *part)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    DIR *directory = opendir(name_directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strstr(entry->d_name, part) && strstr(entry->d_name, ".port"))
            snprintf(address.sun_path, sizeof address.sun_path, "%.40s/%.60s", name_directory, entry->d_name);
    closedir(directory);
    return address;
}

/* The user that the test's peers run as: 0 for the test's own, or another user that the server lets in, which requires root. */
static uid_t peer_user;
enum { OTHER_USER = 12345 };

/* Returns how many users the peers can be tested as. */
static UNUSED int peer_users(void)
{
    if (geteuid() == 0)
        return 2;
    printf("peers of other users are left out, because only root can become other users\n");
    return 1;
}

/* Switches the process of a peer to the peers' user. */
static UNUSED void become_peer(void)
{
    if (peer_user)
        child_assert(setgroups(0, NULL) == 0 && setresgid(peer_user, peer_user, peer_user) == 0 &&
                     setresuid(peer_user, peer_user, peer_user) == 0);
}

/* Connects, as the peers' user, to the port in the test's directory whose name contains `part`. */
static UNUSED int plain_socket_to(const char *part)
{
    struct sockaddr_un address = address_of(part);
    uid_t own = geteuid();
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (peer_user)
        require(seteuid(peer_user) == 0);
    require(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    require(seteuid(own) == 0);
    return fd;
}

/* Connects to the only port in the test's directory. */
static UNUSED int plain_socket(void) { return plain_socket_to(""); }

/* Sends a packet, optionally with descriptors. Errors are ignored. */
static UNUSED void throw_packet(int fd, const void *bytes, size_t size, const int *passed, int count)
{
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    char control[CMSG_SPACE(253 * sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(item), passed, (size_t)count * sizeof(int));
    }
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Waits for a packet, and stores up to `size` bytes and `room` descriptors of it. Returns the number of descriptors, or -1 at the
 * end of the connection. */
static UNUSED int receive_packet(int fd, void *bytes, size_t size, int *files, int room)
{
    union {
        char space[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE((size_t)room * sizeof(int))};
    if (recvmsg(fd, &message, 0) <= 0)
        return -1;
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    if (item == NULL)
        return 0;
    memcpy(files, CMSG_DATA(item), item->cmsg_len - CMSG_LEN(0));
    return (int)((item->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

/* Sends the first packet of the handshake, which names the wanted port. */
static UNUSED void send_hello(int fd)
{
    char packet[64];
    const char *name = RLStringGetCStringPtr(NAME, kRLStringEncodingUTF8);
    struct head hello = {.magic = MAGIC, .kind = HELLO, .location = INLINE, .length = strlen(name), .deadline = ~0ull};
    memcpy(packet, &hello, sizeof hello);
    memcpy(packet + sizeof hello, name, strlen(name));
    throw_packet(fd, packet, sizeof hello + strlen(name), NULL, 0);
}

#endif
