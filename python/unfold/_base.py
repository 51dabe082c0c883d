"""The base class of the estimators: parameters, settings of training, labels, errors."""

from __future__ import annotations

import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Optional, TypeVar, Union

import numpy
from numpy.typing import NDArray

from . import _data
from ._core import Model
from .errors import UsageError
from .training import train

Callback = Callable[[dict[str, Any]], object]
RandomState = Union[None, int, numpy.random.RandomState, numpy.random.Generator]
Labels = NDArray[Any]
Self = TypeVar("Self", bound="BaseEstimator")


class NotFittedError(UsageError, AttributeError):
    """Raised if an estimator is used before ``fit``. Also a ``sklearn.exceptions.NotFittedError`` if that is loaded."""


def raise_not_fitted(estimator: object) -> NoReturn:
    """Raise NotFittedError for an estimator."""
    message = f"this {type(estimator).__name__} is not fitted yet; call fit first"
    if "sklearn" not in sys.modules:
        raise NotFittedError(message)
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError

    raise type("NotFittedError", (NotFittedError, SklearnNotFittedError), {})(message)


class Parameters:
    """Parameters of the constructor, as scikit-learn expects them."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as a dictionary."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Any, **params: Any) -> Any:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._names():
                raise UsageError(f"{type(self).__name__} has no parameter {name}; its parameters are "
                                 f"{', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__).parameters
        shown = []
        for name in self._names():
            value, default = getattr(self, name), signature[name].default
            if value is not default and repr(value) != repr(default):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise_not_fitted(self)

    #: "classifier", "density_estimator", ... for scikit-learn
    _kind: Optional[str] = None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        tags = Tags(estimator_type=self._kind, target_tags=TargetTags(required=self._kind == "classifier"))
        tags.input_tags = InputTags(two_d_array=True)
        if self._kind == "classifier":
            tags.classifier_tags = ClassifierTags()
        return self._more_tags_of(tags)

    def _more_tags_of(self, tags: Any) -> Any:
        return tags


class BaseEstimator(Parameters):
    """Base class of the estimators that train a model of Unfold.

    Parameters
    ----------
    model
        The SPEC of the model, as in ``unfold train --model``; None: the default of the command for the data.
    optimizer, steps, epochs, minutes, threads
        Settings of ``unfold.train``.
    random_state
        The seed of the initial parameters and of the order of the data; None is 1, so that results are reproducible.
    options
        A dictionary of further settings of ``unfold.train``.
    verbose
        Whether to print progress to standard error.
    callback
        A function that is called with a dictionary for each event of the training. An exception stops it.

    Attributes
    ----------
    model_bytes_
        The contents of the model file. Restoring them executes no code.
    figures_
        The results of training, as ``unfold train --json`` prints them.
    """

    model_bytes_: bytes
    figures_: dict[str, Any]

    def __init__(self, model: str | None = None, *, optimizer: str | None = None, steps: int | None = None,
                 epochs: float | None = None, minutes: float | None = None, random_state: RandomState = None,
                 threads: int = 0, options: Mapping[str, Any] | None = None, verbose: bool = False,
                 callback: Callback | None = None) -> None:
        self.model, self.optimizer, self.steps, self.epochs, self.minutes = model, optimizer, steps, epochs, minutes
        self.random_state, self.threads, self.options = random_state, threads, options
        self.verbose, self.callback = verbose, callback

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_bytes_")

    @property
    def model_(self) -> Model:
        """The fitted model."""
        self._require_fitted()
        return Model.from_bytes(self.model_bytes_)

    def _settings(self) -> dict[str, Any]:
        given: dict[str, Any] = {"model": self.model, "steps": self.steps, "minutes": self.minutes,
                                 "epochs": self.epochs, "threads": self.threads, "optimizer": self.optimizer,
                                 "seed": seed_of(self.random_state)}
        options = self.options or {}
        if not isinstance(options, Mapping):
            raise UsageError(f"{type(self).__name__}: options must be a dictionary, not {type(options).__name__}")
        for name in ("data", "text", "out", "resume", "overwrite", "progress"):
            if name in options:
                raise UsageError(f"{type(self).__name__}: options has {name}, which fit sets itself; leave it out")
        given.update(options)
        return {name: value for name, value in given.items() if value is not None}

    def _trained(self, data: _data.Description, **settings: Any) -> dict[str, Any]:
        """Train a model and return the attributes of the fitted estimator."""
        progress = self.callback if self.callback is not None else bool(self.verbose)
        run = train(data, out=None, progress=progress, **{**settings, **self._settings()})
        return {"model_bytes_": run.model_bytes, "figures_": run.figures}

    def _set(self: Self, attributes: dict[str, Any]) -> Self:
        """Store the attributes of a successful fit; earlier ones are removed."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        vars(self).update(attributes)
        return self

    def _columns(self, data: _data.Description, probabilities: bool = True) -> dict[str, tuple[bool, Any]]:
        """Return the columns of predictions on data."""
        found: dict[str, tuple[bool, Any]] = self.model_._predict_columns(data, probabilities, self.threads or 0)
        return found


