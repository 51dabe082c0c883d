#include "unfold/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/options/extensible_registry.h"
#include "base/printable.h"
#include "optim/averaged.h"
#include "optim/direction/component_clipping.h"
#include "optim/direction/path_penalty.h"
#include "optim/hessian_free.h"
#include "optim/lbfgs.h"
#include "optim/riemannian/riemannian.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/optim/register_optimizer.h"

namespace unfold {
namespace {

// The kinds of optimizers: name, options with their defaults, and constructor. The list follows below.

struct SgdKind {
  using Options = SgdOptions;
  static constexpr const char* kName = "sgd";
  static constexpr const char* kHelp = "stochastic gradient descent with momentum";
  static CommonOptions common() { return {.rate = 0.1, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return sgd_direction<T>(parameters, o, decay);
  }
};

/// Plain SGD steps with averaging.
struct AveragedSgdKind {
  using Options = AveragingOptions;
  static constexpr const char* kName = "asgd";
  static constexpr const char* kHelp = "SGD with averaging once validation stops improving (NT-ASGD)";
  static constexpr bool kAverages = true;
  static CommonOptions common() { return {.rate = 1, .clip = 0.25}; }
  template <class T>
  static auto make(Index parameters, const Options&, double decay) {
    return sgd_direction<T>(parameters, {.momentum = 0}, decay);
  }
};

struct RmsPropKind {
  using Options = RmsPropOptions;
  static constexpr const char* kName = "rmsprop";
  static constexpr const char* kHelp = "gradient divided by its root mean square";
  static CommonOptions common() { return {.rate = 0.001, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return rmsprop_direction<T>(parameters, o, decay);
  }
};

struct AdamKind {
  using Options = AdamOptions;
  static constexpr const char* kName = "adam";
  static constexpr const char* kHelp = "first and second moments with bias correction";
  static CommonOptions common() { return {.rate = 0.002, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return adam_direction<T>(parameters, o, decay, false);
  }
};

struct AdamWKind {
  using Options = AdamOptions;
  static constexpr const char* kName = "adamw";
  static constexpr const char* kHelp = "adam with decoupled weight decay";
  static CommonOptions common() { return {.rate = 0.002, .clip = 1, .decay = 0.01}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return adam_direction<T>(parameters, o, decay, true);
  }
};

/// Path-normalized directions bound their step in their own metric, so `clip` belongs to the direction, not to the
/// control.
struct PathKind {
  using Options = PathMetricOptions;
  static constexpr const char* kName = "path";
  static constexpr const char* kHelp =
      "gradient divided by the path metric, for ReLU networks; clip is measured in that metric";
  static constexpr bool kOwnClip = true;
  static CommonOptions common() { return {.rate = 0.1, .clip = 0.1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay, double clip) {
    return path_direction<T>(parameters, o, clip, sgd_direction<T>(parameters, {.momentum = 0}, decay));
  }
};

template <class Inner>
struct PathThen {
  PathMetricOptions metric;
  Inner inner;
};

template <class Visitor, class Inner>
void describe(Visitor& v, PathThen<Inner>& o) {
  describe(v, o.metric);
  describe(v, o.inner);
}

struct PathMomentumKind {
  using Options = PathThen<SgdOptions>;
  static constexpr const char* kName = "path+momentum";
  static constexpr const char* kHelp = "path, then momentum";
  static constexpr bool kOwnClip = true;
  static CommonOptions common() { return {.rate = 0.01, .clip = 0.1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay, double clip) {
    return path_direction<T>(parameters, o.metric, clip, sgd_direction<T>(parameters, o.inner, decay));
  }
};

struct PathAdamKind {
  using Options = PathThen<AdamOptions>;
  static constexpr const char* kName = "path+adam";
  static constexpr const char* kHelp = "path, then adam";
  static constexpr bool kOwnClip = true;
  static CommonOptions common() { return {.rate = 0.0005, .clip = 0.03}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay, double clip) {
    return path_direction<T>(parameters, o.metric, clip, adam_direction<T>(parameters, o.inner, decay, false));
  }
};

// Optimizers with their own direction and control, which describe all of their options themselves.

struct HessianFreeKind {
  using Options = HessianFreeOptions;
  static constexpr const char* kName = "hf";
  static constexpr const char* kHelp = "Hessian-free: conjugate gradients on the curvature of a large batch";
  static constexpr bool kWhole = true;
  template <class T>
  static auto make(Index parameters, const Options& o, std::string spec) {
    return hessian_free<T>(parameters, o, std::move(spec));
  }
};

struct LbfgsKind {
  using Options = LbfgsOptions;
  static constexpr const char* kName = "lbfgs";
  static constexpr const char* kHelp = "L-BFGS on all data at once until it converges; l1: OWL-QN";
  static constexpr bool kWhole = true;
  static constexpr bool kEverything = true;
  template <class T>
  static auto make(Index parameters, const Options& o, std::string spec) {
    return lbfgs<T>(parameters, o, std::move(spec));
  }
};

struct NaturalKind {
  using Options = NaturalOptions;
  static constexpr const char* kName = "natural";
  static constexpr const char* kHelp = "natural gradient: the gradient multiplied by the inverse Fisher matrix";
  static constexpr bool kWhole = true;
  template <class T>
  static auto make(Index parameters, const Options& o, std::string spec) {
    return natural_gradient<T>(parameters, o, std::move(spec));
  }
};

/// Optimizers that consist only of a control, without a direction.
template <RiemannianMetric metric>
struct RiemannianKind {
  using Options = RiemannianOptions;
  static constexpr const char* kName = metric == RiemannianMetric::ruop   ? "ruop"
                                       : metric == RiemannianMetric::rbpm ? "rbpm"
                                                                          : "ascent";
  static constexpr const char* kHelp =
      metric == RiemannianMetric::ruop
          ? "Riemannian, unit-wise outer product metric; the learning rate is relative to 1 / units"
      : metric == RiemannianMetric::rbpm
          ? "Riemannian, backpropagated metric; the learning rate is relative to 1 / units"
          : "the plain gradient under the control of ruop and rbpm";
  static CommonOptions common() { return {.rate = 1}; }
  static Options own() { return {.metric = metric}; }
  template <class T>
  static auto control(Index parameters, const Options& o) {
    return riemannian_control<T>(parameters, o);
  }
};

template <class Kind>
concept Whole = requires {
  Kind::kWhole;
};

/// Kinds without a direction.
template <class Kind>
concept Controlled = requires(const typename Kind::Options& o) {
  Kind::template control<double>(Index{}, o);
};

template <class Kind>
typename Kind::Options own_options() {
  if constexpr (requires { Kind::own(); }) {
    return Kind::own();
  } else {
    return {};
  }
}

template <class Kind>
struct Settings {
  CommonOptions common = Kind::common();
  double component_clip = 0, path_penalty = 0;
  typename Kind::Options own = own_options<Kind>();
  ScheduleOptions schedule;
};

template <Whole Kind>
struct Settings<Kind> {
  typename Kind::Options own;
};

template <class Visitor, Whole Kind>
void describe(Visitor& v, Settings<Kind>& s) {
  describe(v, s.own);
}

template <class T, class Kind>
std::unique_ptr<Direction<T>> direction_of(Index parameters, const Settings<Kind>& s) {
  std::unique_ptr<Direction<T>> direction;
  if constexpr (requires { Kind::kOwnClip; })
    direction = Kind::template make<T>(parameters, s.own, s.common.decay, s.common.clip);
  else
    direction = Kind::template make<T>(parameters, s.own, s.common.decay);
  if (s.path_penalty > 0) direction = path_penalty<T>(std::move(direction), s.path_penalty);
  if (s.component_clip > 0) direction = component_clipping<T>(std::move(direction), s.component_clip);
  return direction;
}

template <class Visitor, class Kind>
void describe(Visitor& v, Settings<Kind>& s) {
  describe(v, s.common);
  if constexpr (!Controlled<Kind>) {
    v("component-clip", s.component_clip, "largest magnitude of a component of the gradient; 0: no limit", at_least(0));
    v("path-penalty", s.path_penalty,
      "weight of the logarithm of the path norm, added to the loss, for ReLU networks; 0: none", at_least(0));
  }
  describe(v, s.own);
  describe(v, s.schedule);
}

/// Options added after version 0.1, with their defaults. They are written only if they differ from the defaults, so
/// that earlier runs can be resumed.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLaterOptions = {
    {{"lazy", "false"}, {"component-clip", "0"}, {"path-penalty", "0"}, {"writing-factor", "1"}, {"adapt", "system"}}};

bool is_left_out(const OptionHelp& option) {
  return std::ranges::find(kLaterOptions, std::pair<std::string_view, std::string_view>(option.name, option.value)) !=
         kLaterOptions.end();
}

template <class T, class Kind>
std::unique_ptr<Optimizer<T>> make_kind(Index parameters, const AnyOptions& settings) {
  const auto& s = settings.as<Settings<Kind>>();
  const std::string spec = optimizer_spec(Kind::kName, settings);
  constexpr bool own_clip = requires { Kind::kOwnClip; };
  if constexpr (Whole<Kind>) {
    return Kind::template make<T>(parameters, s.own, spec);
  } else if constexpr (requires { Kind::template control<T>(parameters, s.own); }) {
    if (s.common.clip > 0 || s.common.decay > 0)
      throw UsageError(fmt::format("optimizer {}: clip= and decay= are not supported; leave them out", Kind::kName));
    return std::make_unique<Optimizer<T>>(no_direction<T>(), Kind::template control<T>(parameters, s.own), s.common,
                                          s.schedule, spec);
  } else if constexpr (requires { Kind::kAverages; }) {
    return std::make_unique<AveragedOptimizer<T>>(parameters, s.own, direction_of<T>(parameters, s),
                                                  fixed_control<T>(parameters, s.common.clip), s.common, s.schedule,
                                                  spec);
  } else {
    return std::make_unique<Optimizer<T>>(direction_of<T>(parameters, s),
                                          fixed_control<T>(parameters, own_clip ? 0 : s.common.clip), s.common,
                                          s.schedule, spec);
  }
}

template <class Kind>
constexpr bool kind_wants_everything() {
  return requires { Kind::kEverything; };
}

template <class Kind>
bool kind_compares_losses(const AnyOptions& settings) {
  const auto& s = settings.as<Settings<Kind>>();
  if constexpr (requires { s.own.control; })
    return s.own.control == StepControl::backtracking;
  else
    return kind_wants_everything<Kind>();
}

template <class Kind>
OptimizerEntry entry() {
  return {{Kind::kName, Kind::kHelp, Settings<Kind>()},
          make_kind<float, Kind>,
          make_kind<double, Kind>,
          kind_compares_losses<Kind>,
          kind_wants_everything<Kind>()};
}

}  // namespace

OptimizerEntry sgd_optimizer() { return entry<SgdKind>(); }
OptimizerEntry asgd_optimizer() { return entry<AveragedSgdKind>(); }
OptimizerEntry rmsprop_optimizer() { return entry<RmsPropKind>(); }
OptimizerEntry adam_optimizer() { return entry<AdamKind>(); }
OptimizerEntry adamw_optimizer() { return entry<AdamWKind>(); }
OptimizerEntry path_optimizer() { return entry<PathKind>(); }
OptimizerEntry path_momentum_optimizer() { return entry<PathMomentumKind>(); }
OptimizerEntry path_adam_optimizer() { return entry<PathAdamKind>(); }
OptimizerEntry hessian_free_optimizer() { return entry<HessianFreeKind>(); }
OptimizerEntry natural_optimizer() { return entry<NaturalKind>(); }
OptimizerEntry lbfgs_optimizer() { return entry<LbfgsKind>(); }
OptimizerEntry ruop_optimizer() { return entry<RiemannianKind<RiemannianMetric::ruop>>(); }
OptimizerEntry rbpm_optimizer() { return entry<RiemannianKind<RiemannianMetric::rbpm>>(); }
OptimizerEntry ascent_optimizer() { return entry<RiemannianKind<RiemannianMetric::none>>(); }

#define UNFOLD_OPTIMIZER(entry) OptimizerEntry entry();
#include "optim/registry.def"
#undef UNFOLD_OPTIMIZER

namespace {

ExtensibleRegistry<OptimizerEntry>& registry() {
  static ExtensibleRegistry<OptimizerEntry> all("optimizer", {
#define UNFOLD_OPTIMIZER(entry) entry(),
#include "optim/registry.def"
#undef UNFOLD_OPTIMIZER
                                                             });
  return all;
}

struct ParsedOptimizer {
  const OptimizerEntry& entry;
  AnyOptions settings;
};

ParsedOptimizer parse_optimizer(std::string_view text) {
  const Spec spec = parse_spec(text);
  const OptimizerEntry& entry = registry().current().get(spec.name);
  if (!spec.size.empty())
    throw UsageError(fmt::format("optimizer {}: use rate={} for the learning rate", in_quotes(text), spec.size));
  ParsedOptimizer result{entry, entry.options};
  parse_options(spec, result.settings);
  return result;
}

}  // namespace

std::string optimizer_spec(std::string_view name, const AnyOptions& settings) {
  Spec spec{.name = std::string(name), .size = {}, .values = {}};
  for (const OptionHelp& option : help_of(settings))
    if (!is_left_out(option)) spec.values.emplace_back(option.name, option.value);
  return to_string(spec);
}

void register_optimizer(OptimizerEntry entry) {
  if (!entry.in_float || !entry.in_double)
    throw UsageError(fmt::format("register_optimizer: {} has no function that creates it for float and double",
                                 in_quotes(entry.name)));
  registry().add("register_optimizer", "optimizer", std::move(entry));
}

template <class T>
Optimizer<T>::Optimizer(std::unique_ptr<Direction<T>> direction, std::unique_ptr<Control<T>> control,
                        const CommonOptions& common, const ScheduleOptions& schedule, std::string spec)
    : direction_(std::move(direction)),
      control_(std::move(control)),
      rate_(common.rate),
      schedule_(schedule),
      spec_(std::move(spec)) {
  if (!(std::isfinite(rate_) && rate_ > 0))
    throw UsageError(fmt::format("optimizer {}: the learning rate {} must be a finite number above 0", spec_, rate_));
}

template <class T>
StepReport Optimizer<T>::step(Objective<T>& objective, const Progress& progress, double factor) {
  require_order(attached_ >= 0, "optimizer: step", "call attach with the objective first");
  require_length("optimizer: the vector of parameters", objective.parameters().size(), attached_);
  if (!(std::isfinite(factor) && factor >= 0))
    throw UsageError(fmt::format("optimizer: the factor {} must be a finite number of at least 0", factor));
  return take_step(objective, progress, factor);
}

template <class T>
void Optimizer<T>::visit_state(StateVisitor<T>& visitor) {
  require_order(attached_ >= 0, "optimizer: visit_state", "call attach with the objective first");
  visit(visitor);
}

template <class T>
StepReport Optimizer<T>::take_step(Objective<T>& objective, const Progress& progress, double factor) {
  if (!direction_ || !control_) throw UsageError("optimizer " + spec_ + ": it has no direction or no control");
  return control_->step(objective, *direction_, rate_ * schedule_factor(schedule_, progress) * factor);
}

template <class T>
void Optimizer<T>::attach(Objective<T>& objective) {
  if (attached_ >= 0) throw UsageError("optimizer: attach: it is already attached; create another one");
  if (direction_) direction_->attach(objective);
  if (control_) control_->attach(objective);
  attached_ = objective.parameters().size();
  if (!direction_ || !control_ || !may_keep_slices()) return;
  const Slices* slices = objective.slices();
  in_slices_ = slices != nullptr && direction_->keep_slices(slices->own_size());
  if (in_slices_) control_->keep_slices(*slices);
}

template <class T>
void Optimizer<T>::visit(StateVisitor<T>& visitor) {
  if (direction_) direction_->visit_state(visitor);
  if (control_) control_->visit_state(visitor);
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(std::string_view spec, Index parameters) {
  if (parameters < 1)
    throw UsageError(fmt::format("optimizer {}: {} parameters; there must be at least 1", spec, parameters));
  const ParsedOptimizer parsed = parse_optimizer(spec);
  return parsed.entry.make<T>()(parameters, parsed.settings);
}

std::string canonical_optimizer(std::string_view spec) {
  const ParsedOptimizer parsed = parse_optimizer(spec);
  return optimizer_spec(parsed.entry.name, parsed.settings);
}

std::string canonical_stored_optimizer(const std::string& spec) {
  try {
    return canonical_optimizer(spec);
  } catch (const UsageError&) {
    return spec;
  }
}

bool compares_losses(std::string_view spec) {
  const ParsedOptimizer parsed = parse_optimizer(spec);
  return parsed.entry.compares_losses && parsed.entry.compares_losses(parsed.settings);
}

bool needs_full_batch(std::string_view spec) { return parse_optimizer(spec).entry.everything; }

std::vector<OptimizerHelp> optimizers() { return registry().current().help(); }

template class Optimizer<float>;
template class Optimizer<double>;
template std::unique_ptr<Optimizer<float>> make_optimizer(std::string_view, Index);
template std::unique_ptr<Optimizer<double>> make_optimizer(std::string_view, Index);

}  // namespace unfold
