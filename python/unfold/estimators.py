"""Scikit-learn-compatible estimators: fit, predict, predict_proba, score, get_params, set_params and pickling.

They do not require scikit-learn. If it is installed, ``clone``, grid search and pipelines work. Parameters are those of
``unfold.train``. The fitted model is stored as the bytes of a model file, which are part of a pickle; restoring them
executes no code from the model.
"""

import inspect
import json
import operator
import os
import tempfile

import numpy

from ._core import Model
from .errors import UsageError
from .training import train


class NotFittedError(UsageError, AttributeError):
    """Raised if an estimator is used before ``fit``."""


class _Estimator:
    """Base class of the estimators. ``options`` is a dictionary of further settings of ``unfold.train``."""

    def __init__(self, model="bilstm:64", *, optimizer=None, steps=None, epochs=None, minutes=None, seed=1, threads=0,
                 options=None, progress=None):
        self.model, self.optimizer, self.steps, self.epochs, self.minutes = model, optimizer, steps, epochs, minutes
        self.seed, self.threads, self.options, self.progress = seed, threads, options, progress

    @classmethod
    def _names(cls):
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep=True):
        """Return the parameters as a dictionary."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params):
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._names():
                raise UsageError(f"{type(self).__name__} has no parameter {name}; its parameters are "
                                 f"{', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        signature = inspect.signature(type(self).__init__).parameters
        said = [f"{n}={getattr(self, n)!r}" for n in self._names() if getattr(self, n) != signature[n].default]
        return f"{type(self).__name__}({', '.join(said)})"

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_bytes_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        tags = Tags(estimator_type=self._kind, target_tags=TargetTags(required=self._kind == "classifier"))
        tags.input_tags = InputTags(one_d_array=True, two_d_array=False, string=True)
        if self._kind == "classifier":
            tags.classifier_tags = ClassifierTags()
        return tags

    _kind = None

    def _settings(self):
        given = {"model": self.model, "steps": self.steps, "minutes": self.minutes, "epochs": self.epochs}
        given.update({"seed": self.seed, "threads": self.threads, "optimizer": self.optimizer})
        options = self.options or {}
        if not isinstance(options, dict):
            raise UsageError(f"{type(self).__name__}: options must be a dictionary, not {type(options).__name__}")
        for name in ("data", "out", "resume", "overwrite", "progress"):
            if name in options:
                raise UsageError(f"{type(self).__name__}: options has {name}, which fit sets itself; leave it out")
        given.update(options)
        return {name: value for name, value in given.items() if value is not None}

    def _train(self, files, **settings):
        """Train on the files {name: contents}; the first one is the data."""
        with tempfile.TemporaryDirectory(prefix="unfold-") as folder:
            paths = {}
            for name, text in files.items():
                paths[name] = os.path.join(folder, name)
                with open(paths[name], "wb") as file:
                    file.write(text)
            given = {**settings, **self._settings()}
            run = train(list(paths.values()), out=os.path.join(folder, "run"), progress=self.progress, **given)
            with open(os.path.join(run.path, "model.safetensors"), "rb") as file:
                self.model_bytes_ = file.read()
            self.figures_ = run.figures
        return self

    def _ask(self, data, ask):
        """Return ``ask(model, path)``, where ``path`` is a temporary file with the contents ``data``."""
        if not hasattr(self, "model_bytes_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        with tempfile.TemporaryDirectory(prefix="unfold-") as folder:
            path = os.path.join(folder, "data")
            with open(path, "wb") as file:
                file.write(data)
            return ask(Model.from_bytes(self.model_bytes_), path)

    def _predict(self, lines, **options):
        return self._ask(lines, lambda model, path: model.predict([path], threads=self.threads or 0, **options))


def _json_lines(examples):
    return "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in examples).encode()


def _plain(value):
    return value.item() if isinstance(value, numpy.generic) else value


def _value(value, where, what):
    """Return a number or a decoded text. Raise UsageError for other types and for missing values."""
    value = _plain(value)
    if isinstance(value, bytes):
        return _decoded(value, where)
    if value is None or (isinstance(value, float) and value != value):
        raise UsageError(f"{where} {what} is missing ({value}); leave that sequence out")
    if not isinstance(value, (str, bool, int, float)):
        raise UsageError(f"{where} {what} must be a string or a number, not {type(value).__name__}")
    return value


def _decoded(text, where):
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} bytes are not valid UTF-8: {error}") from None


def _list(values, who, what):
    """Return the values of an iterable as a list."""
    if values is None or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        given = "one text" if isinstance(values, (str, bytes)) else type(_plain(values)).__name__
        raise UsageError(f"{who} expects a list of {what}, not {given}")
    return list(values)


def _entries(sequences, who):
    """Return sequences as lists of strings; a string is split into words."""
    result = []
    for i, sequence in enumerate(_list(sequences, who, "sequences")):
        where = f"{who}: sequence {i}:"
        if isinstance(sequence, bytes):
            sequence = _decoded(sequence, where)
        if isinstance(sequence, str):
            words = sequence.split()
        else:
            words = [str(_value(entry, where, "an entry")) for entry in _list(sequence, where, "entries")]
        if not words:
            raise UsageError(f"{who}: sequence {i} is empty")
        result.append(words)
    if not result:
        raise UsageError(f"{who}: no sequences")
    return result


def _is_series(sequence):
    """Return whether a sequence is an array of floating-point numbers, one or a vector of them per position."""
    return isinstance(sequence, numpy.ndarray) and sequence.dtype.kind == "f" and sequence.ndim in (1, 2)


def _series(sequences, who):
    """Return arrays of floating-point numbers as lists of numbers; None if the sequences are of another kind."""
    if not isinstance(sequences, (list, tuple, numpy.ndarray)) or len(sequences) == 0 or not _is_series(sequences[0]):
        return None
    result = []
    for i, sequence in enumerate(sequences):
        if not _is_series(sequence) or sequence.ndim != sequences[0].ndim:
            raise UsageError(f"{who}: sequence {i} is not an array of floating-point numbers like the first one")
        if sequence.size == 0:
            raise UsageError(f"{who}: sequence {i} is empty")
        if not numpy.isfinite(sequence).all():
            raise UsageError(f"{who}: sequence {i} contains a number that is missing or infinite; leave that sequence out")
        result.append(sequence.tolist())
    return result


def _labels(y, who):
    """Return one label per sequence. Labels are scalars, not missing, and either all strings or all non-strings."""
    labels = [_plain(label) for label in _list(y, who, "labels")]
    for i, label in enumerate(labels):
        kind = type(label).__name__
        if label is None or kind in ("NAType", "NaTType") or (isinstance(label, float) and label != label):
            raise UsageError(f"{who}: sequence {i}: the label is missing ({label}); leave that sequence out")
        if isinstance(label, (list, tuple, dict, set, numpy.ndarray)):
            raise UsageError(f"{who}: sequence {i}: the label must be a scalar, not {kind}")
    texts = [isinstance(label, str) for label in labels]
    if any(texts) and not all(texts):
        a, b = texts.index(True), texts.index(False)
        raise UsageError(f"{who}: labels must be all strings or all non-strings, but that of sequence {a} is "
                         f"{labels[a]!r} and that of {b} {labels[b]!r}")
    return labels


def _tags(y, words, who):
    """Return one label per entry of each sequence."""
    every = _list(y, who, "lists of labels")
    _same_length(words, every, who)
    result = []
    for i, tags in enumerate(every):
        where = f"{who}: sequence {i}:"
        result.append([str(_value(tag, where, "a label")) for tag in _list(tags, where, "labels")])
        if len(result[i]) != len(words[i]):
            raise UsageError(f"{who}: sequence {i} has {len(words[i])} entries, but {len(result[i])} labels")
    return result


def _texts(X, who):
    """Return a list of texts; a single text becomes a list of one."""
    texts = [X] if isinstance(X, (str, bytes)) else _list(X, who, "texts")
    for i, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise UsageError(f"{who}: text {i} must be a str or bytes, not {type(text).__name__}")
    if not texts:
        raise UsageError(f"{who}: no texts")
    return texts


def _same_length(x, y, who):
    if len(x) != len(y):
        raise UsageError(f"{who}: {len(x)} sequences, but {len(y)} targets")


def _numbers(given, who):
    """Return an array of floats. Raise UsageError for types that cannot be converted without loss."""
    if numpy.ma.isMaskedArray(given):
        raise UsageError(f"{who}: masked arrays are not supported; pass .filled(numpy.nan), or remove the masked rows")
    try:
        array = numpy.asarray(given)
    except ValueError as error:
        raise UsageError(f"{who}: {error}") from None
    if array.dtype.kind == "c":
        raise UsageError(f"{who}: complex numbers are not supported; pass the real and imaginary parts as two columns")
    if array.dtype.kind in "mM":
        raise UsageError(f"{who}: dates and times are not supported; pass numbers")
    try:
        return array.astype(float)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{who}: not numeric: {error}") from None


def _seed(random_state, otherwise):
    """Return an integer seed, drawn from ``random_state`` if that is a NumPy generator."""
    if random_state is None:
        return otherwise
    if isinstance(random_state, numpy.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, numpy.random.Generator):
        return int(random_state.integers(2**31))
    return operator.index(random_state)


class SequenceClassifier(_Estimator):
    """Predict one label per sequence. X: lists of strings, texts that are split into words, or arrays of floating-point
    numbers of shape (positions,) or (positions, channels); y: labels."""

    _kind = "classifier"

    def fit(self, X, y):
        """Train on sequences and their labels. For texts, a tenth of them is used for validation, to select the best model.
        For series of numbers without settings, the model is selected by cross-validation."""
        words, labels = self._sequences(X, "fit"), _labels(y, "fit")
        _same_length(words, labels, "fit")
        self.classes_ = numpy.unique(numpy.asarray(labels))
        if len(self.classes_) < 2:
            raise UsageError("fit: labels must have at least two classes")
        number = {label: str(i) for i, label in enumerate(self.classes_.tolist())}
        lines = _json_lines({"entry": w, "label": number[v]} for w, v in zip(words, labels))
        return self._train({"data.jsonl": lines}, format="jsonl", read="entry", predict="label@end")

    @staticmethod
    def _sequences(X, who):
        series = _series(X, who)
        return _entries(X, who) if series is None else series

    def predict_proba(self, X):
        """Return probabilities [sequences x classes], in the order of ``classes_``."""
        found = self._predict(_json_lines({"entry": w} for w in self._sequences(X, "predict")), probabilities=True)
        return numpy.array([[one.get(f"label.{i}", 0.0) for i in range(len(self.classes_))] for one in found])

    def predict(self, X):
        """Return the most probable labels."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def score(self, X, y):
        """Return the accuracy."""
        found, labels = self.predict(X), _labels(y, "score")
        _same_length(found, labels, "score")
        return float(numpy.mean(found == numpy.asarray(labels)))


