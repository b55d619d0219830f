# SPDX-License-Identifier: Apache-2.0
"""Devices and their threads, shared by all models with the same options."""

import contextlib
import contextvars
import functools
import os

from . import _rynd
from .errors import ArgumentError, ArgumentTypeError

ACCURACIES = ("default", "strict", "near32", "tf32", "bf16", "int8")


def accuracy_number(word):
    """Returns the library's number of an accuracy class."""
    word = "default" if word is None else word
    if word not in ACCURACIES:
        raise ArgumentError(f"accuracy {word!r}: give one of {', '.join(ACCURACIES[1:])}")
    return ACCURACIES.index(word)


_unheard = contextvars.ContextVar("rynd_unheard", default=False)


@contextlib.contextmanager
def unheard():
    """Messages of this thread go nowhere, as those about a file that nobody has written."""
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def _log(level, message):
    import logging
    if _unheard.get():
        return
    logging.getLogger("rynd").log((logging.WARNING, logging.INFO, logging.DEBUG)[min(level, 2)], "%s", message)


@functools.lru_cache(maxsize=32)
def _kept(device, threads, isa, machine, wisdom, frozen):
    return _rynd.Context(device=device, threads=threads, isa=isa, machine=machine, wisdom=wisdom, frozen=frozen, log=_log)


def context(device=None, threads=None, isa=None, machine=None, wisdom=None, frozen=None):
    """The context for these options, made once."""
    threads = 0 if threads is None else threads
    if not isinstance(threads, int):
        raise ArgumentTypeError(f"threads is {threads!r}: give a whole number, at least 1")
    if threads < 0:
        raise ArgumentError(f"threads is {threads}: give at least 1")
    return _kept(device, threads, isa, machine, None if wisdom is None else os.fspath(wisdom), bool(frozen))


def devices():
    """The names of all devices, as `device=` takes them: ["cpu", "opencl:0"]."""
    return _rynd.devices()


def cards():
    """The cards whose machines are built in, as tuples: ("h100", "cuda", "NVIDIA H100 SXM5"). `machine=` takes the first, for plans and
    predictions, with the second as `device=`; the card need not be here."""
    return _rynd.cards()


def device_info(device=None, threads=None):
    """Describes a device as a dict: device, name, isa, threads, cores, machine (of its measured rates, or None),
    fingerprint (as records of wisdom name the machine), wisdom (their file, or None), frozen."""
    return context(device, threads).info()


def check_device(device=None, threads=None):
    """Runs every kernel of a device twice on problems with known answers, as `rynd devices --check` does. Takes seconds, or minutes
    where a driver compiles slowly.

    Returns a list of dicts: kernel, operator, finding ("right", "wrong", "unsteady", "failed" or "untried"), problems (that it was
    tried on), problem (the one that it failed, or "") and why. Models that are loaded from now on do without kernels that are wrong,
    unsteady or fail, and so do later processes: the findings are kept beside the machine's file."""
    found = context(device, threads).check()
    _kept.cache_clear()  # contexts that are made from now on read what was kept
    return found


def calibrate_device(device=None, threads=None, seconds=90, progress=None):
    """Times every family of kernels on a device and fits the predictions to it, as `rynd devices --calibrate` does. Takes at most
    `seconds`, and half a minute more where the machine's rates were not measured. Run nothing else meanwhile. On a device that
    compiles programs (OpenCL, CUDA) families take turns until the time is over, so more time times more problems.

    progress: called with (done, all) after each problem and network; an exception that it raises ends the calibration. So does
    Ctrl-C. Where it was ended, the next calibration goes on.

    Returns a dict: families (dicts: family, problems, times, factor, spread, error_before, error_after), energy (a dict: meter,
    problems, spread, error_before, error_after; spread 0: watts times time is kept; None: no meter), disturbance (share of
    the time that other work took) and file (where later processes find the result; None where the machine was too disturbed).
    Errors are means of |predicted / measured - 1| over problems that the fit did not see."""
    families, energy, disturbance, file = context(device, threads).calibrate(seconds, progress)
    _kept.cache_clear()  # contexts that are made from now on read what was kept
    return {"families": families, "energy": energy, "disturbance": disturbance, "file": file}


class Competition:
    """Watches how much of the machine other work takes, from its creation on (Linux; elsewhere always 0)."""

    def __init__(self):
        self._begin = _rynd.competition_begin()

    def since(self):
        """Returns the share of all processors' time that other processes and a virtual machine's host took, 0 to 1. The system counts
        in ticks of 10 ms, so watch for a tenth of a second at least."""
        return _rynd.competition_since(*self._begin)

    def disturbance(self, best, mean):
        """Returns how disturbed repeated runs were, 0 to 1, of which the best and the mean time are given: the larger of `since()` and of
        what the mean lost against the best."""
        return _rynd.disturbance_since(*self._begin, best, mean)
