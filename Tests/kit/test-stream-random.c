/* RLStream: random programs with two connected streams, compared byte by byte and chunk by chunk with a model. Each
 * end writes the same endless text. The model predicts each chunk's start and length. RL_SEEDS=1000 runs more
 * programs. */
#include "stream-filter.h"
#include "random.h"

/* Returns a byte of the text. Lines end at irregular distances. */
static uint8_t letter(size_t position)
{
    uint32_t hash = (uint32_t)position * 2654435761u;
    return hash >> 26 == 0 ? '\n' : (uint8_t)('a' + (hash >> 13) % 26);
}

enum rule { whatever, counted, lines };
struct end {
    RLStreamRef stream;
    struct end *other;
    struct framer framer;
    size_t wrote, received, flushed;
    enum rule rule;
    RLIndex count;
    bool is_shut, is_paused, has_ended, is_told_of_room;
    int flushes, awaited;
};

static void choose_rule(struct end *end)
{
    end->rule = (enum rule)random_below(3);
    end->count = 1 + (RLIndex)random_below(random_below(8) == 0 ? 100000 : 50);
    if (end->rule == lines)
        require(RLStreamSetReadDelimiter(end->stream, "\n", 1, 1000000));
    else
        RLStreamSetReadCount(end->stream, end->rule == counted ? end->count : 0);
}

static void check_piece(struct end *end, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        require(bytes[i] == letter(end->received + i));
    end->received += length;
    require(end->received <= end->other->wrote);
    bool is_last = end->other->is_shut && end->received == end->other->wrote;
    if (end->rule == counted)
        require(length == (size_t)end->count || (is_last && length < (size_t)end->count));
    if (end->rule == lines) {
        require(memchr(bytes, '\n', length - 1) == NULL);
        require(bytes[length - 1] == '\n' || is_last);
    }
}

static void received(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct end *end = info;
    require(stream == end->stream && event->type != kRLStreamEventErrorOccurred);
    require(!end->has_ended || event->type == kRLStreamEventCanAcceptBytes);
    if (event->type == kRLStreamEventHasBytesAvailable) {
        require(!end->is_paused);
        check_piece(end, event->bytes, (size_t)event->length);
        if (random_below(3) == 0)
            choose_rule(end);
        if (random_below(10) == 0) {
            RLStreamPauseReading(stream);
            end->is_paused = true;
        }
        if (random_below(20) == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    } else if (event->type == kRLStreamEventEndEncountered) {
        require(end->other->is_shut && end->received == end->other->wrote);
        end->has_ended = true;
    } else if (event->type == kRLStreamEventCanAcceptBytes) {
        require(end->is_told_of_room);
        end->is_told_of_room = false;
    }
}

static void flushed_all(RLStreamRef stream, RLStreamResult result, UNUSED int error, void *info)
{
    struct end *end = info;
    require(stream == end->stream && result == kRLStreamSuccess);
    end->flushes++;
}

static void write_some(struct end *end)
{
    static uint8_t bytes[70000];
    size_t length = random_below(random_below(5) == 0 ? sizeof bytes : 200);
    for (size_t i = 0; i < length; i++)
        bytes[i] = letter(end->wrote + i);
    end->wrote += length;
    uint32_t how = random_below(3);
    RLDataRef data = how == 0 ? RLDataCreate(NULL, bytes, (RLIndex)length) : NULL;
    require(how == 0   ? RLStreamWriteData(end->stream, data)
            : how == 1 ? RLStreamAppend(end->stream, bytes, (RLIndex)length)
                       : RLStreamWrite(end->stream, bytes, (RLIndex)length));
    if (data != NULL)
        RLRelease(data);
    if (!RLStreamCanAcceptBytes(end->stream))
        end->is_told_of_room = true;
}

static void step(struct end *end)
{
    switch (random_below(8)) {
    case 0 ... 2:
        if (!end->is_shut)
            write_some(end);
        break;
    case 3:
        if (end->is_paused)
            RLStreamResumeReading(end->stream);
        end->is_paused = false;
        break;
    case 4:
        if (RLStreamFlush(end->stream, flushed_all, end))
            end->awaited++;
        break;
    default:
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, random_below(2) == 0);
    }
}

static void run_program(bool is_filtered)
{
    struct end ends[2] = {{.other = &ends[1]}, {.other = &ends[0]}};
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    for (int i = 0; i < 2; i++) {
        RLStreamContext context = {.info = &ends[i]};
        if (random_below(2) == 0)
            small_buffers(pair[i]);
        ends[i].stream = add(RLStreamCreate(NULL, pair[i], 1, received, &context));
        require(!is_filtered || set_framer(ends[i].stream, &ends[i].framer));
        if (random_below(2) == 0)
            RLStreamSetHighWaterMark(ends[i].stream, 1 + random_below(1000));
        choose_rule(&ends[i]);
    }
    for (int i = 0; i < 100; i++)
        step(&ends[random_below(2)]);
    for (int i = 0; i < 2; i++) {
        RLStreamShutdown(ends[i].stream);
        ends[i].is_shut = true;
    }
    while (!ends[0].has_ended || !ends[1].has_ended || ends[0].flushes < ends[0].awaited ||
           ends[1].flushes < ends[1].awaited)
        step(&ends[random_below(2)]);
    for (int i = 0; i < 2; i++) {
        require(ends[i].flushes == ends[i].awaited && RLStreamGetQueuedLength(ends[i].stream) == 0);
        RLStreamClose(ends[i].stream);
        RLRelease(ends[i].stream);
    }
}

START_TEST(random_streams_agree_with_the_model)
{
    const char *more = getenv("RL_SEEDS");
    int seeds = more != NULL ? atoi(more) : SCALED(60);
    for (int seed = 1; seed <= seeds; seed++) {
        random_state = (uint64_t)seed * 2 + (uint64_t)_i;
        run_program(_i == 1);
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream random");
    TCase *all = add_case(suite, "stream random", 60);
    tcase_add_loop_test(all, random_streams_agree_with_the_model, 0, 2);
    return suite;
}
