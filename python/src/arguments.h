#pragma once
/// Conversion of Python arguments to library types. Raises TypeError for a wrong type and UsageError for a number out
/// of range.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/data/text/alphabet.h"

namespace unfold::python {

namespace nb = nanobind;

/// Returns the type name for messages: "list", "numpy.bool".
std::string name_of_type(nb::handle given);

/// Returns a str encoded as UTF-8. Raises UnicodeEncodeError for an unpaired surrogate.
std::string utf8_of(nb::handle str);
/// Returns the bytes of a text, which is a str (encoded as UTF-8) or bytes. Raises TypeError.
std::string text_of(nb::handle given);

/// Returns a path (str or os.PathLike) in the encoding of the file system. Raises TypeError, and ValueError for null
/// characters.
std::string path_of(nb::handle given, const char* what);
/// Returns one path or the paths of an iterable.
std::vector<std::string> paths_of(nb::handle given, const char* what);

/// Returns the value of a Python or NumPy bool; empty for other objects.
std::optional<bool> truth_of(nb::handle given);
/// Same as above, but raises TypeError for other objects.
bool flag_of(nb::handle given, const char* what);

/// Returns the index of a symbol from any integer, excluding True and False. Raises TypeError, UsageError.
Symbol symbol_number(const Alphabet& alphabet, nb::handle given);
/// Returns the symbol indices of an array, a list or another iterable.
std::vector<Symbol> symbol_numbers(const Alphabet& alphabet, nb::handle given);
/// Returns the elements of an array of symbol indices, -1 for none; empty for objects that are not such an array.
/// Raises UsageError.
std::optional<std::vector<Symbol>> array_of_symbols_or_none(const Alphabet& alphabet, nb::handle given);

}  // namespace unfold::python
