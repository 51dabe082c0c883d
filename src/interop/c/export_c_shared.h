#pragma once
/// The parts that all exported C files share (export_c.h), independent of the model's input. Internal to interop/.

#include <string>
#include <vector>

#include "interop/c/export_c_functions.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

/// Returns the text without the character sequences that begin or end a C comment.
std::string comment_text(std::string text);
/// Returns the beginning of the file: checks of compiler options, the included headers, and the types.
std::string c_guards(const CText& text);
/// Returns the table of symbol texts, and the function that finds the symbol of a text. Throws UsageError for a symbol
/// of more than 255 bytes.
std::string c_alphabet(const Alphabet& alphabet, const CText& text);
/// Returns the function that finds a symbol in one of several alphabets, and its tables. A null pointer stands for a
/// field that holds only numbers. Throws UsageError as above.
std::string c_find_read(const std::vector<const Alphabet*>& alphabets, const CText& text);

}  // namespace unfold
