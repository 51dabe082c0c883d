#pragma once
/// User-defined optimizers. A direction (optim/direction/direction.h) is registered under a name, which SPECs use
/// together with its own options and the options of all optimizers: rate, clip, decay, schedule.
///
///   struct SignumOptions { double momentum = 0.9; };
///   template <class Visitor>
///   void describe(Visitor& v, SignumOptions& o) { v("momentum", o.momentum, "share of the mean", range(0, 1)); }
///
///   register_optimizer("signum", "sign of the mean gradient", {.rate = 0.001, .clip = 1}, SignumOptions(),
///                      []<class T>(Index parameters, const SignumOptions& options, double decay) {
///                        return std::make_unique<Signum<T>>(parameters, options, decay);
///                      });
///   auto optimizer = make_optimizer<float>("signum:momentum=0.8,rate=0.01", parameters);
///
/// Runs and checkpoints contain the name and no code: a program that resumes a run must first register the same
/// optimizer.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "unfold/base/options/registry.h"
#include "unfold/optim/direction/direction.h"
#include "unfold/optim/direction/step_control.h"
#include "unfold/optim/optimizer.h"
#include "unfold/optim/schedule.h"

namespace unfold {

template <class T>
using MakeOptimizer = std::function<std::unique_ptr<Optimizer<T>>(Index parameters, const AnyOptions& settings)>;

/// A kind of optimizer, for float and double.
struct OptimizerEntry : Entry {
  MakeOptimizer<float> in_float = {};
  MakeOptimizer<double> in_double = {};
  /// Returns whether, with these settings, the optimizer accepts steps by comparing losses, whose differences float may
  /// not resolve. Empty if it never does.
  std::function<bool(const AnyOptions& settings)> compares_losses = {};
  bool everything = false;  ///< every step uses all data

  template <class T>
  const MakeOptimizer<T>& make() const {
    if constexpr (std::is_same_v<T, float>)
      return in_float;
    else
      return in_double;
  }
};

/// Adds an optimizer. Call it before SPECs are parsed. Throws UsageError if the name is taken, does not begin with a
/// letter, or contains anything but lowercase letters, digits and "-".
void register_optimizer(OptimizerEntry entry);

/// Returns the canonical SPEC of an optimizer with these settings.
std::string optimizer_spec(std::string_view name, const AnyOptions& settings);

/// The options of an optimizer that consists of a direction and a fixed control.
template <class Options>
struct DirectionSettings {
  CommonOptions common = {};
  Options own = {};
  ScheduleOptions schedule = {};
};
template <class Visitor, class Options>
void describe(Visitor& v, DirectionSettings<Options>& s) {
  describe(v, s.common);
  describe(v, s.own);
  describe(v, s.schedule);
}

/// Returns the entry of an optimizer that consists of a direction. `make` is called as
/// make.operator()<T>(parameters, options, decay) for float and double, and returns a std::unique_ptr to a
/// Direction<T>.
template <class Options, class Make>
OptimizerEntry direction_entry(std::string name, std::string help, const CommonOptions& common, const Options& options,
                               Make make) {
  const auto maker = [name, make]<class T>(Index parameters, const AnyOptions& settings) {
    const auto& s = settings.as<DirectionSettings<Options>>();
    std::unique_ptr<Direction<T>> direction = make.template operator()<T>(parameters, s.own, s.common.decay);
    return std::make_unique<Optimizer<T>>(std::move(direction), fixed_control<T>(parameters, s.common.clip), s.common,
                                          s.schedule, optimizer_spec(name, settings));
  };
  OptimizerEntry entry;
  entry.name = std::move(name);
  entry.help = std::move(help);
  entry.options = DirectionSettings<Options>{common, options, {}};
  entry.in_float = [maker](Index parameters, const AnyOptions& settings) {
    return maker.template operator()<float>(parameters, settings);
  };
  entry.in_double = [maker](Index parameters, const AnyOptions& settings) {
    return maker.template operator()<double>(parameters, settings);
  };
  return entry;
}

/// Adds the optimizer that `direction_entry` describes.
template <class Options, class Make>
void register_optimizer(std::string name, std::string help, const CommonOptions& common, const Options& options,
                        Make make) {
  register_optimizer(direction_entry(std::move(name), std::move(help), common, options, std::move(make)));
}

}  // namespace unfold
