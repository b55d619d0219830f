# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a problem over ranges of its words. The command does the work (`rynd sweep`), so both say the same."""

import os
import tempfile
from collections import namedtuple

from .command import command_results
from .errors import ArgumentError
from .table import seconds_text, table

SweepTime = namedtuple("SweepTime", "median low high coverage")
SweepMeasured = namedtuple("SweepMeasured", "n median min max mean variance")
SweepPoint = namedtuple("SweepPoint", "values problem kernel knobs time measured dominance")
SweepPoint.__doc__ = """A problem of a sweep: `values` of the words, the choice, the predicted `time`, the `measured` time or None, and its
dominance: {"predicted", "measured"}, the time over the least of the points that contain it, None where nothing does."""


class Sweep:
    """Times of a problem over ranges of its words: `points` (a list of SweepPoint), `dominance` (the largest), `excess` (steps that cost over 1.5
    times their work), `svg` (the picture, as text). Prints as a table; a notebook shows the picture."""

    def __init__(self, result, svg):
        self.problem, self.dominance, self.excess, self.svg = result["name"], result["dominance"], result["excess"], svg
        self.points = [SweepPoint(**{**point, "time": SweepTime(**point["time"]),
                                     "measured": point["measured"] and SweepMeasured(**point["measured"])}) for point in result["points"]]

    def __repr__(self):
        return f"rynd.Sweep({self.problem!r}, {len(self.points)} points)"

    def __str__(self):
        rows = [[*point.values.values(), seconds_text(point.time.median), seconds_text(point.measured.median) if point.measured else "-", point.kernel,
                 point.knobs] for point in self.points]
        return table([*self.points[0].values, "predicted", "measured", "kernel", "knobs"], rows)

    def _repr_html_(self):
        return self.svg[self.svg.index("<svg"):]


def _range(word, values):
    values = [values] if isinstance(values, (str, int)) else list(values)
    if not values:
        raise ArgumentError(f"{word}: no values are given")
    return f"{word}=" + ",".join(map(str, values))


def sweep(problem, measure=False, seconds=2, rounds=9, seed=1, device=None, threads=None, machine=None, settings=None, **ranges):
    """Predicts (or measures) a problem over all combinations of values of its words, as a Sweep.

        rynd.sweep("conv c=3 h=225 w=225 k=32 r=3 s=3 stride=2", pad=range(9), measure=True)

    Words that have the same value: `**{"h+w": range(200, 261, 4)}`. measure: run them, too, in rounds in random order, `rounds` at least, for
    `seconds` at least. docs/prediction.md tells what dominance and excess are. Raises ArgumentError, MissingFileError (no command), Error.
    """
    options = {"--device": device, "--threads": threads, "--machine": machine}
    if measure:
        options.update({"--seconds": seconds, "--rounds": rounds, "--seed": seed})
    words = [f"{name}={value}" for name, value in options.items() if value is not None]
    words += ["--measure"] * bool(measure) + [f"--set={knob}={value}" for knob, value in (settings or {}).items()]
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "sweep.svg")
        (result,) = command_results("sweep", [f"--output={picture}", *words, "--", problem, *[_range(word, values) for word, values in ranges.items()]])
        with open(picture, encoding="utf-8") as file:
            return Sweep(result, file.read())
