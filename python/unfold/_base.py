"""The base class of the estimators: parameters, training settings, labels, errors."""

from __future__ import annotations

import inspect
import operator
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Optional, TypeVar, Union

import numpy
from numpy.typing import NDArray

from . import _data
from ._core import Model
from ._metadata import MetadataRouting
from .errors import UsageError
from .training import train

Callback = Callable[[dict[str, Any]], object]
RandomState = Union[None, int, numpy.random.RandomState, numpy.random.Generator]
Labels = NDArray[Any]
Self = TypeVar("Self", bound="BaseEstimator")


class NotFittedError(UsageError, AttributeError):
    """Raised if an estimator is used before ``fit``. If scikit-learn is loaded, it is also a
    ``sklearn.exceptions.NotFittedError``."""


def raise_not_fitted(estimator: object) -> NoReturn:
    """Raise NotFittedError for an estimator."""
    message = f"this {type(estimator).__name__} is not fitted yet; call fit first"
    if "sklearn" not in sys.modules:
        raise NotFittedError(message)
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError

    raise type("NotFittedError", (NotFittedError, SklearnNotFittedError), {})(message)


class Parameters(MetadataRouting):
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

    #: "classifier", "density_estimator", ... for scikit-learn. Estimators of lists of labels have none: the splitters of
    #: scikit-learn would interpret the labels of a classifier, and fail.
    _kind: Optional[str] = None
    _requires_y = False

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        tags = Tags(estimator_type=self._kind, target_tags=TargetTags(required=self._requires_y))
        tags.input_tags = InputTags(two_d_array=True)
        if self._kind == "classifier":
            tags.classifier_tags = ClassifierTags()
        return self._more_tags_of(tags)

    def _more_tags_of(self, tags: Any) -> Any:
        return tags


#: The default optimizer of ``partial_fit``: the learning rate does not depend on the number of steps of a call.
_FURTHER_OPTIMIZER = "adam:rate=0.002,clip=1"


