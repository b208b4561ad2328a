/* A server and its clients on CFSocket, in one run loop, modeled on "CFNetwork Programming Guide" and the samples in
   CFSocket.h. The server has more to send than a socket accepts: it writes until there is no room, enables the write
   callback and continues in that. The clients connect in the background and receive their bytes in data callbacks. */
#include <CoreFoundation/CoreFoundation.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kClients = 3 };

typedef struct { /* the server's end of a connection */
    char request[64];
    size_t requestLength;
    long wanted, sent;
    long waits, writeCallBacks;
} Transfer;

typedef struct {
    long wanted, received, wrong;
    Boolean connected, finished;
} Client;

static int running = kClients;
static long waits, writeCallBacks;
static Boolean smallWaited, largeWaited;

static UInt8 ByteAt(long position) { return (UInt8)(position * 7 + position / 251); }

/* ---- the server ---- */

static void TransferDone(CFSocketRef s, Transfer *transfer)
{
    waits += transfer->waits;
    writeCallBacks += transfer->writeCallBacks;
    if (transfer->waits > 0)
        *(transfer->wanted > 1000000 ? &largeWaited : &smallWaited) = TRUE;
    CFSocketInvalidate(s); /* closes the connection, which tells the client that it has received everything */
    CFRelease(s);
    free(transfer);
}

static void WriteMore(CFSocketRef s, Transfer *transfer)
{
    UInt8 bytes[8192];
    while (transfer->sent < transfer->wanted) {
        long size = transfer->wanted - transfer->sent;
        if (size > (long)sizeof bytes)
            size = (long)sizeof bytes;
        for (long i = 0; i < size; i++)
            bytes[i] = ByteAt(transfer->sent + i);
        ssize_t written = send(CFSocketGetNative(s), bytes, (size_t)size, 0);
        if (written < 0 && errno == EAGAIN) {
            transfer->waits++;
            CFSocketEnableCallBacks(s, kCFSocketWriteCallBack); /* once, when there is room */
            return;
        }
        if (written < 0)
            break;
        transfer->sent += written;
    }
    TransferDone(s, transfer);
}

static void ReadRequest(CFSocketRef s, Transfer *transfer)
{
    ssize_t got = recv(CFSocketGetNative(s), transfer->request + transfer->requestLength,
                       sizeof transfer->request - 1 - transfer->requestLength, 0);
    if (got <= 0) {
        TransferDone(s, transfer);
        return;
    }
    transfer->requestLength += (size_t)got;
    if (strchr(transfer->request, '\n') == NULL)
        return;
    CFSocketDisableCallBacks(s, kCFSocketReadCallBack);
    if (sscanf(transfer->request, "GET %ld\n", &transfer->wanted) != 1)
        transfer->wanted = 0;
    WriteMore(s, transfer);
}

static void ConnectionCallBack(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data,
                               void *info)
{
    Transfer *transfer = (Transfer *)info;
    (void)address;
    (void)data;
    if (type == kCFSocketReadCallBack) {
        ReadRequest(s, transfer);
    } else if (type == kCFSocketWriteCallBack) {
        transfer->writeCallBacks++;
        WriteMore(s, transfer);
    }
}

