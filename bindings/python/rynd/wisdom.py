# SPDX-License-Identifier: Apache-2.0
"""What was measured, kept across runs, processes and machines (docs/tuning.md).

    rynd.wisdom.show(kernel="igemm")            # records, sorted
    rynd.wisdom.export("wisdom.jsonl")          # on the machine that was tuned
    rynd.wisdom.import_("wisdom.jsonl")         # on another

machine, kernel, problem: a text that must be found there, or match the whole where it has a *, ? or [.
Options of all: device, threads, isa, machine, wisdom (the file, or "off"), as for rynd.load.

Raise ArgumentError (there is no wisdom, or it is frozen), FileError, MissingFileError, FormatError (naming the file and the line), OutOfMemoryError.
"""

import json
import os
from collections import namedtuple

from . import _rynd
from .context import context
from .errors import ArgumentError, MissingFileError

Record = namedtuple("Record", "machine problem constants threads kernel form source rejected samples mean variance median min max predicted time cold here current")
Record.__doc__ = """How long a kernel in one form took for a problem, in seconds. `here`: it is of this machine; `current`: this build has the kernel,
compiled from the same source. `rejected`: why it is never to be taken, or None. `cold`: weights came from memory in each run, not from the caches."""
Taken = namedtuple("Taken", "read taken foreign")
Taken.__doc__ = """Numbers of records: read from a file, stored (new, or better than the old ones), of other machines."""
Drift = namedtuple("Drift", "record samples median min max ratio")
Drift.__doc__ = """A record, and its measurement now: `ratio` is the median now over the median then."""


def _file(path):
    if not os.path.exists(path):
        raise MissingFileError(f"{os.fspath(path)}: there is no such file")
    return path


def _record(line, here, current):
    facts = {"cold": 0} | json.loads(line)
    return Record(**facts | {"cold": bool(facts["cold"])}, here=here, current=current)


def show(machine=None, kernel=None, problem=None, **options):
    """The records, as a list of Record."""
    return [_record(*item) for item in _rynd.wisdom_show(context(**options), machine, kernel, problem)]


def export(path, machine=None, kernel=None, problem=None, **options):
    """Writes records to a file of JSON Lines, whole or not at all: the same records are the same bytes. Returns how many."""
    return _rynd.wisdom_export(context(**options), path, machine, kernel, problem)


def import_(path, **options):
    """Takes in the records of a file that was exported, all or none. Of two of the same the one of more samples is kept, then that of less variance."""
    return Taken(*_rynd.wisdom_import(context(**options), _file(path)))


def merge(path, **options):
    """The same of another wisdom's file, which is only read."""
    return Taken(*_rynd.wisdom_merge(context(**options), _file(path)))


def clear(machine=None, kernel=None, problem=None, **options):
    """Forgets records, of the file, too. Returns how many."""
    return _rynd.wisdom_clear(context(**options), machine, kernel, problem)


def check(machine=None, kernel=None, problem=None, count=20, seconds=0.1, seed=0, **options):
    """Measures a sample of the records again that hold here, as a list of Drift.

    count: records at most. seconds: for each, at least. seed: another takes another sample.
    """
    if count < 1 or seed < 0:
        raise ArgumentError(f"count is {count} and seed {seed}: give at least 1 and 0")
    items = _rynd.wisdom_check(context(**options), machine, kernel, problem, count, seconds, seed)
    return [Drift(_record(*item[:3]), *item[3:]) for item in items]
