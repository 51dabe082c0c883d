#include "model/context_mixing/logistic.h"

#include <vector>

#include "numerics/functions.h"

namespace unfold {

Logistic::Logistic() {
  std::vector<double> p(stretch_.size()), q(stretch_.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = (static_cast<double>(i) + (i == 0 ? 0.5 : 0)) / 4096;
    q[i] = 1 - p[i];
  }
  vector_log(p.data(), p.data(), static_cast<Index>(p.size()));
  vector_log(q.data(), q.data(), static_cast<Index>(q.size()));
  for (std::size_t i = 0; i < p.size(); ++i) stretch_[i] = static_cast<float>(p[i] - q[i]);

  std::vector<double> x(squash_.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i) / kSteps - kLargestLogit;
  vector_sigmoid(x.data(), x.data(), static_cast<Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) squash_[i] = static_cast<float>(x[i]);
}

const Logistic& Logistic::tables() {
  static const Logistic tables;
  return tables;
}

}  // namespace unfold
