/* Part of allocations.c: descriptor objects and sockets. */
#ifndef RUNLOOP_TESTS_FAULTS_ALLOCATIONS_DESCRIPTORS_H
#define RUNLOOP_TESTS_FAULTS_ALLOCATIONS_DESCRIPTORS_H

static void use_descriptors(RLRunLoopRef loop)
{
    static struct watched watched[3];
    RLRunLoopSourceRef sources[3];
    for (int i = 0; i < 3; i++) {
        open_pipe(&watched[i]);
        write_byte(&watched[i]);
        RLRunLoopSourceContext1 context = {.version = 1,
                                           .info = &watched[i],
                                           .retain = retain,
                                           .release = release,
                                           .getPort = watched_port,
                                           .perform = watched_perform};
        sources[i] = MAKE(RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context));
        if (sources[i])
            ADD(RLRunLoopAddSource(loop, sources[i], *modes[i]), RLRunLoopContainsSource(loop, sources[i], *modes[i]));
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    RLRunLoopRunInMode(extra, 0.001, 1);
    for (int i = 0; i < 3; i++) {
        if (sources[i]) {
            RLRunLoopSourceInvalidate(sources[i]);
            RLRelease(sources[i]);
        }
        close(watched[i].reader);
        close(watched[i].writer);
    }
}

static void port_called(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    char byte;
    CHECK(read(RLFileDescriptorGetNativeDescriptor(f), &byte, 1) == 1);
    count_up(info);
}

static void use_descriptor_objects(RLRunLoopRef loop)
{
    for (int i = 0; i < 3; i++) {
        struct watched watched;
        open_pipe(&watched);
        write_byte(&watched);
        RLFileDescriptorContext context = {.info = &performed, .retain = retain, .release = release};
        int before = retains - releases, called = performed;
        RLFileDescriptorRef f = MAKE(RLFileDescriptorCreate(NULL, watched.reader, true, port_called, &context));
        if (!f) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLFileDescriptorCreate", 0);
            CHECK(close(watched.reader) == 0); /* still owned here */
        } else {
            RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
            RLRunLoopSourceRef source = MAKE(RLFileDescriptorCreateRunLoopSource(NULL, f, i - 1));
            if (source) {
                ADD(RLRunLoopAddSource(loop, source, *modes[i]), RLRunLoopContainsSource(loop, source, *modes[i]));
                bool added = RLRunLoopContainsSource(loop, source, *modes[i]);
                RLRunLoopMode mode = i == 2 ? extra : kRLRunLoopDefaultMode;
                int failures_before = failures;
                for (int run = 0; run < 100 && added && performed == called; run++)
                    RLRunLoopRunInMode(mode, 0.01, 1);
                if (added && performed == called)
                    complain("%s: not called, after %ld failures\n", "descriptor object", failures - failures_before);
                RLRelease(source);
            }
            release_object(MAKE(RLCopyDescription(f)));
            RLFileDescriptorInvalidate(f);
            CHECK(fcntl(watched.reader, F_GETFD) < 0);
            RLRelease(f);
        }
        close(watched.writer);
    }
}

static long received;
static int clients;
static void sock_called(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)s, (void)address;
    if (type == kRLSocketDataCallBack)
        received += RLDataGetLength(data);
    if (type == kRLSocketAcceptCallBack) {
        clients++;
        CHECK(close(*(const int *)data) == 0);
    }
    count_up(info);
}

static RLSocketRef made_socket(RLSocketRef socket, int before)
{
    if (!socket && retains - releases != before)
        complain("%s: failed and kept its info\n", "RLSocketCreate...", 0);
    return socket;
}

static void end_socket(RLSocketRef socket)
{
    if (socket) {
        RLSocketInvalidate(socket);
        RLRelease(socket);
    }
}

/* A server and its client in one loop; objects that could not be created are left out. */
static void use_sockets(RLRunLoopRef loop)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLSocketContext context = {.info = &performed, .retain = retain, .release = release};
    RLDataRef address = MAKE(RLDataCreate(NULL, (const uint8_t *)&any, sizeof any));
    if (!address)
        return;
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    int before = retains - releases, pair[2];
    RLSocketRef server = made_socket(
        MAKE(RLSocketCreateWithSocketSignature(NULL, &signature, kRLSocketAcceptCallBack, sock_called, &context)),
        before);
    RLDataRef own = server ? MAKE(RLSocketCopyAddress(server)) : NULL;
    signature.address = own;
    before = retains - releases;
    RLSocketRef client = own ? made_socket(MAKE(RLSocketCreateConnectedToSocketSignature(
                                               NULL, &signature, kRLSocketConnectCallBack, sock_called, &context, 10)),
                                           before)
                             : NULL;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    before = retains - releases;
    RLSocketRef reader = made_socket(
        MAKE(RLSocketCreateWithNative(NULL, pair[0], kRLSocketDataCallBack, sock_called, &context)), before);
    if (!reader)
        CHECK(close(pair[0]) == 0); /* still owned here */
    RLSocketRef all[] = {server, client, reader};
    bool added[3] = {false};
    long bytes = received, accepted = clients;
    CHECK(!reader || write(pair[1], "x", 1) == 1);
    for (int i = 0; i < 3; i++) {
        RLRunLoopSourceRef source = all[i] ? MAKE(RLSocketCreateRunLoopSource(NULL, all[i], 0)) : NULL;
        if (!source)
            continue;
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        added[i] = RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode);
        RLRelease(source);
    }
    for (int run = 0; run < 100; run++) {
        if ((!added[0] || !client || clients > accepted) && (!added[2] || received > bytes))
            break;
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    }
    if (added[2] && received == bytes && !fail_all)
        complain("%s: got nothing\n", "data socket", 0);
    if (client) {
        RLDataRef peer = MAKE(RLSocketCopyPeerAddress(client));
        CHECK(!peer || RLEqual(peer, own));
        release_object(peer);
    }
    for (int i = 0; i < 3; i++) {
        release_object(all[i] ? MAKE(RLCopyDescription(all[i])) : NULL);
        end_socket(all[i]);
    }
    release_object(own);
    RLRelease(address);
    close(pair[1]);
}

#endif
