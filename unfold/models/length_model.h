#pragma once
/// A distribution of the lengths of sequences, 1, 2, ...: p(x) = p(T) p(x | T), where what predicts x knows the steps
/// left. Fitted to lengths in closed form, or for the negative binomial by a search along one line.
///
///   geometric           p(T) = (1 - q)^(T - 1) q
///   poisson             T - 1 ~ Poisson(l)
///   negative-binomial   T - 1 ~ NB(r, l): the mean l, the variance l + l^2 / r
///   table               (how often it occurs + 1) / (all + the longest L + 1); what is left of the 1 lies beyond L,
///                       half of it on L + 1, a quarter on L + 2, ...
///
/// Each sums to 1 over 1, 2, ...; a length of 0 is none.

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
  /// Throws UsageError: a kind that there is none of, no lengths, one below 1.
  static LengthModel fit(std::string_view kind, std::span<const Index> lengths);

  const std::string& kind() const { return kind_; }
  /// ln p(T); minus infinity below 1.
  double log_probability(Index length) const;
  /// Of 1 ... last, in time proportional to their number.
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
  std::vector<double> parameters_;  // q; l; r and l; how often each length occurs, from 1 on
};

}  // namespace unfold
