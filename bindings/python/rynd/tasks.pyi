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
