"""Reads a Perfetto trace independently of the code that writes it. For the fields, see protos/perfetto/trace in Perfetto's source."""

import dataclasses
import struct

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def fields(data):
    """Yields (number, value) for each field of a message; a value is a number or bytes."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            yield number, varint()
        elif wire == 1:
            yield number, struct.unpack_from("<Q", data, place)[0]
            place += 8
        elif wire == 2:
            size = varint()
            assert place + size <= len(data), "a field is longer than its message"
            yield number, data[place:place + size]
            place += size
        else:
            raise AssertionError(f"wire type {wire}")


def message(data):
    """Returns the list of values for each field number."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def one(found, number, default=None):
    values = found.get(number, [default])
    assert len(values) == 1
    return values[0]


@dataclasses.dataclass
class Slice:
    """A slice, or an instant, which has no duration."""
    name: str
    category: str
    track: "Track"
    start: int
    end: int = None  # None: it never ended
    inside: "Slice" = None
    note: str = ""
    departing: list = dataclasses.field(default_factory=list)
    arriving: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Track:
    name: str
    process: int = 0
    thread: int = 0
    is_counter: bool = False
    slices: list = dataclasses.field(default_factory=list)
    counts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Trace:
    tracks: dict

    @property
    def slices(self):
        return [found for track in self.tracks.values() for found in track.slices]

    def named(self, name):
        return [found for found in self.slices if found.name == name]

    def arrows(self):
        """Returns (slice where it begins, slice where it ends) for each arrow that ends."""
        begins = {number: found for found in self.slices for number in found.departing}
        return [(begins[number], found) for found in self.slices for number in found.arriving]


def read_track(descriptor):
    name = one(descriptor, 2, b"").decode()
    if 3 in descriptor:
        its = message(one(descriptor, 3))
        return Track(one(its, 6).decode(), process=one(its, 1))
    if 4 in descriptor:
        its = message(one(descriptor, 4))
        return Track(one(its, 5).decode(), process=one(its, 1), thread=one(its, 2))
    assert 8 in descriptor and 5 in descriptor
    return Track(name, is_counter=True)


def read(path):
    """Reads a trace. Fails if slices do not nest, or if a track is used before it is described."""
    trace, open_slices = Trace({}), {}
    packets = [message(data) for number, data in fields(path.read_bytes()) if number == 1]
    for packet in packets:
        assert one(packet, 10) == 1
        if 60 in packet:
            descriptor = message(one(packet, 60))
            trace.tracks[one(descriptor, 1)] = read_track(descriptor)
            continue
        event, time = message(one(packet, 11)), one(packet, 8)
        kind, track = one(event, 9), trace.tracks[one(event, 11)]
        stack = open_slices.setdefault(one(event, 11), [])
        assert track.is_counter == (kind == COUNTER)
        if kind == COUNTER:
            track.counts.append((time, struct.unpack("<d", struct.pack("<Q", one(event, 44)))[0]))
        elif kind == END:
            ended = stack.pop()
            assert ended.start <= time
            ended.end = time
        else:
            new = Slice(one(event, 23).decode(), one(event, 22).decode(), track, time, inside=stack[-1] if stack else None)
            new.note = one(message(one(event, 4)), 6).decode() if 4 in event else ""
            new.departing, new.arriving = event.get(47, []), event.get(48, [])
            assert not track.slices or track.slices[-1].start <= time
            track.slices.append(new)
            if kind == BEGIN:
                stack.append(new)
            else:
                new.end = time
    return trace
