#include "optim/direction/component_clipping.h"

#include <algorithm>
#include <utility>

#include "unfold/base/views.h"

namespace unfold {
namespace {

template <class T>
class ComponentClipping final : public Direction<T> {
 public:
  ComponentClipping(std::unique_ptr<Direction<T>> inner, double limit)
      : inner_(std::move(inner)), limit_(static_cast<T>(limit)) {}

  void attach(Objective<T>& objective) override { inner_->attach(objective); }
  void prepare(Objective<T>& objective) override { inner_->prepare(objective); }
  void move(Team& team, std::span<T> parameters, std::span<const T> gradient, double scale, double rate) override {
    const auto n = static_cast<Index>(gradient.size());
    if (clipped_.size() != n) clipped_.resize(n);
    const T factor = static_cast<T>(scale);
    team.run([&](Member& me) {
      const Range mine = me.share(n, 64);
      for (Index i = mine.begin; i < mine.end; ++i)
        clipped_[i] = std::clamp(factor * gradient[static_cast<std::size_t>(i)], -limit_, limit_);
    });
    inner_->move(team, parameters, clipped_.span(), 1, rate);
  }
  void visit_state(StateVisitor<T>& visitor) override { inner_->visit_state(visitor); }
  bool keep_slices(Index own) override { return inner_->keep_slices(own); }

 private:
  std::unique_ptr<Direction<T>> inner_;
  T limit_;
  Buffer<T> clipped_ = Buffer<T>(0);
};

}  // namespace

template <class T>
std::unique_ptr<Direction<T>> component_clipping(std::unique_ptr<Direction<T>> inner, double limit) {
  return std::make_unique<ComponentClipping<T>>(std::move(inner), limit);
}

template std::unique_ptr<Direction<float>> component_clipping(std::unique_ptr<Direction<float>>, double);
template std::unique_ptr<Direction<double>> component_clipping(std::unique_ptr<Direction<double>>, double);

}  // namespace unfold