static void AddToCurrentLoop(CFSocketRef s)
{
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(kCFAllocatorDefault, s, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
}

static void AcceptCallBack(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    CFSocketNativeHandle native = *(const CFSocketNativeHandle *)data;
    Transfer *transfer = (Transfer *)calloc(1, sizeof *transfer);
    CFSocketContext context = {0, transfer, NULL, NULL, NULL};
    int small = 32 * 1024;
    (void)s;
    (void)type;
    (void)address;
    (void)info;
    setsockopt(native, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fcntl(native, F_SETFL, O_NONBLOCK);
    CFSocketRef connection = CFSocketCreateWithNative(
        kCFAllocatorDefault, native, kCFSocketReadCallBack | kCFSocketWriteCallBack, ConnectionCallBack, &context);
    AddToCurrentLoop(connection);
    CFSocketDisableCallBacks(connection, kCFSocketWriteCallBack); /* there is nothing to write so far */
}

static CFSocketRef CreateServer(void)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CFSocketRef server = CFSocketCreate(kCFAllocatorDefault, PF_INET, SOCK_STREAM, IPPROTO_TCP, kCFSocketAcceptCallBack,
                                        AcceptCallBack, NULL);
    CFDataRef data = CFDataCreate(kCFAllocatorDefault, (const UInt8 *)&address, sizeof address);
    if (CFSocketSetAddress(server, data) != kCFSocketSuccess)
        printf("the server has no address\n");
    CFRelease(data);
    AddToCurrentLoop(server);
    return server;
}

/* ---- the clients ---- */

static void ClientCallBack(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    Client *client = (Client *)info;
    (void)address;
    if (type == kCFSocketConnectCallBack) {
        char request[64];
        snprintf(request, sizeof request, "GET %ld\n", client->wanted);
        CFDataRef bytes = CFDataCreate(kCFAllocatorDefault, (const UInt8 *)request, (CFIndex)strlen(request));
        client->connected = data == NULL; /* otherwise it points to an error number */
        if (CFSocketSendData(s, NULL, bytes, 10) != kCFSocketSuccess)
            printf("a request was not sent\n");
        CFRelease(bytes);
    } else if (type == kCFSocketDataCallBack) {
        CFDataRef bytes = (CFDataRef)data;
        for (CFIndex i = 0; i < CFDataGetLength(bytes); i++)
            client->wrong += CFDataGetBytePtr(bytes)[i] != ByteAt(client->received++);
        if (CFDataGetLength(bytes) == 0) {
            client->finished = TRUE;
            CFSocketInvalidate(s);
            if (--running == 0)
                CFRunLoopStop(CFRunLoopGetCurrent());
        }
    }
}

static CFSocketRef CreateClient(CFDataRef address, Client *client)
{
    CFSocketContext context = {0, client, NULL, NULL, NULL};
    CFSocketRef s = CFSocketCreate(kCFAllocatorDefault, PF_INET, SOCK_STREAM, IPPROTO_TCP,
                                   kCFSocketConnectCallBack | kCFSocketDataCallBack, ClientCallBack, &context);
    int small = 32 * 1024; /* otherwise a system with buffers of 16 MB makes no sender wait */
    setsockopt(CFSocketGetNative(s), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    AddToCurrentLoop(s);
    if (CFSocketConnectToAddress(s, address, -1) != kCFSocketSuccess) /* in the background */
        printf("a client cannot connect\n");
    return s;
}

int main(void)
{
    Client clients[kClients] = {
        {16L << 20, 0, 0, FALSE, FALSE}, {5, 0, 0, FALSE, FALSE}, {12345678, 0, 0, FALSE, FALSE}};
    CFSocketRef sockets[kClients];
    CFSocketRef server = CreateServer();
    CFDataRef address = CFSocketCopyAddress(server);
    for (int i = 0; i < kClients; i++)
        sockets[i] = CreateClient(address, &clients[i]);
    CFRelease(address);
    if (CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, FALSE) != kCFRunLoopRunStopped)
        printf("not all clients were served\n");

    for (int i = 0; i < kClients; i++) {
        printf("client %d: %s, %ld of %ld bytes, %ld wrong, %s\n", i + 1,
               clients[i].connected ? "connected" : "refused", clients[i].received, clients[i].wanted, clients[i].wrong,
               clients[i].finished ? "finished" : "cut off");
        CFRelease(sockets[i]);
    }
    printf("large transfers %s, small ones %s\n", largeWaited ? "waited for room" : "never waited",
           smallWaited ? "too" : "did not");
    printf("%s\n", writeCallBacks == waits ? "one write callback for each wait" : "write callbacks do not match waits");
    CFSocketInvalidate(server);
    CFRelease(server);
    return 0;
}
