#include <utility>

#include "graph/engine/backend.h"
#include "optim/direction/postponed_rows.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"
#include "unfold/optim/direction/direction.h"

namespace unfold {
namespace {

/// Ranges assigned to threads are multiples of this many elements, which are whole cache lines for every type.
constexpr Index kGrain = 1024;

/// Requires that the state of a direction and the gradient have one entry for each parameter that is updated.
void require_same_sizes(std::size_t parameters, std::size_t gradient, Index kept) {
  require_length("direction: the gradient", gradient, static_cast<Index>(parameters));
  require_length("direction: the vector of parameters", parameters, kept);
}

template <class T, class Step>
void over_spans(Team& team, std::size_t size, Step&& step) {
  team.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(size), kGrain);
    if (!mine.empty()) step(static_cast<std::size_t>(mine.begin), static_cast<std::size_t>(mine.size()));
  });
}

template <class T>
class Sgd final : public Direction<T> {
 public:
  Sgd(Index parameters, const SgdOptions& options, double decay)
      : options_(options), decay_(decay), velocity_(parameters) {}

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    require_same_sizes(p.size(), g.size(), velocity_.size());
    const MomentumStep step{rate, options_.momentum, options_.nesterov, decay_, scale};
    over_spans<T>(team, p.size(), [&](std::size_t at, std::size_t n) {
      momentum_step<T>(p.subspan(at, n), g.subspan(at, n), velocity_.span().subspan(at, n), step);
    });
  }
  void visit_state(StateVisitor<T>& visitor) override { visitor("velocity", velocity_.span()); }
  bool keep_slices(Index own) override {
    velocity_.resize(own);
    return true;
  }

 private:
  SgdOptions options_;
  double decay_;
  Buffer<T> velocity_;
};

template <class T>
class RmsProp final : public Direction<T> {
 public:
  RmsProp(Index parameters, const RmsPropOptions& options, double decay)
      : options_(options), decay_(decay), square_(parameters) {}

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    require_same_sizes(p.size(), g.size(), square_.size());
    const RmsPropStep step{rate, options_.rho, options_.epsilon, decay_, scale};
    over_spans<T>(team, p.size(), [&](std::size_t at, std::size_t n) {
      rmsprop_step<T>(p.subspan(at, n), g.subspan(at, n), square_.span().subspan(at, n), step);
    });
  }
  void visit_state(StateVisitor<T>& visitor) override { visitor("square", square_.span()); }
  bool keep_slices(Index own) override {
    square_.resize(own);
    return true;
  }

 private:
  RmsPropOptions options_;
  double decay_;
  Buffer<T> square_;
};

