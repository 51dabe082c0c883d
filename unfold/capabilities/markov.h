#pragma once
/// What predictors say that look back a bounded way: when two of them know the same, so that searches and sums need go
/// on from only one of them.

#include <string>

namespace unfold {

class MarkovContext {
 public:
  virtual ~MarkovContext() = default;
  /// Equal for predictors of one model whose predictions will be equal whatever comes. Appends.
  virtual void append_context(std::string& to) const = 0;

 protected:
  MarkovContext() = default;
  MarkovContext(const MarkovContext&) = default;
  MarkovContext& operator=(const MarkovContext&) = default;
};

}  // namespace unfold
