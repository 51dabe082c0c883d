#include "app/fields/predicted_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "unfold/loss/registry.h"

namespace unfold {

namespace {

class KnownNames {
 public:
  explicit KnownNames(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {
    for (const std::string& name : names) lengths_.insert(name.size());
  }

  /// Returns the length of the longest known name with which a text begins and after which the text ends or continues
  /// with a separator; 0 if there is none.
  std::size_t length_at(std::string_view text, std::string_view followers) const {
    for (const std::size_t length : lengths_)
      if (length <= text.size() && (length == text.size() || followers.find(text[length]) != std::string_view::npos) &&
          names_.contains(text.substr(0, length)))
        return length;
    return 0;
  }

 private:
  std::unordered_set<std::string_view> names_;
  std::set<std::size_t, std::greater<>> lengths_;
};

constexpr std::string_view kBehindPredicted = "@=";

}  // namespace

std::vector<std::string> split_names(std::string_view list, const std::vector<std::string>& known) {
  const KnownNames names_known(known);
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma =
        list.find(',', names_known.length_at(list, ",.[@="));  // the item may be a derived field or a neighbor
    if (const std::string name(list.substr(0, comma)); !name.empty()) names.push_back(name);
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::vector<std::string> split_predicted(std::string_view list, const std::vector<std::string>& known) {
  const KnownNames names_known(known);
  std::vector<std::string> texts;
  for (std::string& name : split_names(list, known)) {
    const std::string before = texts.empty() ? "" : texts.back();
    const std::size_t equals = before.find('=', names_known.length_at(before, kBehindPredicted));
    const LossEntry* loss = equals == std::string::npos ? nullptr : losses().find(spec_name(before.substr(equals + 1)));
    const std::string key = name.substr(0, name.find('='));
    const bool is_option =
        loss != nullptr && key.size() < name.size() &&
        std::ranges::any_of(help_of(loss->options), [&](const OptionHelp& option) { return option.name == key; });
    if (is_option)
      texts.back() += ',' + name;
    else
      texts.push_back(std::move(name));
  }
  return texts;
}

Predicted parse_predicted(const std::string& text, const std::vector<std::string>& known) {
  Predicted result;
  result.field = text;
  if (text.find_first_of(kBehindPredicted) == std::string::npos) return result;
  const std::size_t name = KnownNames(known).length_at(text, kBehindPredicted), equals = text.find('=', name);
  result.field = text.substr(0, equals);
  if (equals != std::string::npos) result.loss = text.substr(equals + 1);
  constexpr std::string_view kAtEnd = "@end";
  if (result.field.size() != name && result.field.ends_with(kAtEnd)) {
    result.at_end = true;
    result.field.resize(result.field.size() - kAtEnd.size());
  }
  return result;
}

std::vector<std::string> predicted_names(const std::vector<Predicted>& heads) {
  std::vector<std::string> names;
  names.reserve(heads.size());
  for (const Predicted& head : heads) names.push_back(head.field);
  return names;
}

std::string text_of(const std::vector<Predicted>& heads) {
  std::vector<std::string> texts;
  texts.reserve(heads.size());
  for (const Predicted& head : heads)
    texts.push_back(
        fmt::format("{}{}{}{}", head.field, head.at_end ? "@end" : "", head.loss.empty() ? "" : "=", head.loss));
  return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace unfold
