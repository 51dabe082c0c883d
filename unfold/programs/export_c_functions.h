#pragma once
/// The functions that an exported C file calls (export_c.h), as text: the arithmetic of numerics/ once more, in C99,
/// over vectors of the processor where they are known. Internal to programs/.
///
/// In texts, "@" stands for the prefix of all names, "@@" for the same in capitals, "$" for the suffix "f" of functions
/// and constants in single precision.

#include <set>
#include <string>
#include <string_view>

namespace unfold {

/// Texts for one name and one precision.
class CText {
 public:
  CText(std::string name, bool wide);
  /// The text with "@", "@@" and "$" replaced.
  std::string operator()(std::string_view text) const;
  bool wide() const { return wide_; }  ///< numbers are doubles
  const std::string& name() const { return name_; }
  std::string number(double value) const;  ///< a constant, exact

 private:
  std::string name_, capitals_;
  bool wide_;
};

/// The functions named and those that they call, in an order that C understands. REQUIRES: names of this file.
std::string c_functions(const CText& text, const std::set<std::string>& names);

}  // namespace unfold
