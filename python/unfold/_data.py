"""Descriptions of data in memory: arrays, sequences of different lengths, tables, texts.

``describe`` converts Python objects to a small dictionary, which the extension module copies into the structures of the
readers. Nothing is written to a file. Numbers are never converted to text, except integers that a float cannot hold.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy
from numpy.typing import NDArray

from .errors import DataError, UsageError

Description = dict[str, Any]
Values = Union[NDArray[Any], list[Optional[str]]]
Column = tuple[str, bool, Values]
Names = Union[NDArray[Any], Sequence[Any]]  # of the columns of a table

_LARGEST_EXACT = 2**53  # all integers up to this one are exact as floats

#: The column with the weights of examples, which multiply their losses in training (data/text/example_weights.h).
WEIGHTS = "\x01weights"

#: The name of the only field of an array without a name, as in .npy files.
FIELD = "values"


def describe(data: Any, what: str = "data") -> Description | None:
    """Describe data in memory. Returns None for paths, which are read by the library.

    Parameters
    ----------
    data
        bytes, a text or a list of bytes; an array ``[T]``, ``[T, n]`` or ``[N, T, n]``; a list of arrays ``[T]`` or
        ``[T, n]`` of different lengths; a mapping of names to such arrays or lists; a pandas, polars or Arrow table.
    what
        The name of the argument in messages.

    Examples
    --------
    >>> describe(numpy.zeros((5, 2)))["format"]
    'npy'
    >>> describe([[1, 2, 3], [4, 5]])["ends"]
    array([3, 5])
    >>> describe("a.csv") is None
    True
    """
    if _are_paths(data):
        return None
    if isinstance(data, (bytes, bytearray, memoryview)):
        return texts([bytes(data)])
    if isinstance(data, Mapping):
        return _of_fields(data, what)
    if is_table(data):
        return _of_table(data, what)
    if is_array(data):
        return {"format": "npy", "arrays": [(FIELD, as_numbers(data, what))]}
    if isinstance(data, Iterable) and not isinstance(data, str):
        entries = list(data)
        if entries and all(isinstance(entry, (bytes, bytearray)) for entry in entries):
            return texts([bytes(entry) for entry in entries])
        if entries and _is_number(entries[0]):
            return {"format": "npy", "arrays": [(FIELD, as_numbers(entries, what))]}
        return _of_fields({FIELD: entries}, what)
    raise TypeError(f"{what} must be paths, arrays, sequences, a mapping, a table or bytes, not {type_name(data)}")


def texts(contents: Iterable[str | bytes]) -> Description:
    """Describe running texts, each one sequence."""
    encoded = [one.encode() if isinstance(one, str) else bytes(one) for one in contents]
    names = ["the text"] if len(encoded) == 1 else [f"text {i}" for i in range(len(encoded))]
    return {"__described__": True, "format": "", "texts": list(zip(names, encoded))}


def fields(columns: Iterable[Column], lengths: Sequence[int] | NDArray[Any], form: str = "jsonl") -> Description:
    """Describe columns of examples with the given lengths."""
    return {"__described__": True, "format": form, "columns": list(columns), "ends": numpy.cumsum(lengths)}


def type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def is_array(value: Any) -> bool:
    """Return whether a value is a numeric array: a NumPy array, or an object that exports one (DLPack)."""
    if isinstance(value, numpy.ndarray):
        return value.ndim > 0 and value.dtype.kind in "biuf"
    return hasattr(value, "__dlpack__") or (hasattr(value, "__array_interface__") and not isinstance(value, str))


def as_numbers(value: Any, what: str = "data") -> NDArray[Any]:
    """Return an array of floats, integers or bools that shares the memory of the value where possible.

    Raises DataError for values that are not numbers, and for types that cannot be converted without loss.
    """
    if numpy.ma.isMaskedArray(value):
        raise DataError(f"{what}: masked arrays are not supported; pass .filled(numpy.nan), or remove the masked rows")
    names = [name for name, _ in columns_of(value)] if is_table(value) else None
    if is_table(value) or is_column(value):
        value = array_of_table(value, what)
    if hasattr(value, "detach"):  # a PyTorch tensor that requires gradients
        value = value.detach()
    try:
        if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
            array: NDArray[Any] = numpy.from_dlpack(value)
        else:
            array = numpy.asarray(value)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise DataError(f"{what}: not an array of numbers: {error}") from None
    kind = array.dtype.kind
    if kind == "c":
        raise DataError(f"{what}: Complex data not supported; pass the real and imaginary parts as two columns")
    if kind in "mM":
        raise DataError(f"{what}: dates and times are not supported; pass numbers")
    if kind == "O" or kind not in "biuf":
        array = _floats_of(array, names, what)
    if array.dtype.itemsize > 8 or array.dtype == numpy.float16:
        array = array.astype(float)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _floats_of(array: NDArray[Any], names: Optional[Names], what: str) -> NDArray[Any]:
    """Return an array of objects or strings as floats; None and pandas.NA are NaN. Errors name the entry."""
    array = without_na(array) if array.dtype == object else array
    try:
        return array.astype(float)
    except (TypeError, ValueError) as error:
        for index, entry in numpy.ndenumerate(array):
            try:
                numpy.array(entry, dtype=object).astype(float)
            except (TypeError, ValueError) as reason:
                where = f"{place_of(index, names)}: " if index else ""
                raise DataError(f"{what}: {where}not numeric: {reason}") from None
        raise DataError(f"{what}: not numeric: {error}") from None


def without_na(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of objects with None for pandas.NA."""
    found = numpy.frompyfunc(lambda entry: type(entry).__name__ == "NAType", 1, 1)(array)
    return numpy.where(numpy.asarray(found, dtype=bool), numpy.array(None, dtype=object), array)


