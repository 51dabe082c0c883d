#pragma once
/// Interface of predictors with a bounded context. It identifies predictors in equivalent states; searches and sums
/// then continue only one of them.

#include <string>

namespace unfold {

class MarkovContext {
 public:
  virtual ~MarkovContext() = default;
  /// Appends a key to `to`. Predictors of one model with equal keys give equal predictions for every continuation.
  virtual void append_context(std::string& to) const = 0;

 protected:
  MarkovContext() = default;
  MarkovContext(const MarkovContext&) = default;
  MarkovContext& operator=(const MarkovContext&) = default;
};

}  // namespace unfold
