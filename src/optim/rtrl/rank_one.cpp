/// Rank-one estimates: G_t is the mean of h~ theta~' over random signs, for any network. The carried data is [h~ |
/// theta~].

#include <algorithm>
#include <cmath>
#include <optional>

#include "optim/rtrl/influence.h"
#include "optim/rtrl/influence_pattern.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

std::uint64_t two_words(const std::array<std::uint32_t, 4>& words) {
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

/// Draws random signs for all components, as a function of the key.
template <class T>
void draw_signs(const SignKey& key, Index count, T* signs) {
  static const std::uint64_t kStream = stream_of("forward gradient");
  const std::uint64_t of_step = two_words(philox(key.seed, kStream, key.step));
  const std::uint64_t of_stream = two_words(philox(of_step, kStream, key.stream));
  constexpr Index kBits = 128;
  for (Index first = 0; first < count; first += kBits) {
    const auto words = philox(of_stream, key.position, static_cast<std::uint64_t>(first / kBits));
    for (Index i = first; i < std::min(count, first + kBits); ++i)
      signs[i] = (words[at((i - first) / 32)] >> ((i - first) % 32) & 1) != 0 ? T{1} : T{-1};
  }
}

/// Returns sqrt(a / b), or 1 if either is 0.
double balance(double a, double b) { return a > 0 && b > 0 ? std::sqrt(a / b) : 1; }

template <class T>
double norm_of(std::span<const T> x) {
  return std::sqrt(sum_of_squares<T>(x));
}

template <class T>
class RankOne : public Influence<T> {
 public:
  RankOne(const Reach& reach, Index parameters) : state_(reach.state), parameters_(parameters), starts_(reach.starts) {
    all_.resize(at(state_));
    for (Index i = 0; i < state_; ++i) all_[at(i)] = i;
  }

  Index width() const final { return state_ + parameters_; }

  /// G_0 is 1 where a component starts from a parameter.
  void begin(const SignKey& key, T* carried) const final {
    std::fill_n(carried, width(), T{0});
    if (starts_.empty()) return;
    std::vector<T> signs(starts_.size());
    draw_signs(key, static_cast<Index>(signs.size()), signs.data());
    for (std::size_t k = 0; k < starts_.size(); ++k) {
      for (const Index i : starts_[k].states.elements()) carried[i] = signs[k];
      carried[state_ + starts_[k].parameters.front().begin] = signs[k];
    }
  }

  void pull(const T* adjoint, const T* carried, T* gradient) const final {
    const auto n = at(state_), m = at(parameters_);
    const double along = dot<T>({adjoint, n}, {carried, n});
    axpy<T>(static_cast<T>(along), {carried + state_, m}, {gradient, m});
  }

 protected:
  void ready(InfluenceScratch<T>& scratch) const {
    if (!scratch.signs.empty() || state_ == 0) return;
    scratch.signs.resize(state_);
    scratch.moved.resize(state_);
    scratch.next.resize(state_);
  }

  /// h~ = rho J h~ and theta~ = theta~ / rho, where rho makes the norms equal.
  void move(StepPass<T>& pass, InfluenceScratch<T>& scratch, T* carried) const {
    const std::span<T> past(carried + state_, at(parameters_));
    pass.tangent(carried, scratch.moved.data());
    const double rho = balance(norm_of<T>(past), norm_of<T>(scratch.moved.span()));
    for (Index i = 0; i < state_; ++i) carried[i] = static_cast<T>(rho) * scratch.moved[i];
    scale<T>(static_cast<T>(1 / rho), past);
  }

  Index state_, parameters_;
  std::vector<Index> all_;  // indices of all components

 private:
  std::vector<Reaching> starts_;
};

/// UORO, with one vector of signs nu per step: adds nu' I / rho_1 to theta~ and rho_1 nu to h~.
template <class T>
class Uoro final : public RankOne<T> {
 public:
  using RankOne<T>::RankOne;

  void step(StepPass<T>& pass, const SignKey& key, InfluenceScratch<T>& scratch, T* carried) const override {
    const Index n = this->state_;
    if (n == 0) return;
    this->ready(scratch);
    draw_signs(key, n, scratch.signs.data());
    this->move(pass, scratch, carried);
    pass.seed(this->all_, scratch.signs.span());
    const std::span<const T> now = pass.backward().first(at(this->parameters_));
    const double rho = balance(norm_of<T>(now), std::sqrt(static_cast<double>(n)));
    axpy<T>(static_cast<T>(rho), scratch.signs.span(), std::span<T>(carried, at(n)));
    axpy<T>(static_cast<T>(1 / rho), now, std::span<T>(carried + n, at(this->parameters_)));
  }
};

/// NoBackTrack, with a sign and a scale rho_i for each component i: adds nu_i I_i / rho_i to theta~ and rho_i nu_i to
/// h~_i. Rows of I that share no parameter share a backward pass.
template <class T>
class NoBackTrack final : public RankOne<T> {
 public:
  NoBackTrack(const Reach& reach, Index parameters) : RankOne<T>(reach, parameters) {
    const std::vector<IndexSet> columns = immediate_columns(reach);
    passes_ = passes_of(columns);
    read_.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (const Index set : columns[i].elements())
        read_[i].insert(read_[i].end(), reach.within[at(set)].parameters.begin(),
                        reach.within[at(set)].parameters.end());
  }

  void step(StepPass<T>& pass, const SignKey& key, InfluenceScratch<T>& scratch, T* carried) const override {
    const Index n = this->state_;
    if (n == 0) return;
    this->ready(scratch);
    this->move(pass, scratch, carried);
    draw_signs(key, n, scratch.signs.data());
    for (const auto& rows : passes_) {
      for (std::size_t k = 0; k < rows.size(); ++k) scratch.next[static_cast<Index>(k)] = scratch.signs[rows[k]];
      pass.seed(rows, std::span<const T>(scratch.next.span()).first(rows.size()));
      const T* now = pass.backward().data();
      for (const Index row : rows) take(row, now, scratch.signs[row], carried);
    }
  }

 private:
  /// `now` holds the row of I times its sign.
  void take(Index row, const T* now, T sign, T* carried) const {
    double squares = 0;
    for (const ParameterRange& range : read_[at(row)])
      for (Index i = 0; i < range.count; ++i) squares += static_cast<double>(now[range[i]]) * now[range[i]];
    if (!(squares > 0)) return;  // the row is zero, so a sign would only add noise
    const double rho = std::sqrt(std::sqrt(squares));
    carried[row] += static_cast<T>(rho) * sign;
    T* past = carried + this->state_;
    const T share = static_cast<T>(1 / rho);
    for (const ParameterRange& range : read_[at(row)])
      for (Index i = 0; i < range.count; ++i) past[range[i]] += share * now[range[i]];
  }

  std::vector<std::vector<Index>> passes_;
  std::vector<std::vector<ParameterRange>> read_;  // parameters in each row of I
};

}  // namespace

template <class T>
std::unique_ptr<Influence<T>> rank_one_influence(const Reach& reach, const GradientMethod& method, Index parameters) {
  if (method.kind == GradientMethod::Kind::uoro) return std::make_unique<Uoro<T>>(reach, parameters);
  return std::make_unique<NoBackTrack<T>>(reach, parameters);
}

template std::unique_ptr<Influence<float>> rank_one_influence(const Reach&, const GradientMethod&, Index);
template std::unique_ptr<Influence<double>> rank_one_influence(const Reach&, const GradientMethod&, Index);

}  // namespace unfold
