#pragma once
/// Internal: lists of fields as --read and --predict name them.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

/// What stands between commas, but for nothing. Here and below a known name may hold commas, `@` and `=`: the longest
/// one that fits is taken as it stands.
std::vector<std::string> split_names(std::string_view list, const std::vector<std::string>& known = {});
/// The same of --predict: what stands behind a comma and is an option of the loss before it belongs there
/// ("label=hybrid:3,order=forward,value=normal" is two).
std::vector<std::string> split_predicted(std::string_view list, const std::vector<std::string>& known = {});

/// "chunk", "label@end", "value=mixture:5".
struct Predicted {
  std::string field, loss;
  bool at_end = false;
};
Predicted parse_predicted(const std::string& text, const std::vector<std::string>& known = {});
/// The list that says these.
std::string text_of(const std::vector<Predicted>& heads);
std::vector<std::string> predicted_names(const std::vector<Predicted>& heads);

}  // namespace unfold