template <class T>
class Adam final : public Direction<T>, public RowDirection<T> {
 public:
  Adam(Index parameters, const AdamOptions& options, double decay, bool decoupled)
      : options_(options), decay_(decay), decoupled_(decoupled), mean_(parameters), square_(parameters) {
    if (decoupled || decay == 0) return;
    if (options.lazy)
      throw UsageError("adam: lazy= has no effect with weight decay, because no gradient is zero; use adamw for both");
    gradient_.resize(parameters);
    with_decay_ = true;
  }
  ~Adam() override {
    if (is_lent()) lent_->flat();
  }

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    bring_home();
    require_same_sizes(p.size(), g.size(), mean_.size());
    const AdamStep step = next_step(with_decay_ ? 1 : scale, rate);
    over_spans<T>(team, p.size(), [&](std::size_t at, std::size_t n) {
      auto part = g.subspan(at, n);
      if (with_decay_) part = decayed(p.subspan(at, n), part, scale, gradient_.span().subspan(at, n));
      adam_step<T>(p.subspan(at, n), part, mean_.span().subspan(at, n), square_.span().subspan(at, n), step);
    });
  }
  bool can_update_on_device() const override { return !with_decay_ && !options_.lazy; }
  void update_on_device(Resident<T>& there, Parameters<T>& parameters, double scale, double rate) override {
    there.adam(parameters, mean_.span(), square_.span(), next_step(scale, rate));
    there_ = &there;
  }
  bool can_move_rows() const override { return !with_decay_; }
  void start_rows(Team& team, Parameters<T>& parameters, const RowTables& tables) override {
    bring_home();
    if (!parameters.is_attached_to(*this) || !postponed_.has_tables(tables)) make_current();
    postponed_.set_tables(tables);
    team_ = &team;
    lent_ = &parameters;
    reading_ = &tables;
    parameters.lend(*this);
  }
  void move_rows(Team& team, Parameters<T>& parameters, const RowTables& tables, std::span<const T> g, double scale,
                 double rate) override {
    require_same_sizes(at(parameters.size()), g.size(), mean_.size());
    const RowTables none(tables.size());
    if (parameters.is_attached_to(*this)) reading_ = &none;
    const std::span<T> p = parameters.flat();
    reading_ = nullptr;
    const AdamStep step = next_step(scale, rate);
    const auto update = [&](Range r) {
      const std::size_t n = at(r.size());
      adam_step<T>(p.subspan(at(r.begin), n), g.subspan(at(r.begin), n), mean_.span().subspan(at(r.begin), n),
                   square_.span().subspan(at(r.begin), n), step);
    };
    team.run([&](Member& me) {
      for_each_range_outside(tables, mean_.size(), [&](Range r) {
        const Range mine = me.share(r.size(), kGrain);
        if (!mine.empty()) update({r.begin + mine.begin, r.begin + mine.end});
      });
      for (const RowTable& table : tables) {
        const Range mine = me.share(static_cast<Index>(table.read.size()));
        for (Index i = mine.begin; i < mine.end; ++i)
          update({table.row(table.read[at(i)]), table.row(table.read[at(i)] + 1)});
      }
    });
    if (!options_.lazy) postponed_.add(AdamFactors<T>::of(step), tables);
    if (postponed_.full()) postponed_.take_all(team, {p, mean_.span(), square_.span()});
    lent_ = &parameters;
    parameters.lend(*this);
  }
  /// Called at the first access to the parameters after they were lent: within a step, makes the rows current that the
  /// batch reads; otherwise all rows.
  void bring(std::span<T> home) override {
    const Vectors vectors{home, mean_.span(), square_.span()};
    if (const RowTables* tables = std::exchange(reading_, nullptr)) {
      postponed_.take_read(*team_, *tables, vectors);
      return;
    }
    lent_ = nullptr;
    postponed_.take_all(*team_, vectors);
  }
  void visit_state(StateVisitor<T>& visitor) override {
    bring_home();
    make_current();
    visitor("mean", mean_.span());
    visitor("square", square_.span());
    visitor("power1", power1_);
    visitor("power2", power2_);
  }
  bool keep_slices(Index own) override {
    for (Buffer<T>* state : {&mean_, &square_}) state->resize(own);
    if (with_decay_) gradient_.resize(own);
    return true;
  }

 private:
  using Vectors = typename PostponedRows<T>::Vectors;

  bool is_lent() const { return lent_ != nullptr && lent_->is_attached_to(*this); }
  /// Takes all postponed steps. If the parameters were replaced while they were lent, only the moments change.
  void make_current() {
    if (is_lent()) {
      reading_ = nullptr;
      lent_->flat();
    } else if (postponed_.any()) {
      Buffer<T> replaced(mean_.size());
      postponed_.take_all(*team_, {replaced.span(), mean_.span(), square_.span()});
    }
  }
  /// Returns the gradient of the penalized loss: scale * g + decay * p.
  std::span<const T> decayed(std::span<const T> p, std::span<const T> g, double scale, std::span<T> result) const {
    const T s = static_cast<T>(scale), d = static_cast<T>(decay_);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = s * g[i] + d * p[i];
    return result;
  }

  AdamStep next_step(double scale, double rate) {
    power1_ *= options_.beta1;
    power2_ *= options_.beta2;
    return {.rate = rate,
            .beta1 = options_.beta1,
            .beta2 = options_.beta2,
            .epsilon = options_.epsilon,
            .correction1 = 1 - power1_,
            .correction2 = 1 - power2_,
            .decay = decoupled_ ? decay_ : 0,
            .gradient_scale = scale,
            .lazy = options_.lazy};
  }
  void bring_home() {
    if (there_ == nullptr) return;
    there_->bring(mean_.span());
    there_->bring(square_.span());
    there_ = nullptr;
  }

  Resident<T>* there_ = nullptr;  // holds the moments
  AdamOptions options_;
  double decay_;
  bool decoupled_, with_decay_ = false;  // decoupled_: weight decay acts on the parameters
  Buffer<T> mean_, square_, gradient_;
  double power1_ = 1, power2_ = 1;  // beta^t
  PostponedRows<T> postponed_;
  const RowTables* reading_ = nullptr;  // within a step, until the batch reads its rows
  Parameters<T>* lent_ = nullptr;       // the parameters that are lent to this object
  Team* team_ = nullptr;
};

template <class T>
class NoDirection final : public Direction<T> {
 public:
  void move(Team&, std::span<T>, std::span<const T>, double, double) override {}
  void visit_state(StateVisitor<T>&) override {}
};

}  // namespace

template <class T>
std::unique_ptr<Direction<T>> no_direction() {
  return std::make_unique<NoDirection<T>>();
}

template <class T>
std::unique_ptr<Direction<T>> sgd_direction(Index parameters, const SgdOptions& options, double decay) {
  return std::make_unique<Sgd<T>>(parameters, options, decay);
}

template <class T>
std::unique_ptr<Direction<T>> rmsprop_direction(Index parameters, const RmsPropOptions& options, double decay) {
  return std::make_unique<RmsProp<T>>(parameters, options, decay);
}

template <class T>
std::unique_ptr<Direction<T>> adam_direction(Index parameters, const AdamOptions& options, double decay,
                                             bool decoupled) {
  return std::make_unique<Adam<T>>(parameters, options, decay, decoupled);
}

template std::unique_ptr<Direction<float>> no_direction();
template std::unique_ptr<Direction<double>> no_direction();
template std::unique_ptr<Direction<float>> sgd_direction(Index, const SgdOptions&, double);
template std::unique_ptr<Direction<double>> sgd_direction(Index, const SgdOptions&, double);
template std::unique_ptr<Direction<float>> rmsprop_direction(Index, const RmsPropOptions&, double);
template std::unique_ptr<Direction<double>> rmsprop_direction(Index, const RmsPropOptions&, double);
template std::unique_ptr<Direction<float>> adam_direction(Index, const AdamOptions&, double, bool);
template std::unique_ptr<Direction<double>> adam_direction(Index, const AdamOptions&, double, bool);

}  // namespace unfold
