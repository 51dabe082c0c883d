#pragma once
/// What every C file of a model has (export_c.h), whatever it reads. Internal to programs/.

#include <string>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/programs/export_c_functions.h"

namespace unfold {

/// A text that ends no comment and begins none.
std::string comment_text(std::string text);
/// What the file refuses to be compiled with, the headers that it needs, and its types.
std::string c_guards(const CText& text);
/// The texts of symbols, and the symbol of a text. Throws UsageError for a symbol of more than 255 bytes.
std::string c_alphabet(const Alphabet& alphabet, const CText& text);
/// The function that finds the symbol of a text of one of several alphabets, and what it looks into; null: numbers
/// alone. Throws as above.
std::string c_find_read(const std::vector<const Alphabet*>& alphabets, const CText& text);

}  // namespace unfold