def place_of(index: tuple[int, ...], names: Optional[Names] = None) -> str:
    """Return the place of an entry of an array, or of a table with column names, for messages.

    Examples
    --------
    >>> place_of((3, 1), ["a", "b"]), place_of((3, 1))
    ('row 3, column b', 'index [3, 1]')
    """
    if names is not None and len(index) == 2:
        return f"row {index[0]}, column {names[index[1]]}"
    return f"index [{', '.join(map(str, index))}]"


def _are_paths(data: Any) -> bool:
    if isinstance(data, (str, os.PathLike)):
        return True
    if not isinstance(data, (list, tuple)):  # an iterator is read only once
        is_iterator = not hasattr(data, "__len__") and hasattr(data, "__next__")
        return is_iterator and not hasattr(data, "__arrow_c_stream__")
    return all(isinstance(one, (str, os.PathLike)) for one in data)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, numpy.number, numpy.bool_)) or (is_array(value) and numpy.ndim(value) == 0)


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes))


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, pandas.NA or pandas.NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float)
                                                                                and value != value)


def is_table(data: Any) -> bool:
    """Return whether data is a pandas, polars or Arrow table; a column also exports an Arrow stream, but is not a table."""
    return (hasattr(data, "columns") and hasattr(data, "shape") and hasattr(data, "__getitem__")
            and not isinstance(data, numpy.ndarray)) or (hasattr(data, "__arrow_c_stream__") and not is_column(data))


def is_column(value: Any) -> bool:
    """Return whether a value is a column of a table or an index, such as a pandas or polars Series."""
    return (hasattr(value, "to_numpy") and (hasattr(value, "dtype") or hasattr(value, "type"))
            and not hasattr(value, "columns") and not is_array(value))


def shown(values: Sequence[Any], most: int = 8) -> str:
    return ", ".join(map(str, values[:most])) + (", ..." if len(values) > most else "")


def columns_of(table: Any) -> list[tuple[Any, Any]]:
    """Return the names and the columns of a pandas, polars or Arrow table."""
    if not hasattr(table, "columns"):
        return []
    if hasattr(table, "iloc"):  # pandas, where names may be repeated
        return [(name, table.iloc[:, i]) for i, name in enumerate(table.columns)]
    if hasattr(table, "column_names"):
        return list(zip(table.column_names, table.columns))
    return [(name, table[name]) for name in table.columns]


def array_of_table(table: Any, what: str) -> NDArray[Any]:
    """Return a table or a column as an array, in which missing numbers are NaN.

    Raises DataError for dates and times, which would become numbers in some libraries.
    """
    named = [(f"{what}: column {name}", column) for name, column in columns_of(table)]
    columns = named or [(what, table)] * is_column(table)
    for where, column in columns:
        _refuse_times(column, where)
    if any(_has_missing_numbers(column) for _, column in columns):
        arrays = [array_of_column(column) for _, column in columns]
        return numpy.column_stack(arrays) if named else arrays[0]
    return numpy.asarray(table)


def _refuse_times(column: Any, where: str) -> None:
    dtype = getattr(column, "dtype", None) if hasattr(column, "dtype") else getattr(column, "type", None)
    if dtype == object:
        times = any(isinstance(entry, (datetime.date, datetime.time, datetime.timedelta)) for entry in column)
    else:
        times = getattr(dtype, "kind", "") in ("m", "M") or str(dtype).lower().startswith(
            ("date", "time", "duration", "period", "interval[datetime", "month_day_nano"))
    if times:
        raise DataError(f"{where}: dates and times are not supported; pass numbers" + (
            ", or leave the column out" if ": column " in where else ""))


