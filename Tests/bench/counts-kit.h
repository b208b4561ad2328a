/*
 * counts-kit.h -- operations for counts.c: streams of librunloop-kit.
 */

static void ignore_stream(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)stream; (void)event; (void)info;
}

/* Counts writes that the descriptor takes immediately. */
static void write_to(int reader, int writer)
{
    char byte;
    prepare_loop();
    RLStreamRef stream = RLStreamCreate(NULL, writer, true, ignore_stream, NULL);
    CHECK(stream != NULL);
    RLRunLoopAddSource(loop, stream, kRLRunLoopDefaultMode);
    for (int i = 0; i <= 1000; i++) {
        if (i == 1)
            begin();
        CHECK(RLStreamWrite(stream, "x", 1));
        CHECK(read(reader, &byte, 1) == 1);
    }
    end(1000, 1000);
    RLStreamClose(stream);
    RLRelease(stream);
    close(reader);
}

static void stream_write_pipe(void)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    write_to(ends[0], ends[1]);
}

static void stream_write_socket(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    write_to(ends[0], ends[1]);
}
