/* libuv: pipes over a socket pair. Both ends know the message size. Data that fits is written immediately. The read
 * buffer is larger than a message: after a read that fills its buffer libuv reads again, which would be a useless
 * system call at each end. */
#include <uv.h>

struct uv_end {
    uv_pipe_t pipe;
    char *bytes;     /* read buffer */
    const char *out; /* write buffer */
    size_t room, done;
    int left; /* replies still expected */
    void (*complete)(struct uv_end *end);
};

static void uv_room(uv_handle_t *handle, size_t wish, uv_buf_t *buffer)
{
    struct uv_end *end = (struct uv_end *)handle;
    (void)wish;
    *buffer = uv_buf_init(end->bytes + end->done, (unsigned)(end->room - end->done));
}

static void uv_arrived(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct uv_end *end = (struct uv_end *)stream;
    (void)buffer;
    if (count < 0)
        exit(0);
    end->done += (size_t)count;
    if (end->done >= size)
        end->complete(end);
}

static void uv_written(uv_write_t *write, int status)
{
    free(write);
    if (status < 0)
        exit(0);
}

static void uv_put(struct uv_end *end)
{
    uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)end->out, (unsigned)size);
    int done = uv_try_write((uv_stream_t *)&end->pipe, &buffer, 1);
    if (done == (int)size)
        return;
    if (done > 0)
        buffer = uv_buf_init(buffer.base + done, (unsigned)size - (unsigned)done);
    uv_write(malloc(sizeof(uv_write_t)), (uv_stream_t *)&end->pipe, &buffer, 1, uv_written);
}

static struct uv_end *uv_open_end(int fd, size_t room, void (*complete)(struct uv_end *end))
{
    struct uv_end *end = calloc(1, sizeof *end);
    end->bytes = calloc(1, room);
    end->out = end->bytes;
    end->room = room;
    end->complete = complete;
    if (uv_pipe_init(uv_default_loop(), &end->pipe, 0) || uv_pipe_open(&end->pipe, fd) ||
        uv_read_start((uv_stream_t *)&end->pipe, uv_room, uv_arrived))
        fail("libuv");
    return end;
}

static void uv_send_back(struct uv_end *end)
{
    end->done = 0;
    uv_put(end);
}

static void uv_server(void)
{
    uv_open_end(uv_ends[1], size + 1, uv_send_back);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void uv_next(struct uv_end *end)
{
    end->done = 0;
    if (--end->left > 0)
        uv_put(end);
    else
        uv_stop(uv_default_loop());
}

static void uv_client(int count)
{
    static struct uv_end *end;
    if (end == NULL) {
        end = uv_open_end(uv_ends[0], size + 1, uv_next);
        end->out = filled();
    }
    end->left = count;
    uv_put(end);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* ---- one way: reads as many messages at a time as are available ---- */

static void uv_take(struct uv_end *end)
{
    size_t taken = 0;
    for (; end->done - taken >= size; taken += size)
        acknowledge(end->bytes + taken);
    end->done -= taken;
    memmove(end->bytes, end->bytes + taken, end->done);
}

static void uv_sink(void)
{
    uv_open_end(uv_ends[1], size > 65536 ? size : 65536, uv_take);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void uv_source(int count)
{
    static struct uv_end *end;
    if (end == NULL)
        end = uv_open_end(uv_ends[0], size, uv_take);
    char *out = end->bytes;
    for (int index = 1; index <= count; index++) {
        out[0] = index == count ? LAST : 0;
        uv_put(end);
        while (uv_stream_get_write_queue_size((uv_stream_t *)&end->pipe) > 0)
            uv_run(uv_default_loop(), UV_RUN_ONCE);
    }
    await_acknowledgement();
}
