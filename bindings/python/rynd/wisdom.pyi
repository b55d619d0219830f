# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, NamedTuple

class Record(NamedTuple):
    machine: str
    problem: str
    constants: int
    threads: int
    kernel: str
    form: str
    source: str
    rejected: str | None
    samples: int
    mean: float
    variance: float
    median: float
    min: float
    max: float
    predicted: float
    time: int
    cold: bool
    here: bool
    current: bool

class Taken(NamedTuple):
    read: int
    taken: int
    foreign: int

class Drift(NamedTuple):
    record: Record
    samples: int
    median: float
    min: float
    max: float
    ratio: float

def show(machine: str | None = None, kernel: str | None = None, problem: str | None = None, **options: Any) -> list[Record]: ...
def export(path: str | os.PathLike[str], machine: str | None = None, kernel: str | None = None, problem: str | None = None,
           **options: Any) -> int: ...
def import_(path: str | os.PathLike[str], **options: Any) -> Taken: ...
def merge(path: str | os.PathLike[str], **options: Any) -> Taken: ...
def clear(machine: str | None = None, kernel: str | None = None, problem: str | None = None, **options: Any) -> int: ...
def check(machine: str | None = None, kernel: str | None = None, problem: str | None = None, count: int = 20, seconds: float = 0.1,
          seed: int = 0, **options: Any) -> list[Drift]: ...