class SequenceTagger(_Estimator):
    """Predict one label per entry of each sequence. X: lists of strings; y: lists of labels of the same lengths."""

    _kind = "classifier"

    def fit(self, X, y):
        """Train on sequences and their labels. A tenth of them is used for validation, to select the best model."""
        words = _entries(X, "fit")
        labels = _tags(y, words, "fit")
        self.classes_ = numpy.unique([v for one in labels for v in one])
        lines = _json_lines({"entry": w, "tag": t} for w, t in zip(words, labels))
        return self._train({"data.jsonl": lines}, format="jsonl", read="entry", predict="tag")

    def predict(self, X):
        """Return the most probable labels, as one list per sequence."""
        return [one["tag.best"] for one in self._predict(_json_lines({"entry": w} for w in _entries(X, "predict")))]

    def predict_proba(self, X):
        """Return probabilities, as one array [entries x classes] per sequence."""
        words = _entries(X, "predict")
        found = self._predict(_json_lines({"entry": w} for w in words), probabilities=True)
        # A label that is missing from the training part has no column, because it is never predicted.
        return [numpy.array([one.get(f"tag.{c}", numpy.zeros(len(w))) for c in self.classes_]).T
                for w, one in zip(words, found)]

    def score(self, X, y):
        """Return the accuracy over all entries."""
        found = self.predict(X)
        pairs = [(a, b) for one, tags in zip(found, _tags(y, found, "score")) for a, b in zip(one, tags)]
        return sum(a == b for a, b in pairs) / len(pairs)


