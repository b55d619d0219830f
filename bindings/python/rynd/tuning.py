# SPDX-License-Identifier: Apache-2.0
"""Tuning: choices by measurement (docs/tuning.md)."""

from . import _rynd
from .context import accuracy_number, context
from .errors import ArgumentError
from .table import seconds_text, table

_WEIGHTS = (None, "cold", "warm")


def weights_number(word):
    """The number that the library has for where weights are."""
    if word not in _WEIGHTS:
        raise ArgumentError(f"weights {word!r}: give 'cold' or 'warm'")
    return _WEIGHTS.index(word)


class TunedForm:
    """A form of a kernel, measured. Attributes: kernel, knobs, verdict ("taken", "equal", "slower", "rejected", "untried"), reason (why it was
    rejected), predicted, n (measurements), mean, variance, median, min, max (seconds), flop, bytes, tasks, packed, workspace,
    joule (of a run; 0: not measured)."""

    def __init__(self, facts):
        self.__dict__.update(facts)

    def __repr__(self):
        return f"rynd.TunedForm({self.kernel!r}, {self.verdict}, {seconds_text(self.median) if self.n else 'not measured'})"


class TunedProblem:
    """A problem that was tuned. Attributes: problem (text), constants, steps (of the model that have it), forms (list of TunedForm: the untuned
    choice first), taken (index of the form to take), ratio (of its time over the untuned one's, paired), network_ratio (of its steps' time in
    the model; 0: not compared), rounds, disturbed (rounds that did not count), disturbance (share of
    the race that other work took, 0 to 1), left_out, seconds, cold, elsewhere (another process tunes it)."""

    def __init__(self, facts):
        self.__dict__.update(facts)
        self.forms = [TunedForm(form) for form in facts["forms"]]

    @property
    def default(self):
        """The untuned choice."""
        return self.forms[0]

    @property
    def choice(self):
        """The form to take."""
        return self.forms[self.taken]

    def __repr__(self):
        return f"rynd.TunedProblem({self.problem!r}, {self.choice.kernel!r}, ratio={self.ratio:.3f})"


class TunedPlan:
    """A plan of a model that was timed as a whole. Attributes: knobs ("channels_last=80"; "" of the untuned one), predicted, n (runs), mean,
    variance, median, min, max (seconds), ratio (of its time over that of the best plan before it, paired), faster."""

    def __init__(self, facts):
        self.__dict__.update(facts)

    def __repr__(self):
        return f"rynd.TunedPlan({self.knobs!r}, ratio={self.ratio:.3f})"


class Tuning:
    """What tuning measured. `problems` is a list of TunedProblem; of a model `plans` is a list of TunedPlan, the untuned one the first, of
    `plans_listed` and that one, and `plan` the index of the one that is taken; `budget` and `used` are seconds; of a model `before` and `after` are
    the median of whole untuned runs and that times `ratio`, which is paired, and `runs` how many; `taken` says whether what was found is taken, and
    `ended` whether `progress` ended it. Prints as a table."""

    def __init__(self, info, problems, plans):
        self.__dict__.update(info)
        self.plans = [TunedPlan(plan) for plan in plans]
        self.problems = [TunedProblem(problem) for problem in problems]

    def __repr__(self):
        return f"rynd.Tuning({len(self.problems)} problems, ratio={self.ratio:.3f}, taken={self.taken})"

    def __str__(self):
        rows = [[seconds_text(p.default.median), seconds_text(p.default.median * p.ratio), f"{p.ratio:.3f}", len(p.forms), p.steps,
                 f"{p.choice.kernel} {p.choice.knobs}" if p.taken else "untuned", p.problem] for p in self.problems]
        return table(["before", "after", "ratio", "forms", "steps", "kernel", "problem"], rows)


def tune(problem, budget=0.0, seed=1, weights=None, constants=None, accuracy=None, device=None, threads=None, isa=None, machine=None, wisdom=None,
         frozen=None, keep=True, progress=None, energy=False):
    """Measures every form of every kernel that takes a problem, and returns a Tuning. What is made later takes the fastest.

        rynd.tune("conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1")

    budget: seconds; 0: as many as are worth it (0.1 and 400 runs).
    weights: "cold" (in memory when a run begins, the default) or "warm".
    constants: bit i: input i is constant; by default w and bias of convolutions and matrix products.
    wisdom: the file that what is measured goes to, as in rynd.load; frozen: nothing is measured then (UnsupportedError).
    keep: False keeps nothing.
    energy: True measures what a run takes of energy, too, where the machine has a meter: TunedForm.joule.
    progress: called with a dict of how far it is; returning something true ends it, and what was learned stays.

    Raises ArgumentError, FormatError (the text), UnsupportedError (no kernel takes it; frozen), ShapeError, OutOfMemoryError.
    """
    if constants is None:
        constants = 6 if problem.split(" ", 1)[0] in ("conv", "convt", "matmul") and "dir=bwd" not in problem else 0
    return Tuning(*_rynd.tune_problem(context(device, threads, isa, machine, wisdom, frozen), problem, accuracy_number(accuracy), constants, float(budget), seed,
                                      weights_number(weights), keep, energy, progress))
