#pragma once
/// The rules by which `train` refuses a combination: the message, the reason and what works instead. docs/refusals.md
/// lists them together with the combinations that they refuse (refusals_test.cpp).

#include <string>
#include <vector>

namespace unfold::refusals {

struct Rule {
  std::string title;    ///< heading on the page
  std::string message;  ///< regular expression that the messages of this rule contain, with the remedy that they name
  std::string example;  ///< the message as the page shows it, with `…` for what varies
  std::string reason;
  std::string instead;
  bool of_triples = false;  ///< applies to an optimizer with an option, so that no pair shows it
};

const std::vector<Rule>& refusal_rules();

}  // namespace unfold::refusals
