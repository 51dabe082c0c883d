#include "unfold/optim/optimizer.h"

#include <fmt/format.h>

#include <tuple>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"
#include "unfold/optim/hessian_free.h"
#include "unfold/optim/riemannian.h"

namespace unfold {
namespace {

// One entry per optimiser: its name, its options with their defaults, and how it is made. The list follows below.

struct SgdEntry {
  using Options = SgdOptions;
  static constexpr const char* kName = "sgd";
  static constexpr const char* kHelp = "stochastic gradient descent with momentum";
  static CommonOptions common() { return {.rate = 0.1, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return sgd_direction<T>(parameters, o, decay);
  }
};

struct RmsPropEntry {
  using Options = RmsPropOptions;
  static constexpr const char* kName = "rmsprop";
  static constexpr const char* kHelp = "gradient divided by its root mean square";
  static CommonOptions common() { return {.rate = 0.001, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return rmsprop_direction<T>(parameters, o, decay);
  }
};

struct AdamEntry {
  using Options = AdamOptions;
  static constexpr const char* kName = "adam";
  static constexpr const char* kHelp = "first and second moments with bias correction";
  static CommonOptions common() { return {.rate = 0.002, .clip = 1}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return adam_direction<T>(parameters, o, decay, false);
  }
};

struct AdamWEntry {
  using Options = AdamOptions;
  static constexpr const char* kName = "adamw";
  static constexpr const char* kHelp = "adam with decoupled weight decay";
  static CommonOptions common() { return {.rate = 0.002, .clip = 1, .decay = 0.01}; }
  template <class T>
  static auto make(Index parameters, const Options& o, double decay) {
    return adam_direction<T>(parameters, o, decay, true);
  }
};

/// Path-normalised directions bound their step in their own metric: `clip` is theirs, not the control's.
struct PathEntry {
  using Options = PathMetricOptions;
  static constexpr const char* kName = "path";
  static constexpr const char* kHelp = "gradient divided by the path metric, for ReLU networks; clip: in that metric";
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

struct PathMomentumEntry {
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

struct PathAdamEntry {
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

// Optimisers with a direction and a control of their own describe all of their options themselves.

struct HessianFreeEntry {
  using Options = NewtonOptions;
  static constexpr const char* kName = "hf";
  static constexpr const char* kHelp = "Hessian-free: conjugate gradients on the curvature of a large batch";
  static constexpr bool kWhole = true;
  template <class T>
  static auto make(Index parameters, const Options& o, std::string spec) {
    return hessian_free<T>(parameters, o, std::move(spec));
  }
};

struct NaturalEntry {
  using Options = NaturalOptions;
  static constexpr const char* kName = "natural";
  static constexpr const char* kHelp = "natural gradient: the gradient turned by the inverse Fisher matrix";
  static constexpr bool kWhole = true;
  template <class T>
  static auto make(Index parameters, const Options& o, std::string spec) {
    return natural_gradient<T>(parameters, o, std::move(spec));
  }
};

/// Optimisers that are a control of their own, without a direction beside it.
template <RiemannianMetric metric>
struct RiemannianEntry {
  using Options = RiemannianOptions;
  static constexpr const char* kName = metric == RiemannianMetric::ruop   ? "ruop"
                                       : metric == RiemannianMetric::rbpm ? "rbpm"
                                                                          : "ascent";
  static constexpr const char* kHelp =
      metric == RiemannianMetric::ruop   ? "Riemannian, unit-wise outer product metric; the rate is in 1 / units"
      : metric == RiemannianMetric::rbpm ? "Riemannian, backpropagated metric; the rate is in 1 / units"
                                         : "the plain gradient under the control of ruop and rbpm";
  static CommonOptions common() { return {.rate = 1}; }
  static Options own() { return {.metric = metric}; }
  template <class T>
  static auto control(Index parameters, const Options& o) {
    return riemannian_control<T>(parameters, o);
  }
};

using Registry = std::tuple<SgdEntry, RmsPropEntry, AdamEntry, AdamWEntry, PathEntry, PathMomentumEntry, PathAdamEntry,
                            HessianFreeEntry, NaturalEntry, RiemannianEntry<RiemannianMetric::ruop>,
                            RiemannianEntry<RiemannianMetric::rbpm>, RiemannianEntry<RiemannianMetric::none>>;

template <class Entry>
concept Whole = requires {
  Entry::kWhole;
};

template <class Entry>
typename Entry::Options own_options() {
  if constexpr (requires { Entry::own(); }) {
    return Entry::own();
  } else {
    return {};
  }
}

template <class Entry>
struct Settings {
  CommonOptions common = Entry::common();
  typename Entry::Options own = own_options<Entry>();
  ScheduleOptions schedule;
};

template <Whole Entry>
struct Settings<Entry> {
  typename Entry::Options own;
};

template <class Visitor, Whole Entry>
void describe(Visitor& v, Settings<Entry>& s) {
  describe(v, s.own);
}

template <class T, class Entry>
std::unique_ptr<Direction<T>> direction_of(Index parameters, const Settings<Entry>& s) {
  if constexpr (requires { Entry::kOwnClip; })
    return Entry::template make<T>(parameters, s.own, s.common.decay, s.common.clip);
  else
    return Entry::template make<T>(parameters, s.own, s.common.decay);
}

template <class Visitor, class Entry>
void describe(Visitor& v, Settings<Entry>& s) {
  describe(v, s.common);
  describe(v, s.own);
  describe(v, s.schedule);
}

template <class Visit>
void for_each_entry(Visit&& visit) {
  std::apply([&](auto... entries) { (visit(entries), ...); }, Registry{});
}

/// Calls visit(entry, settings) for the optimiser a SPEC names.
template <class Visit>
void with_settings(std::string_view text, Visit&& visit) {
  const Spec spec = parse_spec(text);
  bool found = false;
  std::vector<std::string> names;
  for_each_entry([&]<class Entry>(Entry entry) {
    names.emplace_back(Entry::kName);
    if (spec.name != Entry::kName) return;
    found = true;
    if (!spec.size.empty())
      throw UsageError(fmt::format("optimiser \"{}\": write rate={} for the step size", text, spec.size));
    Settings<Entry> settings;
    parse_options(spec, settings);
    visit(entry, settings);
  });
  if (found) return;
  throw UsageError(fmt::format("there is no optimiser \"{}\"{} (optimisers: {})", spec.name,
                               did_you_mean(spec.name, names), fmt::join(names, ", ")));
}

template <class Entry>
std::string write_out(const Settings<Entry>& settings) {
  Spec spec{.name = Entry::kName, .size = {}, .values = {}};
  for (const OptionHelp& option : help_of(settings)) spec.values.emplace_back(option.name, option.value);
  return to_string(spec);
}

}  // namespace

template <class T>
Optimizer<T>::Optimizer(std::unique_ptr<Direction<T>> direction, std::unique_ptr<Control<T>> control,
                        const CommonOptions& common, const ScheduleOptions& schedule, std::string spec)
    : direction_(std::move(direction)),
      control_(std::move(control)),
      rate_(common.rate),
      schedule_(schedule),
      spec_(std::move(spec)) {}

template <class T>
StepReport Optimizer<T>::step(Objective<T>& objective, const Progress& progress, double factor) {
  return control_->step(objective, *direction_, rate_ * schedule_factor(schedule_, progress) * factor);
}

template <class T>
void Optimizer<T>::attach(Objective<T>& objective) {
  if (direction_) direction_->attach(objective);
  if (control_) control_->attach(objective);
}

template <class T>
void Optimizer<T>::visit_state(StateVisitor<T>& visitor) {
  direction_->visit_state(visitor);
  control_->visit_state(visitor);
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(std::string_view spec, Index parameters) {
  std::unique_ptr<Optimizer<T>> result;
  with_settings(spec, [&]<class Entry>(Entry, const Settings<Entry>& s) {
    constexpr bool own_clip = requires { Entry::kOwnClip; };
    if constexpr (Whole<Entry>) {
      result = Entry::template make<T>(parameters, s.own, write_out(s));
    } else if constexpr (requires { Entry::template control<T>(parameters, s.own); }) {
      if (s.common.clip > 0 || s.common.decay > 0)
        throw UsageError(fmt::format("optimiser {}: clip and decay have no meaning for it", Entry::kName));
      result = std::make_unique<Optimizer<T>>(no_direction<T>(), Entry::template control<T>(parameters, s.own),
                                              s.common, s.schedule, write_out(s));
    } else {
      result = std::make_unique<Optimizer<T>>(direction_of<T>(parameters, s),
                                              fixed_control<T>(parameters, own_clip ? 0 : s.common.clip), s.common,
                                              s.schedule, write_out(s));
    }
  });
  return result;
}

std::string canonical_optimizer(std::string_view spec) {
  std::string result;
  with_settings(spec, [&]<class Entry>(Entry, const Settings<Entry>& s) { result = write_out(s); });
  return result;
}

bool compares_losses(std::string_view spec) {
  bool result = false;
  with_settings(spec, [&]<class Entry>(Entry, const Settings<Entry>& s) {
    if constexpr (requires { s.own.control; }) result = s.own.control == StepControl::backtracking;
  });
  return result;
}

std::vector<OptimizerHelp> optimizers() {
  std::vector<OptimizerHelp> result;
  for_each_entry([&]<class Entry>(Entry) {
    result.push_back({Entry::kName, Entry::kHelp, help_of(Settings<Entry>{})});
  });
  return result;
}

template class Optimizer<float>;
template class Optimizer<double>;
template std::unique_ptr<Optimizer<float>> make_optimizer(std::string_view, Index);
template std::unique_ptr<Optimizer<double>> make_optimizer(std::string_view, Index);

}  // namespace unfold
