#include "unfold/fields/predicted_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unfold/losses/registry.h"

namespace unfold {

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = list.find(',');
    if (const std::string name(list.substr(0, comma)); !name.empty()) names.push_back(name);
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::vector<std::string> split_predicted(std::string_view list) {
  std::vector<std::string> texts;
  for (std::string& name : split_names(list)) {
    const std::string before = texts.empty() ? "" : texts.back();
    const std::size_t equals = before.find('=');
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

Predicted parse_predicted(const std::string& text) {
  Predicted result;
  const std::size_t equals = text.find('=');
  result.field = text.substr(0, equals);
  if (equals != std::string::npos) result.loss = text.substr(equals + 1);
  constexpr std::string_view kAtEnd = "@end";
  if (result.field.ends_with(kAtEnd)) {
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
