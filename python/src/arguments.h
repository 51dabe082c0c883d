#pragma once
/// What callers of Python give, as the library wants it. What does not fit is a TypeError in words of Python, a number
/// out of range a UsageError.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/data/alphabet.h"

namespace unfold::python {

namespace nb = nanobind;

/// "list", "numpy.bool": what messages say was given.
std::string name_of_type(nb::handle given);

/// A str in UTF-8. UnicodeEncodeError: it holds half of a surrogate pair.
std::string utf8_of(nb::handle str);
/// A text: a str in UTF-8, or bytes as they are. TypeError.
std::string text_of(nb::handle given);

/// A path, str or os.PathLike, as the system writes it. TypeError; ValueError for null characters.
std::string path_of(nb::handle given, const char* what);
/// One path, or several of anything that can be iterated.
std::vector<std::string> paths_of(nb::handle given, const char* what);

/// True or False, of Python or NumPy; nothing for whatever else.
std::optional<bool> truth_of(nb::handle given);
/// The same; TypeError for whatever else.
bool flag_of(nb::handle given, const char* what);

/// The number of a symbol: any whole number but True and False. TypeError, UsageError.
Symbol symbol_number(const Alphabet& alphabet, nb::handle given);
/// Those of several: an array, a list, anything that can be iterated.
std::vector<Symbol> symbol_numbers(const Alphabet& alphabet, nb::handle given);

}  // namespace unfold::python
