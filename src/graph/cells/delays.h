#pragma once
/// Skip delays: a step reads the states of several earlier steps. Internal to cells/.

#include <string>
#include <vector>

#include "unfold/graph/cells/cell.h"

namespace unfold {

/// Parses "1+2+4"; returns an empty list if it is not an ascending list of integers from 1 to 10000.
std::vector<Index> parse_delays(const std::string& text);
/// Returns what is wrong with the value of the option `delays`, or an empty string.
std::string delays_fault(const std::string& text);

/// The option `delays`.
template <class Visitor>
void describe_delays(Visitor& v, std::string& delays) {
  v.add({.name = "delays",
         .target = &delays,
         .help = "delays of the recurrent connections in steps, such as 1+2+4",
         .fallback = OptionValue(std::string("1"))});
}

/// Links with these delays, and the terms that read them: "U" for one step, "U<k>" for k steps. The caller must feed
/// all of them.
class DelayedState {
 public:
  DelayedState(Circuit& c, Index n, const std::vector<Index>& delays, bool trained_initial);
  /// `terms` refer to names stored in this object.
  void add_terms(std::vector<Term>& terms, const Init& init) const;
  const std::vector<Signal>& links() const { return links_; }
  void feed(Signal h) const;

 private:
  Circuit& circuit_;
  std::vector<Signal> links_;
  std::vector<std::string> names_;
};

}  // namespace unfold