class Forecaster(_Estimator):
    """Forecast the next values of a series. y: numbers, [T] or [T x n]."""

    _kind = "regressor"

    def __init__(self, model="lstm:32", *, optimizer=None, steps=None, epochs=None, minutes=None, seed=1, threads=0,
                 options=None, progress=None):
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes, seed=seed,
                         threads=threads, options=options, progress=progress)

    def fit(self, y):
        """Train on the whole series, without validation; the final model is kept."""
        self.series_ = self._series(y)
        return self._train({"data.jsonl": self._line(self.series_)}, format="jsonl", read="value", predict="value",
                           ahead=1, split="100/0/0")

    def predict(self, horizon, y=None, samples=200):
        """Return the mean forecast of the next ``horizon`` values after the series ``y``; default: the fitted series.
        """
        found = self._ahead(horizon, y, samples)
        return self._columns(found, "mean")

    def predict_interval(self, horizon, y=None, samples=200):
        """Return the 10th and the 90th percentile of the forecast."""
        found = self._ahead(horizon, y, samples)
        return self._columns(found, "q10"), self._columns(found, "q90")

    def _ahead(self, horizon, y, samples):
        if not hasattr(self, "series_"):
            raise NotFittedError("this Forecaster is not fitted yet; call fit first")
        horizon = operator.index(horizon)
        if horizon < 1:
            raise UsageError(f"horizon {horizon}: must be at least 1")
        series = self.series_ if y is None else self._series(y)
        return self._predict(self._line(series), ahead=horizon, samples=samples, seed=self.seed)[0]

    def _columns(self, found, what):
        if f"value.{what}" in found:
            return numpy.array(found[f"value.{what}"])
        columns = []
        while f"value.{what}.{len(columns) + 1}" in found:
            columns.append(found[f"value.{what}.{len(columns) + 1}"])
        return numpy.array(columns).T

    @staticmethod
    def _series(y):
        series = _numbers(y, "a series")
        if series.ndim not in (1, 2) or len(series) < 2:
            raise UsageError(f"a series must have shape [T] or [T x n] with T >= 2, not {series.shape}")
        if not numpy.isfinite(series).all():
            raise UsageError("the series contains values that are not finite")
        return series

    @staticmethod
    def _line(series):
        return _json_lines([{"value": series.tolist()}])