def _has_missing_numbers(column: Any) -> bool:
    """Return whether a pandas column has a nullable type of numbers, and missing values."""
    return getattr(getattr(column, "dtype", None), "na_value", None) is not None and hasattr(column, "isna") and (
        getattr(column.dtype, "kind", "O") in "biuf" and bool(column.isna().any()))


def _of_table(data: Any, what: str) -> Description:
    """Describe a table: one position per row, as in CSV files. pandas tables may contain Python objects; all others
    export their columns to the extension module.
    """
    if hasattr(data, "__arrow_c_stream__") and type(data).__module__.split(".")[0] != "pandas":
        return {"__described__": True, "format": "table", "stream": data}
    if data.shape[0] == 0:
        raise DataError(f"{what}: the table has no rows")
    columns: list[Column] = []
    for i, name in enumerate(data.columns):
        values = array_of_column(data.iloc[:, i] if hasattr(data, "iloc") else data[name])
        columns.append((str(name), False, cells_of(values, f"{what}: column {name}")))
    return fields(columns, [int(data.shape[0])], "table")


def array_of_column(series: Any) -> NDArray[Any]:
    """Return a pandas, polars or Arrow column as an array; missing numbers become NaN."""
    if not hasattr(series, "dtype"):  # Arrow
        coded = hasattr(series.type, "value_type") and hasattr(series.type, "index_type")
        return numpy.asarray((series.cast(series.type.value_type) if coded else series).to_numpy())
    dtype = str(series.dtype)
    if dtype in ("category", "Categorical", "Enum", "string", "str", "String", "Utf8"):
        return numpy.asarray(series.to_numpy(), dtype=object)
    if hasattr(series, "isna") and hasattr(series.dtype, "na_value") and bool(series.isna().any()):
        return numpy.asarray(series.to_numpy(dtype=float, na_value=numpy.nan))
    return numpy.asarray(series.to_numpy())


def cells_of(values: Any, what: str) -> Values:
    """Return a column of a table as numbers, or as strings if a cell is a string."""
    array = numpy.asarray(values)
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) > _LARGEST_EXACT:
        return [str(x) for x in array.tolist()]  # identifiers, which floats would change
    if array.dtype.kind in "iuf":
        return as_numbers(array, what)
    if array.dtype.kind == "O" and all(is_missing(x) or (_is_number(x) and not isinstance(x, (bool, numpy.bool_)))
                                       for x in array):
        if all(is_missing(x) for x in array):
            return [None] * len(array)
        return numpy.array([numpy.nan if is_missing(x) else float(x) for x in array])
    if array.dtype.kind == "M":
        return _dates(array)
    return [None if is_missing(x) else as_text(x, what) for x in array.tolist()]


def _dates(array: NDArray[Any]) -> list[str | None]:
    """Return dates in the format of pandas CSV files, with times unless all are midnight."""
    known = array[~numpy.isnat(array)]
    unit = next(unit for unit in ("D", "s", "us") if unit == "us" or bool((known == known.astype(f"M8[{unit}]")).all()))
    texts = array.astype(f"M8[{unit}]").astype(str).tolist()
    return [None if text == "NaT" else text.replace("T", " ") for text in texts]


def as_text(value: Any, what: str) -> str:
    """Return the text of a symbol: a str, UTF-8 bytes, a number or a bool."""
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{what}: bytes are not valid UTF-8: {error}") from None
    return str(value)


def _of_fields(data: Mapping[Any, Any], what: str) -> Description:
    """Describe named fields: arrays as in .npz files, or lists with one entry per example as in JSON Lines."""
    if not data:
        raise DataError(f"{what}: there are no fields")
    items = [(str(name), value) for name, value in data.items()]
    if all(is_array(value) for _, value in items):
        return {"format": "npy", "arrays": [(name, as_numbers(value, f"{what}: {name}")) for name, value in items]}
    columns, lengths = [], None
    # The objects of JSON Lines have no order; readers sort their names.
    for name, value in sorted(items):
        column, of = _field(name, value, f"{what}: {name}")
        columns.append(column)
        if of is None:
            continue
        if lengths is not None and not numpy.array_equal(lengths[1], of):
            raise DataError(f"{what}: {name} and {lengths[0]} have sequences of different lengths")
        lengths = (name, of)
    counts = {len(value) for _, value in items}
    if len(counts) != 1:
        raise DataError(f"{what}: the fields have different numbers of examples: "
                        + ", ".join(f"{name} {len(value)}" for name, value in items[:8]))
    if lengths is None:  # rows of a table
        return fields([(name, False, values) for name, _, values in columns], [counts.pop()], "records")
    return fields(columns, lengths[1])


