# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import Model

_Path = str | os.PathLike[str]
_Labels = Sequence[str] | _Path | None
_Values = float | Sequence[float] | None

class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    score: float
    label: int
    name: str | None
    keypoints: list[tuple[float, float]]

class Class(NamedTuple):
    label: int
    score: float
    name: str | None

class Preparation(NamedTuple):
    fit: str = ...
    share: float = ...
    fill: float = ...
    bgr: bool = ...
    no_antialias: bool = ...
    scale: float = ...
    mean: tuple[float, float, float] = ...
    deviation: tuple[float, float, float] = ...

class Head(NamedTuple):
    name: str
    about: str
    classes: int
    labels: str | None
    preparation: Preparation
    score: float
    overlap: float

class Object(NamedTuple):
    left: float
    top: float
    width: float
    height: float
    label: int
    area: float = ...
    crowd: bool = ...

class ClassFigures(NamedTuple):
    label: int
    name: str | None
    count: int
    found: int | None
    recall: float | None
    precision: float | None
    iou: float | None
    ap: float | None
    ap50: float | None

class Speed(NamedTuple):
    pictures_per_second: float
    median: float
    quantile90: float

class Evaluation:
    task: str
    def __init__(self, task: str, classes: int = 0, range: float = 255) -> None: ...
    def add(self, found: Any, truth: Any, ignore: int = 255) -> None: ...
    @property
    def figures(self) -> dict[str, float]: ...
    @property
    def about(self) -> dict[str, str]: ...
    @property
    def classes(self) -> list[ClassFigures]: ...
    @property
    def confusion(self) -> Any: ...

class Evaluated:
    name: str
    pictures: int
    figures: dict[str, float | None]
    speed: Speed
    classes: list[ClassFigures]
    confusion: dict[tuple[int, int], int]
    agreement: float | None

def evaluate(model: Model | _Path, data: _Path, boxes: _Path | None = None, against: Model | _Path | None = None,
             **options: Any) -> Evaluated | tuple[Evaluated, Evaluated]: ...
def heads() -> list[Head]: ...
def head(model: Model | _Path, name: str | None = None) -> Head: ...
def labels(source: _Labels) -> list[str]: ...
def detect(model: Model | _Path, picture: Any, head: str | None = None, score: float = 0, overlap: float = 0, labels: _Labels = None,
           size: Sequence[int] = ..., fit: str | None = None, scale: float | None = None, mean: _Values = None, deviation: _Values = None,
           bgr: bool | None = None) -> list[Box]: ...
def segment(model: Model | _Path, picture: Any, output: int = 0, size: Sequence[int] | None = None, fit: str | None = None,
            scale: float | None = None, mean: _Values = None, deviation: _Values = None, bgr: bool | None = None) -> Any: ...
def classify(model: Model | _Path, picture: Any, top: int = 5, labels: _Labels = None, output: int = 0, size: Sequence[int] = ...,
             fit: str | None = None, scale: float | None = None, mean: _Values = None, deviation: _Values = None,
             bgr: bool | None = None) -> list[Class]: ...
def draw(picture: Any, found: Any, labels: _Labels = None, opacity: float = 0.5) -> Any: ...
