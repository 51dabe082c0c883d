#pragma once
/// Source text of the C functions that an exported file calls (export_c.h): the arithmetic of numerics/ in C99, with
/// SIMD vectors on processors whose instruction set the text supports. Internal to interop/.
///
/// In the source text, "@" stands for the prefix of all names, "@@" for the prefix in capitals, and "$" for the suffix
/// "f" of functions and constants in single precision.

#include <set>
#include <string>
#include <string_view>

namespace unfold {

/// Substitutes one prefix and one precision in source text.
class CText {
 public:
  CText(std::string name, bool wide);
  /// Returns the text with "@", "@@" and "$" replaced.
  std::string operator()(std::string_view text) const;
  bool wide() const { return wide_; }  ///< numbers are doubles
  const std::string& name() const { return name_; }
  std::string number(double value) const;  ///< an exact literal

 private:
  std::string name_, capitals_;
  bool wide_;
};

/// Returns the named functions and the functions that they call, each after its callees. REQUIRES: the names are
/// defined here.
std::string c_functions(const CText& text, const std::set<std::string>& names);

}  // namespace unfold
