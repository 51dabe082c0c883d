#pragma once
/// Skip delays: a step reads the state of several steps back. Internal to cells/.

#include <string>
#include <vector>

#include "unfold/cells/cell.h"

namespace unfold {

/// "1+2+4" as numbers; empty where it is no such list: whole numbers from 1 to 10000, ascending.
std::vector<Index> parse_delays(const std::string& text);
/// What is wrong with the text of the option `delays`, or nothing.
std::string delays_fault(const std::string& text);

/// The option `delays`.
template <class Visitor>
void describe_delays(Visitor& v, std::string& delays) {
  v.add({.name = "delays",
         .target = &delays,
         .help = "how many steps back the state is read, such as 1+2+4",
         .fallback = OptionValue(std::string("1"))});
}

/// Links that look so far back, and the terms that read them: "U" one step, "U<k>" k steps. Feed all of them.
class DelayedState {
 public:
  DelayedState(Circuit& c, Index n, const std::vector<Index>& delays, bool trained_initial);
  /// `terms` read views of names that live as long as this.
  void add_terms(std::vector<Term>& terms, const Init& init) const;
  const std::vector<Signal>& links() const { return links_; }
  void feed(Signal h) const;

 private:
  Circuit& circuit_;
  std::vector<Signal> links_;
  std::vector<std::string> names_;
};

}  // namespace unfold
