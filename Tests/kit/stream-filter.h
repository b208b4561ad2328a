/* A filter for tests. It sends "HI", then frames: a length byte (0: the end), and that many bytes, inverted. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_FILTER_H
#define RUNLOOP_TESTS_KIT_STREAM_FILTER_H
#include "stream.h"

struct framer {
    int greeted; /* bytes of the peer's greeting received so far */
    int left;    /* bytes left in the frame; -1: its length comes next */
    bool ended;
    atomic_int releases;
};

static inline void framer_start(RLStreamRef stream, UNUSED void *info)
{
    require(RLStreamFilterSend(stream, (const uint8_t *)"HI", 2));
}

static inline void framer_receive(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    struct framer *framer = info;
    if (length == 0 && !framer->ended)
        RLStreamFilterFail(stream, kRLStreamTruncated, EPROTO);
    for (RLIndex i = 0; i < length; i++) {
        if (framer->greeted < 2) {
            if (bytes[i] != "HI"[framer->greeted]) {
                RLStreamFilterFail(stream, kRLStreamRefused, EPROTO);
                return;
            }
            if (++framer->greeted == 2) {
                framer->left = -1;
                RLStreamFilterOpen(stream);
            }
        } else if (framer->left < 0) {
            framer->left = bytes[i] > 0 ? bytes[i] : -1;
            if (bytes[i] == 0) {
                framer->ended = true;
                RLStreamFilterEnd(stream);
            }
        } else {
            RLStreamFilterDeliver(stream, (const uint8_t[]){(uint8_t)~bytes[i]}, 1);
            if (--framer->left == 0)
                framer->left = -1;
        }
    }
}

static inline void framer_write(RLStreamRef stream, const uint8_t *bytes, RLIndex length, UNUSED void *info)
{
    for (RLIndex done = 0; done < length;) {
        uint8_t frame[256];
        uint8_t size = (uint8_t)(length - done < 255 ? length - done : 255);
        frame[0] = size;
        for (int i = 0; i < size; i++)
            frame[1 + i] = (uint8_t)~bytes[done + i];
        RLStreamFilterSend(stream, frame, 1 + size);
        done += size;
    }
}

static inline void framer_shutdown(RLStreamRef stream, UNUSED void *info)
{
    RLStreamFilterSend(stream, (const uint8_t[]){0}, 1);
}

static inline void framer_release(void *info) { ((struct framer *)info)->releases++; }

static inline bool set_framer(RLStreamRef stream, struct framer *framer)
{
    RLStreamFilter filter = {0, framer, framer_release, framer_start, framer_receive, framer_write, framer_shutdown};
    return RLStreamSetFilter(stream, &filter);
}

#endif
