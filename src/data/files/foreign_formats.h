#pragma once
/// Files of other programs that no reader accepts, recognized by their first bytes so that they are not read as text:
///
///   foreign_format(bytes)     // "a spreadsheet; save it as CSV"; empty: not one of them

#include <string>
#include <string_view>

namespace unfold {

/// Returns the kind of the file and the remedy, worded to follow "FILE is". Archives of NumPy arrays have a reader.
std::string foreign_format(std::string_view bytes);

}  // namespace unfold
