"""The column names of tables, which must be the same in fit and in later calls."""

from __future__ import annotations

from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from . import _data
from .errors import UsageError


def feature_names_of(X: Any) -> Optional[NDArray[Any]]:
    """Return the column names of a table, or of a list of tables, if all are strings."""
    if isinstance(X, (list, tuple)) and X:
        X = X[0]
    names = [name for name, _ in _data.columns_of(X)] if _data.is_table(X) else []
    return numpy.asarray(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def require_feature_names(X: Any, fitted: Optional[NDArray[Any]]) -> None:
    """Require the column names seen in fit, if both tables have names."""
    names = feature_names_of(X)
    if names is None or fitted is None or list(names) == list(fitted):
        return
    unseen = [name for name in names if name not in fitted]
    missing = [name for name in fitted if name not in names]
    lines = ["The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *(f"- {name}" for name in sorted(unseen)[:5])]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in sorted(missing)[:5])]
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise UsageError("\n".join(lines) + "\n")
