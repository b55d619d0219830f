# SPDX-License-Identifier: Apache-2.0
"""The chart of a comparison as SVG: a row a subject, a mark a peer, at its time over rynd's, on a logarithmic axis."""
import math
from xml.sax.saxutils import escape

from .summary import PEERS, milliseconds, peer_geomeans

# Okabe and Ito's palette, which colour-blind readers tell apart; shapes differ too.
MARKS = {"onnxruntime": ("#0072b2", "circle"), "openvino": ("#e69f00", "square"), "ncnn": ("#009e73", "diamond"), "mnn": ("#d55e00", "triangle"),
         "torch": ("#cc79a7", "circle"), "torch.nhwc": ("#8c4a75", "square")}
ROW, WIDTH, RIGHT, TOP = 17, 640, 160, 92
LETTER = 6.6  # the usual width of one, at size 11
LEAST, MOST = 0.35, 16
TICKS = [0.35, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 12, 16]
TITLES = {"first": "First layers", "dense": "Dense k x k", "pointwise": "1 x 1", "depthwise": "Depthwise", "grouped": "Grouped",
          "other": "Transposed, 1-D, 3-D", "random": "Random layers", "net": "Networks"}


def place(ratio, left):
    """The x position of a ratio; a ratio beyond the axis is drawn at the end of the axis."""
    ratio = min(max(ratio, LEAST), MOST)
    return left + WIDTH * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def text(x, y, words, anchor="start", size=11, colour="#222", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" font-weight="{weight}">{escape(words)}</text>'


def mark(key, x, y, size=4.2):
    colour, shape = MARKS[key]
    paint = f'fill="{colour}" stroke="#fff" stroke-width="0.6"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {paint}/>'
    if shape == "square":
        return f'<rect x="{x - size * 0.9:.1f}" y="{y - size * 0.9:.1f}" width="{size * 1.8:.1f}" height="{size * 1.8:.1f}" {paint}/>'
    corners = [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)] if shape == "diamond" else [(0, -1.15), (1.15, 0.95), (-1.15, 0.95)]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {paint}/>'


def head(results, left, bottom):
    machine = results["machine"]
    lines = [text(12, 24, "Time of each engine over rynd's: right of 1 rynd is faster", size=15, weight="bold"),
             text(12, 42, f"{machine['cpu']} ({results['peaks']['isa']}), {results['threads']} threads, {results['date']}; near32, NCHW; medians of "
                          f"{results['rounds']} turns; the line through the nearest mark is its 95% interval", colour="#555")]
    x = 12
    means = peer_geomeans(results["subjects"])
    for key, name in PEERS.items():
        if key in means:
            words = name + " " + ", ".join(f"{mean:.2f}x" for mean in means[key].values())
            lines += [mark(key, x + 5, 58), text(x + 13, 62, words)]
            x += 30 + LETTER * len(words)
    lines.append(text(510, 24, "beside the names: geometric means, of layers, of networks", colour="#555"))
    for tick in TICKS:
        at = place(tick, left)
        lines.append(f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" y2="{bottom}" stroke="{"#222" if tick == 1 else "#ddd"}" stroke-width="1"/>')
        lines.append(text(at, TOP - 10, f"{tick:g}x" if tick < MOST else "16x+", "middle", colour="#555"))
    lines.append(text(left + WIDTH + 26, TOP - 10, "rynd ms", colour="#555") + text(left + WIDTH + 90, TOP - 10, "best peer", colour="#555"))
    return lines


def row(entry, left, y):
    ours = entry["seconds"]["rynd"]
    lines = [text(left - 8, y + 4, entry["name"], "end")]
    best = entry["near32"]
    if best:
        lines.append(f'<line x1="{place(best["low"], left):.1f}" y1="{y}" x2="{place(best["high"], left):.1f}" y2="{y}" stroke="#222" stroke-width="2"/>')
    for key in reversed(PEERS):
        if key in entry["seconds"]:
            lines.append(mark(key, place(entry["seconds"][key] / ours, left), y))
    lines.append(text(left + WIDTH + 26, y + 4, milliseconds(ours)))
    if best:
        colour = "#222" if best["ratio"] >= 1 else "#c00"
        lines.append(text(left + WIDTH + 90, y + 4, f"{best['ratio']:.2f}x {PEERS[best['peer']]}", colour=colour))
    return lines


def draw(results):
    """The SVG's text."""
    entries = [entry for entry in results["subjects"] if "rynd" in entry["seconds"]]
    groups = {}
    for entry in entries:
        groups.setdefault(entry["group"], []).append(entry)
    left = max(170, 20 + LETTER * max((len(entry["name"]) for entry in entries), default=0))
    lines, y = [], TOP + 8
    for group, members in groups.items():
        lines.append(text(12, y + 4, TITLES.get(group, group), weight="bold"))
        y += ROW
        for entry in members:
            lines += row(entry, left, y)
            y += ROW
    width = left + WIDTH + RIGHT + 40
    body = "\n".join(head(results, left, y) + lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y + 12}" viewBox="0 0 {width:.0f} {y + 12}" '
            f'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n')