def seed_of(random_state: RandomState, default: int = 1) -> int:
    """Return an integer seed, drawn from ``random_state`` if that is a generator of NumPy.

    Examples
    --------
    >>> seed_of(None), seed_of(7)
    (1, 7)
    """
    if random_state is None:
        return default
    if isinstance(random_state, numpy.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, numpy.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return operator.index(random_state)


def generator_of(random_state: RandomState) -> numpy.random.RandomState:
    """Return a generator of NumPy with the seed, or the given one."""
    if isinstance(random_state, numpy.random.RandomState):
        return random_state
    return numpy.random.RandomState(seed_of(random_state))


def plain(value: Any) -> Any:
    """Return a scalar of NumPy as a Python object."""
    return value.item() if isinstance(value, numpy.generic) else value


def as_list(values: Any, who: str, what: str) -> list[Any]:
    """Return the values of an iterable as a list."""
    if not hasattr(values, "__iter__") and hasattr(values, "__array__"):
        values = numpy.asarray(values)
    if values is None or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or (
            isinstance(values, numpy.ndarray) and values.ndim == 0):
        given = "one text" if isinstance(values, (str, bytes)) else type(plain(values)).__name__
        raise UsageError(f"{who} expects a list of {what}, not {given}")
    return list(values)


def _conversion_warning() -> type[Warning]:
    if "sklearn" not in sys.modules:
        return UserWarning
    from sklearn.exceptions import DataConversionWarning

    kind: type[Warning] = DataConversionWarning
    return kind


def labels_of(y: Any, who: str) -> list[Any]:
    """Return labels as a list. They are scalars, not missing, and either all strings or all non-strings."""
    if y is None:
        raise UsageError(f"{who} expects a list of labels, not NoneType; it requires y to be passed, but the target y "
                         "is None")
    if not hasattr(y, "__iter__") and hasattr(y, "__array__"):
        y = numpy.asarray(y)
    if isinstance(y, numpy.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                      "(n_samples,), for example using ravel().", _conversion_warning(), stacklevel=3)
        y = y.ravel()
    labels = [plain(label) for label in as_list(y, who, "labels")]
    for i, label in enumerate(labels):
        kind = type(label).__name__
        if label is None or kind in ("NAType", "NaTType") or (isinstance(label, float) and label != label):
            raise UsageError(f"{who}: sequence {i}: the label is missing ({label}); leave that sequence out. Input y "
                             "contains NaN.")
        if isinstance(label, (list, tuple, dict, set, numpy.ndarray)):
            raise UsageError(f"{who}: sequence {i}: the label must be a scalar, not {kind}")
        if isinstance(label, float) and abs(label) == numpy.inf:
            raise UsageError(f"{who}: sequence {i}: the label is infinity")
    texts = [isinstance(label, str) for label in labels]
    if any(texts) and not all(texts):
        a, b = texts.index(True), texts.index(False)
        raise UsageError(f"{who}: labels must be all strings or all non-strings, but that of sequence {a} is "
                         f"{labels[a]!r} and that of {b} {labels[b]!r}")
    if any(isinstance(label, float) and label % 1 for label in labels):
        raise UsageError(f"{who}: Unknown label type: continuous. Labels are classes; a Forecaster predicts numbers")
    return labels


def classes_of(labels: Iterable[Any], given: Any) -> tuple[Labels, dict[Any, int]]:
    """Return the sorted classes, of the type of the given labels, and their numbers."""
    found = list(labels)
    kind = given.dtype if isinstance(given, numpy.ndarray) and given.dtype != object else None
    array = numpy.asarray(found, dtype=kind if kind is not None and kind.kind in "biufUS" else None)
    if array.dtype.kind in "U" and kind is None and isinstance(given, numpy.ndarray):
        array = array.astype(object)
    classes = numpy.unique(array)
    return classes, {label: i for i, label in enumerate(classes.tolist())}


def require_equal_lengths(x: Any, y: Any, who: str) -> None:
    if len(x) != len(y):
        raise UsageError(f"{who}: {len(x)} sequences, but {len(y)} targets")