class BaseEstimator(Parameters):
    """Base class of the estimators that train an Unfold model.

    Parameters
    ----------
    model
        The SPEC of the model, as in ``unfold train --model``; None: the default of the command for the data.
    optimizer, steps, epochs, minutes, threads
        Settings of ``unfold.train``.
    random_state
        The seed of the initial parameters and of the order of the data; None stands for 1, so results are reproducible.
    options
        A dictionary of further settings of ``unfold.train``.
    verbose
        Whether to print progress to standard error.
    callback
        A function that is called with a dictionary for each training event. An exception in it ends the training.
    warm_start
        Whether a further call of ``fit`` starts from the parameters of the fitted model, with its alphabets and scales,
        instead of random ones. The model must be one that is trained by gradients.

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
                 callback: Callback | None = None, warm_start: bool = False) -> None:
        self.model, self.optimizer, self.steps, self.epochs, self.minutes = model, optimizer, steps, epochs, minutes
        self.random_state, self.threads, self.options = random_state, threads, options
        self.verbose, self.callback, self.warm_start = verbose, callback, warm_start

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
                raise UsageError(f"{type(self).__name__}: options has {name}, which fit sets itself; omit {name}")
        given.update(options)
        return {name: value for name, value in given.items() if value is not None}

    @property
    def _continues(self) -> bool:
        """Whether ``fit`` starts from the fitted model."""
        return bool(self.warm_start) and self.__sklearn_is_fitted__()

    def _trained(self, data: _data.Description, **settings: Any) -> dict[str, Any]:
        """Train a model and return the attributes of the fitted estimator."""
        if not self._continues:
            return self._run(data, {**settings, **self._settings()})
        return self._run_by_gradients("warm_start", data, {**settings, **self._from_fitted(), **self._settings()})

    def _trained_further(self, data: _data.Description, **settings: Any) -> dict[str, Any]:
        """Train for one pass over data, from the fitted model if there is one, without validation."""
        passes = self._passes if self.__sklearn_is_fitted__() else 0
        start = self._from_fitted() if passes else {}
        given = {"optimizer": _FURTHER_OPTIMIZER, **settings, **start, **self._settings()}
        for name in ("steps", "minutes", "valid", "test", "early_stop", "validate_every"):
            given.pop(name, None)
        given.update(epochs=1, split="100/0/0", seed=given["seed"] + passes)
        return {**self._run_by_gradients("partial_fit", data, given), "_passes": passes + 1}

    _passes = 0  #: calls of partial_fit since the last fit

    def _from_fitted(self) -> dict[str, Any]:
        return {"start_from": self.model_bytes_, "model": self.model_.spec}

    def _run_by_gradients(self, who: str, data: _data.Description, settings: dict[str, Any]) -> dict[str, Any]:
        try:
            attributes = self._run(data, settings)
        except UsageError as error:
            if "gradients" not in str(error):
                raise
        else:
            if attributes["figures_"].get("ended_by") != "fitted":
                return attributes
        raise UsageError(f"{who} requires a model that is trained by gradients, such as gru:32; "
                         f"{settings.get('model', 'the model')} is fitted in one pass")

    def _run(self, data: _data.Description, settings: dict[str, Any]) -> dict[str, Any]:
        progress = self.callback if self.callback is not None else bool(self.verbose)
        run = train(data, out=None, progress=progress, **settings)
        return {"model_bytes_": run.model_bytes, "figures_": run.figures, "_passes": 1}

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
    """Return an integer seed, drawn from ``random_state`` if it is a NumPy generator.

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
    """Return a NumPy generator with the seed, or the given generator."""
    if isinstance(random_state, numpy.random.RandomState):
        return random_state
    return numpy.random.RandomState(seed_of(random_state))


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python object."""
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
        raise UsageError(f"{who}: labels must be all strings or all non-strings, but the label of sequence {a} is "
                         f"{labels[a]!r} and the label of {b} is {labels[b]!r}")
    if any(isinstance(label, float) and label % 1 for label in labels):
        raise UsageError(f"{who}: Unknown label type: continuous. Labels are classes; a Forecaster predicts numbers")
    return labels


def weights_of(sample_weight: Any, count: int, who: str, example: str = "sequence") -> NDArray[numpy.float64]:
    """Return one weight, at least 0, for each of ``count`` examples; None means 1 for all.

    Parameters
    ----------
    example
        What an example is called in messages.

    Examples
    --------
    >>> weights_of(None, 2, "fit"), weights_of([1, 0], 2, "fit")
    (array([1., 1.]), array([1., 0.]))
    """
    if sample_weight is None:
        return numpy.ones(count)
    if isinstance(sample_weight, (int, float, numpy.number)):
        sample_weight = numpy.full(count, sample_weight)
    weights = _data.as_numbers(sample_weight, f"{who}: sample_weight").astype(float)
    if weights.shape != (count,):
        raise UsageError(f"{who}: sample_weight must have shape ({count},), one weight per {example}, not {weights.shape}")
    if not numpy.isfinite(weights).all() or bool((weights < 0).any()):
        i = int(numpy.argmax(~numpy.isfinite(weights) | (weights < 0)))
        raise UsageError(f"{who}: sample_weight: the weight of {example} {i} is {weights[i]}; weights must be finite "
                         "numbers of at least 0")
    if not weights.any():
        raise UsageError(f"{who}: sample_weight: all weights are zero, so there is nothing to train on")
    return weights


def class_weights_of(class_weight: Any, labels: list[Any], classes: Labels, who: str) -> NDArray[numpy.float64]:
    """Return the weight of each label by its class.

    Parameters
    ----------
    class_weight
        None; a dictionary of classes and weights, 1 for classes that are not in it; or "balanced": the number of labels
        divided by the number of classes and by the number of labels of the class.

    Examples
    --------
    >>> class_weights_of("balanced", ["a", "b", "b", "b"], numpy.array(["a", "b"]), "fit").round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    if class_weight is None:
        return numpy.ones(len(labels))
    known = classes.tolist()
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise UsageError(f'{who}: class_weight must be None, "balanced" or a dictionary, not {class_weight!r}')
        counts = Counter(labels)
        return numpy.array([len(labels) / (len(counts) * counts[label]) for label in labels])
    if not isinstance(class_weight, Mapping):
        raise UsageError(f'{who}: class_weight must be None, "balanced" or a dictionary, not '
                         f"{type(class_weight).__name__}")
    weights = {plain(label): float(weight) for label, weight in class_weight.items()}
    for label, weight in weights.items():
        if label not in known:
            raise UsageError(f"{who}: class_weight: {label!r} is not a class of y; the classes are "
                             f"{', '.join(map(repr, known[:8]))}{', ...' if len(known) > 8 else ''}")
        if not (weight >= 0 and weight < numpy.inf):
            raise UsageError(f"{who}: class_weight: the weight of {label!r} is {weight}; it must be at least 0")
    return numpy.array([weights.get(label, 1.0) for label in labels])


def classes_of(labels: Iterable[Any], given: Any) -> tuple[Labels, dict[Any, int]]:
    """Return the sorted classes, with the type of the given labels, and their numbers."""
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
