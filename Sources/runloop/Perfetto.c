/* Writes the subset of Perfetto's trace format that is needed: protobuf messages, encoded here by hand. The field numbers are those of
   protos/perfetto/trace/ in Perfetto's source: trace.proto, trace_packet.proto, track_event/. */
#include "Command.h"
#include <string.h>
#include <wchar.h>

/* A message that is being built. Names are truncated, so that everything has room. */
struct Message {
    size_t size;
    unsigned char bytes[4096];
};
enum { NAME_LIMIT = 1000, VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void putVarint(struct Message *message, uint64_t value)
{
    for (; value > 0x7F; value >>= 7)
        message->bytes[message->size++] = (unsigned char)(value | 0x80);
    message->bytes[message->size++] = (unsigned char)value;
}

static void putNumber(struct Message *message, unsigned field, uint64_t value)
{
    putVarint(message, field << 3 | VARINT);
    putVarint(message, value);
}

static void putFixed(struct Message *message, unsigned field, uint64_t value)
{
    putVarint(message, field << 3 | FIXED64);
    for (int byte = 0; byte < 8; byte++)
        message->bytes[message->size++] = (unsigned char)(value >> 8 * byte);
}

static void putBytes(struct Message *message, unsigned field, const void *bytes, size_t size)
{
    putVarint(message, field << 3 | BYTES);
    putVarint(message, size);
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

/* Appends a string. It has to be UTF-8, which the names of programs and threads need not be. */
static void putText(struct Message *message, unsigned field, const char *text)
{
    char letters[NAME_LIMIT];
    size_t size = 0, left = strnlen(text, NAME_LIMIT);
    while (left > 0) {
        mbstate_t state = {0};
        size_t length = mbrtowc(NULL, text, left, &state);
        int isLetter = length <= left;
        length = isLetter ? length : 1;
        if (isLetter)
            memcpy(letters + size, text, length);
        else
            letters[size] = '?';
        size += length, text += length, left -= length;
    }
    putBytes(message, field, letters, size);
}

static void putMessage(struct Message *message, unsigned field, const struct Message *part)
{
    putBytes(message, field, part->bytes, part->size);
}

/* Trace.packet = 1; in it trusted_packet_sequence_id = 10. */
static void writePacket(FILE *file, struct Message *packet)
{
    struct Message head = {0};
    putNumber(packet, 10, 1);
    putVarint(&head, 1 << 3 | BYTES);
    putVarint(&head, packet->size);
    fwrite(head.bytes, 1, head.size, file);
    fwrite(packet->bytes, 1, packet->size, file);
}

/* TracePacket.track_descriptor = 60. */
static void writeTrack(FILE *file, const struct Message *track)
{
    struct Message packet = {0};
    putMessage(&packet, 60, track);
    writePacket(file, &packet);
}

/* `process` is the number shown; `track` is unique even if two PID namespaces share it. TrackDescriptor: uuid 1, process 3, thread 4;
   ProcessDescriptor: pid 1, process_name 6; ThreadDescriptor: pid 1, tid 2, thread_name 5. */
void writeProcessTrack(FILE *file, uint64_t track, int process, const char *name)
{
    struct Message descriptor = {0}, its = {0};
    putNumber(&its, 1, (uint64_t)process);
    putText(&its, 6, name);
    putNumber(&descriptor, 1, track);
    putMessage(&descriptor, 3, &its);
    writeTrack(file, &descriptor);
}

void writeThreadTrack(FILE *file, uint64_t track, int process, int thread, const char *name)
{
    struct Message descriptor = {0}, its = {0};
    putNumber(&its, 1, (uint64_t)process);
    putNumber(&its, 2, (uint64_t)thread);
    putText(&its, 5, name);
    putNumber(&descriptor, 1, track);
    putMessage(&descriptor, 4, &its);
    writeTrack(file, &descriptor);
}

/* TrackDescriptor: name 2, parent_uuid 5, counter 8; CounterDescriptor: unit_name 6. */
void writeCounterTrack(FILE *file, uint64_t track, uint64_t parent, const char *name, const char *unit)
{
    struct Message descriptor = {0}, its = {0};
    putText(&its, 6, unit);
    putNumber(&descriptor, 1, track);
    putText(&descriptor, 2, name);
    putNumber(&descriptor, 5, parent);
    putMessage(&descriptor, 8, &its);
    writeTrack(file, &descriptor);
}

/* TracePacket: timestamp 8, track_event 11. TrackEvent: debug_annotations 4, type 9, track_uuid 11, categories 22, name 23,
   double_counter_value 44, flow_ids 47, terminating_flow_ids 48. DebugAnnotation: string_value 6, name 10. */
void writeEntry(FILE *file, const struct Entry *entry)
{
    struct Message packet = {0}, event = {0}, annotation = {0};
    putNumber(&event, 9, (uint64_t)entry->shape);
    putNumber(&event, 11, entry->track);
    if (entry->category != NULL)
        putText(&event, 22, entry->category);
    if (entry->name != NULL)
        putText(&event, 23, entry->name);
    if (entry->shape == COUNTER) {
        uint64_t bits;
        memcpy(&bits, &entry->count, sizeof bits);
        putFixed(&event, 44, bits);
    }
    for (size_t index = 0; index < entry->departingCount; index++)
        putFixed(&event, 47, entry->departing[index]);
    for (size_t index = 0; index < entry->arrivingCount; index++)
        putFixed(&event, 48, entry->arriving[index]);
    if (entry->note != NULL) {
        putText(&annotation, 10, entry->noteName);
        putText(&annotation, 6, entry->note);
        putMessage(&event, 4, &annotation);
    }
    putNumber(&packet, 8, entry->time);
    putMessage(&packet, 11, &event);
    writePacket(file, &packet);
}