class DensityEstimator(_Estimator):
    """Estimate the density of rows of numbers. X: [rows x columns], binary or real.

    ``model`` is any model of ``docs/density.md``. The default is ``nade:100`` for binary data and ``rnade:50``
    otherwise.
    """

    _kind = "density_estimator"

    def __init__(self, model=None, *, optimizer=None, steps=None, epochs=None, minutes=None, seed=1, threads=0,
                 options=None, progress=None):
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes, seed=seed,
                         threads=threads, options=options, progress=progress)

    def fit(self, X, y=None):
        """Train on rows. Part of them is used for validation, to select the best model."""
        rows = self._rows(X, "fit")
        self.n_features_in_ = rows.shape[1]
        binary = bool(numpy.isin(rows, (0, 1)).all())
        settings = {} if self.model else {"model": "nade:100" if binary else "rnade:50"}
        return self._train({"data.csv": self._table(rows)}, format="table", **settings)

    def score_samples(self, X):
        """Return the log-density of each row in nats; for binary data, the log-probability."""
        table = self._table(self._rows(X, "score_samples", self._columns_fitted()))
        rows = self._ask(table, lambda model, path: model.score_examples(path, threads=self.threads or 0))
        return -numpy.log(2) * numpy.array([row["bits"] for row in rows])

    def score(self, X, y=None):
        """Return the mean of ``score_samples``; higher is better."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples=1, *, random_state=None):
        """Draw rows from the distribution."""
        seed = _seed(random_state, self.seed)
        return self._ask(b"", lambda model, _: model.sample_rows(operator.index(n_samples), seed=seed))

    def fill(self, X, how="mean", *, random_state=None):
        """Return X with NaN replaced by the conditional "mean", the "best" value, or a joint "sample" per row."""
        rows = self._rows(X, "fill", self._columns_fitted(), holes=True)
        seed = _seed(random_state, self.seed)
        found = self._ask(self._table(rows), lambda model, path: model.fill([path], how=how, seed=seed))
        names = self._names_of(rows.shape[1])
        return numpy.where(numpy.isnan(rows), [[one[name] for name in names] for one in found], rows)

    def _columns_fitted(self):
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self.n_features_in_

    @staticmethod
    def _rows(X, who, columns=None, holes=False):
        rows = _numbers(X, who)
        if rows.ndim != 2 or 0 in rows.shape:
            raise UsageError(f"{who}: rows must have shape [rows x columns], not {rows.shape}")
        if columns is not None and rows.shape[1] != columns:
            raise UsageError(f"{who}: {rows.shape[1]} columns, but the model has {columns}")
        if numpy.isinf(rows).any() or (not holes and numpy.isnan(rows).any()):
            raise UsageError(f"{who}: some values are not finite")
        return rows

    @staticmethod
    def _names_of(columns):
        return [f"x{i + 1}" for i in range(columns)]

    @classmethod
    def _table(cls, rows):
        """Return rows as CSV; NaN becomes NA."""
        cells = [",".join("NA" if x != x else repr(x) if x % 1 else str(int(x)) for x in row) for row in rows.tolist()]
        return "\n".join([",".join(cls._names_of(rows.shape[1])), *cells, ""]).encode()


class SymbolModel(_Estimator):
    """A language model. X: a text, or a list of texts, which are independent sequences."""

    _kind = "density_estimator"

    def __init__(self, model="lstm:128", *, symbols="chars", optimizer=None, steps=None, epochs=None, minutes=None,
                 seed=1, threads=0, options=None, progress=None):
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes, seed=seed,
                         threads=threads, options=options, progress=progress)
        self.symbols = symbols

    def fit(self, X, y=None):
        """Train on texts."""
        texts = _texts(X, "fit")
        files = {f"{i:06d}.txt": t if isinstance(t, bytes) else t.encode() for i, t in enumerate(texts)}
        return self._train(files, symbols=self.symbols, format="text")

    @property
    def model_(self):
        """The fitted model."""
        if not hasattr(self, "model_bytes_"):
            raise NotFittedError("this SymbolModel is not fitted yet; call fit first")
        return Model.from_bytes(self.model_bytes_)

    def score_samples(self, X):
        """Return the log-probability of each text in nats."""
        model = self.model_
        return numpy.array([-float(numpy.nansum(model.score(t, threads=1), dtype=float))
                            for t in _texts(X, "score_samples")])

    def score(self, X, y=None):
        """Return the log-probability per symbol over all texts; higher is better."""
        model = self.model_
        nats = [model.score(t, threads=1) for t in _texts(X, "score")]
        predicted = sum(int((~numpy.isnan(n)).sum()) for n in nats)
        if predicted == 0:
            raise UsageError("score: the texts have no predicted symbols")
        return -sum(float(numpy.nansum(n, dtype=float)) for n in nats) / predicted

    def sample(self, n_samples=1, *, length=256, random_state=None, **options):
        """Draw texts from the model."""
        return self.model_.sample(length, count=n_samples, seed=_seed(random_state, self.seed), **options)
