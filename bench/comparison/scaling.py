# SPDX-License-Identifier: Apache-2.0
"""The time of a step of several ranks, from what each step of the plan takes and from what links are: docs/scaling.md."""
import collections
import math
from xml.sax.saxutils import escape

Link = collections.namedtuple("Link", "name latency bandwidth")  # seconds of a message, bytes a second of one direction
LINKS = [Link("10 Gb/s Ethernet", 30e-6, 1.25e9), Link("25 Gb/s Ethernet", 20e-6, 3.1e9), Link("100 Gb/s InfiniBand", 3e-6, 12e9)]
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"]


def all_reduce_seconds(size, ranks, link):
    """A ring's 2 (p - 1) rounds, in each of which every rank hands on a p-th of the bytes."""
    return 2 * (ranks - 1) * (link.latency + size / ranks / link.bandwidth)


def step_seconds(steps, buckets, ranks, link):
    """The steps of a plan one after another, while the buckets go through the ring in their order; a step waits for what it needs.

    steps: seconds of each; buckets: (bytes, made, awaited), as rynd.Trainer.buckets. Returns the seconds of all, and of them those in which steps waited.
    """
    now = free = waited = 0.0
    back = [None] * len(buckets)  # when each is added up
    begun = 0
    for index in range(len(steps) + 1):
        while begun < len(buckets) and buckets[begun][1] <= index:
            free = max(free, now) + all_reduce_seconds(buckets[begun][0], ranks, link)
            back[begun] = free
            begun += 1
        for number, bucket in enumerate(buckets):
            if bucket[2] == index and ranks > 1:
                waited += max(0.0, back[number] - now)
                now = max(now, back[number])
        if index == len(steps):
            return now, waited
        now += steps[index]


def fit_link(times, name="measured"):
    """The link by which (bytes, ranks, seconds) of sums are nearest to the model, by least squares of relative errors; neither is negative."""
    rows = [(2 * (ranks - 1) / seconds, 2 * (ranks - 1) * size / ranks / seconds) for size, ranks, seconds in times]
    aa, ab, bb = sum(a * a for a, _ in rows), sum(a * b for a, b in rows), sum(b * b for _, b in rows)
    ya, yb, determinant = sum(a for a, _ in rows), sum(b for _, b in rows), aa * bb - ab * ab
    latency, per_byte = (ya * bb - yb * ab) / determinant, (yb * aa - ya * ab) / determinant
    if latency < 0:
        latency, per_byte = 0.0, yb / bb
    if per_byte <= 0:
        latency, per_byte = ya / aa, 1e-15
    return Link(name, latency, 1 / per_byte)


def simulate(steps, buckets, counts, links):
    """{link's name: [(ranks, seconds, waited, efficiency)]}: efficiency is of a rank, beside one that is alone."""
    alone = step_seconds(steps, buckets, 1, links[0])[0]
    table = {}
    for link in links:
        rows = [(ranks, *step_seconds(steps, buckets, ranks, link)) for ranks in counts]
        table[link.name] = [(ranks, seconds, waited, alone / seconds) for ranks, seconds, waited in rows]
    return table


def chart(tables, title):
    """Efficiency over ranks as SVG, a panel a network, a line a link."""
    width, height, left, top = 330, 210, 52, 64
    lines = [f'<text x="12" y="24" font-size="15" font-weight="bold">{escape(title)}</text>']
    names = list(next(iter(tables.values())))
    for number, name in enumerate(names):
        x = 16 + 190 * number
        lines.append(f'<line x1="{x}" y1="42" x2="{x + 22}" y2="42" stroke="{COLOURS[number]}" stroke-width="2"/>'
                     f'<text x="{x + 28}" y="46" font-size="11">{escape(name)}</text>')
    for panel, (network, table) in enumerate(tables.items()):
        x0 = left + panel * (width + 60)
        most = max(row[0] for rows in table.values() for row in rows)
        lines.append(f'<text x="{x0}" y="{top + 8}" font-size="12" font-weight="bold">{escape(network)}</text>')
        for tick in (0, 0.25, 0.5, 0.75, 1):
            y = top + 16 + height * (1 - tick)
            lines.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + width}" y2="{y:.1f}" stroke="#ddd"/>'
                         f'<text x="{x0 - 6}" y="{y + 4:.1f}" font-size="11" text-anchor="end">{100 * tick:.0f}%</text>')
        place = lambda ranks: x0 + width * math.log(ranks) / math.log(most)
        for ranks in [10**k for k in range(int(math.log10(most)) + 1)]:
            lines.append(f'<text x="{place(ranks):.1f}" y="{top + height + 34}" font-size="11" text-anchor="middle">{ranks}</text>')
        for number, rows in enumerate(table.values()):
            points = " ".join(f"{place(row[0]):.1f},{top + 16 + height * (1 - row[3]):.1f}" for row in rows)
            lines.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
    wide = left + len(tables) * (width + 60)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{top + height + 48}" font-family="sans-serif" fill="#222">'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(lines) + "\n</svg>\n")
