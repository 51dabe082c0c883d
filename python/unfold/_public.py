"""The public modules of names that are defined in private files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def set_module(name: str) -> Callable[[T], T]:
    """Return a decorator that sets the module from which a class or function is imported, for example by pickle."""

    def decorate(defined: T) -> T:
        defined.__module__ = name
        return defined

    return decorate
