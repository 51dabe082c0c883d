#pragma once
/// Internal: parsing of the field lists of --read and --predict.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

/// Splits a comma-separated list and drops empty items. Here and below, names in `known` may contain commas, `@` and
/// `=`; the longest known name that matches is taken literally.
std::vector<std::string> split_names(std::string_view list, const std::vector<std::string>& known = {});
/// Like the function above, for --predict: an item that is an option of the preceding loss stays attached to it.
/// "label=hybrid:3,order=forward,value=normal" has two items.
std::vector<std::string> split_predicted(std::string_view list, const std::vector<std::string>& known = {});

/// One item of --predict: "chunk", "label@end" or "value=mixture:5".
struct Predicted {
  std::string field, loss;
  bool at_end = false;
};
Predicted parse_predicted(const std::string& text, const std::vector<std::string>& known = {});
/// Returns the list in the syntax of --predict.
std::string text_of(const std::vector<Predicted>& heads);
std::vector<std::string> predicted_names(const std::vector<Predicted>& heads);

}  // namespace unfold
