#include <algorithm>
#include <cmath>

#include "model/forecast/lanes.h"
#include "model/forecast/members.h"

namespace unfold::forecasting {
namespace {

constexpr double kLogTwoPiOfDemand = 1.8378770664093453;
constexpr double kDemandRates[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3};

/// The smoothed state of a series of intermittent demand.
struct DemandState {
  double size = 0;      ///< mean size of a demand
  double share = 0;     ///< probability of a demand
  double interval = 1;  ///< mean number of steps between demands
  double steps = 1;     ///< number of steps since the last demand, including the next one
};

/// Forecasts of intermittent demand; every step has the same mean. z is the size of a demand (a value other than 0), p
/// its probability, and q the number of steps between demands, all smoothed exponentially:
///   tsb  p z                    p is updated at every step, z with every demand (Teunter, Syntetos and Babai 2011)
///   sba  (1 - alpha / 2) z / q  z and q are updated with every demand (Croston 1972; Syntetos and Boylan 2005)
/// The initial states are the means of the series. The rates (alpha for sizes, beta for p or q; sba has beta = alpha)
/// minimize the squared errors one step ahead. Missing values are skipped.
class CrostonForecaster final : public Forecaster {
 public:
  CrostonForecaster(bool every_step, std::string name, const ForecasterOptions& options)
      : Forecaster(std::move(name), options), every_step_(every_step) {}

 protected:
  FitResult fit_sample(const Sample& sample) override {
    set_initial_state(sample);
    FitResult result{.name = requested_name()};
    double least = std::numeric_limits<double>::infinity();
    for (const double alpha : kDemandRates)
      for (const double beta : kDemandRates) {
        if (!every_step_ && alpha != beta) continue;
        std::vector<double> fitted;
        const auto [squares, end] = smooth(sample.values, alpha, beta, fitted);
        if (!(squares < least)) continue;
        least = squares, level_ = mean_of(end, alpha);
        result.fitted = std::move(fitted);
      }
    const double errors = static_cast<double>(sample.observed);
    result.observations = sample.observed;
    result.parameters = every_step_ ? 5 : 4;  // the rates, two initial states, and the variance
    sigma_ = std::sqrt(least / errors);
    result.log_likelihood = -0.5 * errors * (kLogTwoPiOfDemand + 1 + log_of(std::max(least / errors, 1e-30)));
    return result;
  }

  Prediction predict(Index horizon) const override {
    return {.mean = std::vector<double>(at(horizon), level_),
            .deviation = std::vector<double>(at(horizon), sigma_),
            .samples = {}};
  }

 private:
  void set_initial_state(const Sample& sample) {
    double sum = 0, demands = 0;
    for (const double x : sample.values)
      if (!std::isnan(x) && x != 0) sum += x, ++demands;
    // A series whose values are all equal is not fitted, so there is a demand.
    initial_ = {.size = sum / demands, .share = demands / static_cast<double>(sample.observed)};
    initial_.interval = 1 / initial_.share;
  }

  double mean_of(const DemandState& state, double alpha) const {
    return every_step_ ? state.share * state.size : (1 - alpha / 2) * state.size / state.interval;
  }

  /// Returns the sum of the squared errors one step ahead, and the state at the end.
  std::pair<double, DemandState> smooth(const std::vector<double>& values, double alpha, double beta,
                                        std::vector<double>& fitted) const {
    DemandState state = initial_;
    double squares = 0;
    fitted.reserve(values.size());
    for (const double x : values) {
      fitted.push_back(mean_of(state, alpha));
      if (std::isnan(x)) continue;
      squares += (x - fitted.back()) * (x - fitted.back());
      const bool demand = x != 0;
      state.share += beta * ((demand ? 1.0 : 0.0) - state.share);
      if (demand) {
        state.size += alpha * (x - state.size);
        state.interval += beta * (state.steps - state.interval);
      }
      state.steps = demand ? 1 : state.steps + 1;
    }
    return {squares, state};
  }

  bool every_step_;
  DemandState initial_;
  double level_ = 0, sigma_ = 0;
};

}  // namespace

std::unique_ptr<Forecaster> make_croston(std::string_view name, const ForecasterOptions& options) {
  if (name != "tsb" && name != "sba") return nullptr;
  return std::make_unique<CrostonForecaster>(name == "tsb", std::string(name), options);
}

}  // namespace unfold::forecasting