def _field(name: str, value: Any, what: str) -> tuple[Column, NDArray[Any] | None]:
    """Return a column and the lengths of its sequences; the lengths are None if it has one entry per example."""
    if is_array(value):
        value = as_numbers(value, what)
    if len(value) == 0:
        raise DataError(f"{what}: it is empty")
    first = next((one for one in value if not is_missing(one)), None)
    if first is None or _is_number(first) or _is_text(first):
        return (name, True, cells_of(list(value) if not isinstance(value, numpy.ndarray) else value, what)), None
    numbers, lengths = sequences(value, what)
    return (name, False, numbers), lengths


def sequences(value: Iterable[Any], what: str) -> tuple[Values, NDArray[Any]]:
    """Return the entries of sequences one after another, and their lengths.

    Entries are all numbers, all vectors of the same size, or otherwise symbols, which become strings.
    """
    if isinstance(value, numpy.ndarray) and value.ndim in (2, 3) and value.dtype.kind in "biuf":
        rows = value if value.ndim == 3 else value[:, :, None]
        if 0 in rows.shape:
            raise DataError(f"{what}: an array of shape {value.shape} has no entries")
        flat = rows.reshape(-1, rows.shape[2])
        return as_numbers(flat if value.ndim == 3 else flat[:, 0], what), numpy.full(len(rows), rows.shape[1])
    arrays, lengths, widths = [], [], set()
    names: Optional[list[Any]] = None
    numeric = True
    for i, one in enumerate(value):
        where = f"{what}: sequence {i}"
        if is_table(one) and not is_column(one):
            columns = [name for name, _ in columns_of(one)]
            names = columns if names is None else names
            if columns != names:
                raise DataError(f"{where}: the columns are {shown(columns)}, but those of the first table are "
                                f"{shown(names)}")
            one = array_of_table(one, where)
        if isinstance(one, (str, bytes)) or not hasattr(one, "__iter__"):
            raise UsageError(f"{where}: expects a list of entries, not {type_name(one)}")
        array = _sequence(one, where)
        if len(array) == 0:
            raise UsageError(f"{where} is empty")
        lengths.append(len(array))
        numeric = numeric and isinstance(array, numpy.ndarray)
        if isinstance(array, numpy.ndarray):
            widths.add(array.shape[1:])
        arrays.append(array)
    if not arrays:
        raise UsageError(f"{what}: there are no sequences")
    if numeric:
        if len(widths) > 1:
            raise DataError(f"{what}: entries have different numbers of values: "
                            + ", ".join(str(w[0] if w else 1) for w in sorted(widths)[:8]))
        return numpy.concatenate(arrays), numpy.array(lengths)
    flat_texts: list[Optional[str]] = []
    for i, array in enumerate(arrays):
        if isinstance(array, numpy.ndarray):
            if array.ndim > 1:
                raise UsageError(f"{what}: sequence {i} contains vectors, but other sequences contain strings")
            array = array.tolist()
        for entry in array:
            _require_symbol(entry, f"{what}: sequence {i}:")
            flat_texts.append(as_text(entry, f"{what}: sequence {i}"))
    return flat_texts, numpy.array(lengths)


def _sequence(one: Any, where: str) -> NDArray[Any] | list[Any]:
    """Return a sequence as an array of numbers [T] or [T, n], or as a list of symbols."""
    if is_array(one):
        array = as_numbers(one, where)
        if array.ndim not in (1, 2):
            raise UsageError(f"{where}: the shape must be [T] or [T, n], not {array.shape}")
        return array
    entries = list(one)
    plain = [entry for entry in entries if entry is not None]
    if plain and all(_is_number(entry) and not isinstance(entry, (bool, numpy.bool_)) for entry in plain):
        return numpy.array([numpy.nan if entry is None else entry for entry in entries], dtype=float)
    if plain and all(isinstance(entry, (list, tuple, numpy.ndarray)) for entry in plain):
        try:
            array = numpy.array(entries, dtype=float)
        except (TypeError, ValueError):
            _require_symbol(plain[0], f"{where}:")
            raise
        if array.ndim == 2:
            return array
    return entries


def _require_symbol(value: Any, where: str) -> None:
    if isinstance(value, numpy.generic):
        value = value.item()
    if is_missing(value):
        raise UsageError(f"{where} an entry is missing ({value}); leave that sequence out")
    if not isinstance(value, (str, bytes, bool, int, float)):
        raise UsageError(f"{where} an entry must be a string or a number, not {type(value).__name__}")
