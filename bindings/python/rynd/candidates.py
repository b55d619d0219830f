# SPDX-License-Identifier: Apache-2.0
"""Predictions and candidates."""

from collections import namedtuple

from .table import seconds_text, size_text, table

Prediction = namedtuple("Prediction", "median low high coverage arithmetic memory overhead energy")
Prediction.__doc__ = """Seconds of a run: `median`, and the interval `low` to `high`, which holds the measured time with probability `coverage` (0.9).
Parts of it, which partly hide each other: `arithmetic`, `memory`, `overhead` (sending threads).
`energy`: None if no meter measured the machine, else (joule, low, high, meter)."""
Candidate = namedtuple("Candidate", "kernel accuracy refused chosen knobs prediction measured workspace packed kinds")
Candidate.__doc__ = """A form of a kernel (a kernel with a value for each of its knobs), or a rejected kernel: `refused` has the reason, else it is None.
A form has `prediction`, `measured` (seconds, None where not known), bytes of `workspace` and of weights in the kernel's order (`packed`);
`kinds`: seconds of its arithmetic by kind of operation ("multiply-add", "store", ...), without kinds that take none."""


def _candidate(facts):
    kernel, accuracy, refused, chosen, knobs, prediction, measured, workspace, packed, kinds = facts
    return Candidate(kernel, accuracy, refused, bool(chosen), knobs, None if refused else Prediction(*prediction), measured or None, workspace, packed, kinds)


class Candidates(list):
    """Every kernel for a problem's operator: a list of Candidate, the chosen one, then forms by predicted time, then rejected kernels. Prints as tables."""

    def __init__(self, facts):
        every = [_candidate(each) for each in facts]
        forms = [each for each in every if not each.refused]
        super().__init__(sorted(forms, key=lambda each: (not each.chosen, each.prediction.median)) + [each for each in every if each.refused])

    @property
    def chosen(self):
        """The chosen form."""
        return self[0]

    @property
    def forms(self):
        """The legal candidates, the chosen one first."""
        return [each for each in self if not each.refused]

    @property
    def refused(self):
        """Rejected kernels."""
        return [each for each in self if each.refused]

    def __str__(self):
        rows = [["*" if each.chosen else "", each.kernel, each.accuracy, seconds_text(each.prediction.median),
                 f"{each.prediction.median / self.chosen.prediction.median:.2f}", size_text(each.workspace), size_text(each.packed), each.knobs]
                for each in self.forms]
        return "\n".join([table(["", "kernel", "class", "predicted", "relative", "workspace", "packed", "knobs"], rows), "",
                          table(["", "rejected", "class", "reason"], [["", each.kernel, each.accuracy, each.refused] for each in self.refused])])
