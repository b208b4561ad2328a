"""Draws a part of a trace as a picture: a lane for each thread, slices with their names, and arrows."""

import pathlib
import zlib

import pftrace
from PIL import Image, ImageDraw, ImageFont

WIDTH, LEFT, ROW, GAP = 1200, 150, 26, 24
FONTS = ["/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"]
COLOURS = ["#8ecae6", "#ffd166", "#b5e48c", "#f4a3a3", "#cdb4db", "#f7c59f", "#a3d5c3"]
GREY, INK, ARROW = "#e4e4e4", "#202020", "#c1121f"


def font(size):
    return ImageFont.truetype(next(path for path in FONTS if pathlib.Path(path).exists()), size)


def depth(found):
    return 0 if found.inside is None else depth(found.inside) + 1


def colour(found):
    return GREY if found.category == "sleep" else COLOURS[zlib.crc32(found.name.encode()) % len(COLOURS)]


def unit(milliseconds):
    return f"{milliseconds:g} ms" if milliseconds >= 1 or milliseconds == 0 else f"{milliseconds * 1000:g} us"


def steps(span):
    """A round number of milliseconds, about an eighth of the span."""
    return next(factor * 10**power for power in range(-4, 6) for factor in (1, 2, 5) if span / (factor * 10**power) <= 9)


def draw(path, picture, start, end):
    """Draws a part of a trace into a picture. `start` and `end` are milliseconds after the first event or, if negative, before the last."""
    trace = pftrace.read(path)
    threads = [track for track in trace.tracks.values() if track.thread and track.slices]
    begin = min(found.start for found in trace.slices)
    last = max(found.end or found.start for found in trace.slices)
    if start < 0:
        start, end = start + (last - begin) / 1e6, end + (last - begin) / 1e6
    time = {id(found): ((found.start - begin) / 1e6, end if found.end is None else (found.end - begin) / 1e6) for found in trace.slices}

    def place(milliseconds):
        return LEFT + (min(max(milliseconds, start), end) - start) / (end - start) * (WIDTH - LEFT - 10)

    tops, top = {}, 40
    for track in threads:
        tops[id(track)] = top
        top += (max(map(depth, track.slices)) + 1) * ROW + GAP
    counters = [track for track in trace.tracks.values() if track.is_counter and max((count for _, count in track.counts), default=0) > 5
                and track.name.startswith("posted")]
    for track in counters:
        tops[id(track)] = top
        top += 2 * ROW + GAP
    image = Image.new("RGB", (WIDTH, top), "white")
    canvas, small, text = ImageDraw.Draw(image), font(12), font(13)
    step = steps(end - start)
    mark = -(-start // step) * step
    while mark <= end + step / 10:
        canvas.line([(place(mark), 22), (place(mark), top)], fill="#eeeeee")
        canvas.text((place(mark) + 2, 4), unit(round(mark, 4)), fill="#707070", font=small)
        mark += step
    for track in threads:
        y = tops[id(track)]
        canvas.text((6, y + 4), f"{track.name} {track.thread}"[:22], fill=INK, font=small)
        free, labels = 0, y + (max(map(depth, track.slices)) + 1) * ROW - 2
        for found in track.slices:
            first, final = time[id(found)]
            if final < start or first > end or found.category in ("sent", "received"):
                continue
            box = [place(first), y + depth(found) * ROW, max(place(final), place(first) + 1), y + (depth(found) + 1) * ROW - 3]
            canvas.rectangle(box, fill=colour(found), outline=None if box[2] - box[0] < 4 else "#909090")
            name = found.name + (f" ({found.note} late)" if found.category == "timer" and box[2] - box[0] > 200 else "")
            name += " (never returned)" if found.end is None and found.category != "sleep" else ""
            if canvas.textlength(name, font=text) + 8 < box[2] - box[0]:
                canvas.text((box[0] + 4, box[1] + 3), name, fill=INK, font=text)
            elif found.category != "sleep" and box[0] >= free and box[0] + canvas.textlength(found.name, font=small) < WIDTH:
                canvas.text((box[0], labels), found.name, fill="#505050", font=small)
                free = box[0] + canvas.textlength(found.name, font=small) + 8
    for track in counters:
        y, most = tops[id(track)] + ROW * 2, max(count for _, count in track.counts)
        canvas.text((6, y - ROW), track.name, fill=INK, font=small)
        canvas.text((LEFT + 4, y - 2 * ROW), f"{most:g}", fill="#707070", font=small)
        points = [(place((moment - begin) / 1e6), y - count / most * 2 * ROW) for moment, count in track.counts]
        for (left, height), (right, _) in zip(points, points[1:]):
            canvas.rectangle([left, height, max(right, left), y], fill="#8ecae6")
    arrived = {number for found in trace.slices for number in found.arriving}
    for found in trace.slices:
        if found.category == "sent" and not set(found.departing) & arrived and not found.name.startswith("wake"):
            x, y = place(time[id(found)][0]), tops[id(found.track)] - 8
            canvas.ellipse([x - 4, y - 4, x + 4, y + 4], outline=ARROW, width=2)
            if len(trace.slices) < 100:
                canvas.text((x + 8, y - 8), f"{found.name}: does not arrive", fill=ARROW, font=small)
    drawn = 0
    for first, final in trace.arrows():
        left, right = time[id(first)][0], time[id(final)][0]
        if left > end or right < start or drawn >= 40 or (first.name == "wake" and len(trace.arrows()) > 60):
            continue
        drawn += 1
        ends = [(place(left), tops[id(first.track)] + depth(first) * ROW), (place(right), tops[id(final.track)] + depth(final) * ROW + 4)]
        canvas.line(ends, fill=ARROW, width=2)
        canvas.ellipse([ends[1][0] - 3, ends[1][1] - 3, ends[1][0] + 3, ends[1][1] + 3], fill=ARROW)
    image.quantize(64).save(picture, optimize=True)
