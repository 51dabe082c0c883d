#pragma once
/// A distribution of sequence lengths 1, 2, ...: p(x) = p(T) p(x | T), where the model of x reads the number of
/// remaining steps. The distribution is fitted in closed form; the negative binomial needs a line search.
///
///   geometric           p(T) = (1 - q)^(T - 1) q
///   poisson             T - 1 ~ Poisson(l)
///   negative-binomial   T - 1 ~ NB(r, l): the mean l, the variance l + l^2 / r
///   table               (count of T + 1) / (all + the maximum L + 1); the remaining probability lies beyond L,
///                       half of it on L + 1, a quarter on L + 2, ...
///
/// The probabilities of each kind sum to 1 over 1, 2, ...; a length of 0 has probability 0.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

class LengthModel {
 public:
  static const std::vector<std::string>& kinds();
  /// `weights`: one per length; empty: all are 1. Throws UsageError for an unknown kind, if there are no lengths, and
  /// for a length below 1.
  static LengthModel fit(std::string_view kind, std::span<const Index> lengths, std::span<const double> weights = {});

  const std::string& kind() const { return kind_; }
  /// Returns ln p(T); minus infinity for T below 1.
  double log_probability(Index length) const;
  /// Returns the log probabilities of 1 ... last, in linear time.
  std::vector<double> log_probabilities(Index last) const;
  Index draw(Random& random) const;
  Index most_probable() const;

  nlohmann::json to_json() const;
  /// Throws ModelError.
  static LengthModel from_json(const nlohmann::json& json);

 private:
  LengthModel(std::string kind, std::vector<double> parameters)
      : kind_(std::move(kind)), parameters_(std::move(parameters)) {}
  double log_of_table(Index length, double all) const;

  std::string kind_;
  std::vector<double> parameters_;  // geometric: q; poisson: l; negative-binomial: r and l; table: the count of each
                                    // length, from 1 on
};

}  // namespace unfold
