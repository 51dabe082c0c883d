#include "train/objective/sampled_softmax.h"

#include <fmt/format.h>

#include <utility>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {

Candidates Candidates::draw(std::span<const Symbol> targets, Index alphabet, Index count, std::uint64_t seed,
                            Index batch) {
  std::vector<char> taken(static_cast<std::size_t>(alphabet), 0);
  for (const Symbol target : targets)
    if (target != kNoSymbol) taken[static_cast<std::size_t>(target)] = 1;
  Candidates result;
  for (Index s = 0; s < alphabet; ++s)
    if (taken[static_cast<std::size_t>(s)] != 0) result.symbols.push_back(static_cast<Symbol>(s));
  result.predicted = static_cast<Index>(result.symbols.size());
  if (result.predicted == alphabet && count == alphabet) return result;
  if (count <= result.predicted || count > alphabet)
    throw UsageError(
        fmt::format("sampled softmax: {} candidates of {} symbols are too few for the {} target symbols of a window "
                    "and additional samples; increase --sampled-softmax, or use a smaller window or batch",
                    count, alphabet, result.predicted));
  Random random(seed, "sampled softmax");
  random.seek(static_cast<std::uint64_t>(batch) << 32);
  while (static_cast<Index>(result.symbols.size()) < count) {
    const auto symbol = static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)));
    if (std::exchange(taken[static_cast<std::size_t>(symbol)], 1) == 0) result.symbols.push_back(symbol);
  }
  result.each_drawn_counts =
      static_cast<double>(alphabet - result.predicted) / static_cast<double>(count - result.predicted);
  return result;
}

template <class T>
SampledSoftmax<T>::SampledSoftmax(const Network<T>& network, const Parameters<T>& parameters, std::uint64_t seed,
                                  Team& team, std::size_t memory_limit)
    : full_(&parameters),
      few_(network.fewer_outputs->circuit()),
      team_(team),
      seed_(seed),
      field_(network.only_head("a sampled softmax").field),
      alphabet_(network.heads.front().signal.size()),
      count_(network.fewer_outputs->heads.front().signal.size()),
      pass_(*network.fewer_outputs, team, memory_limit),
      few_gradient_(few_.size()),
      place_(index(alphabet_), kNoSymbol) {
  const Head<T>& head = network.heads.front();
  head.loss->template need<Categorical<T>>("a sampled softmax");
  const Node& output = network.plan->nodes()[index(head.signal.id)];
  for (const Node::AffineTerm& term : output.terms()) output_.push_back(term.parameter);
  output_.push_back(output.affine().bias);
}

template <class T>
double SampledSoftmax<T>::gradient(const Batch& batch, State<T>& state, Index number, double scale,
                                   std::span<T> gradient, bool accumulate) {
  const Candidates candidates =
      Candidates::draw(std::get<SymbolRows>(batch.field(field_)).symbols, alphabet_, count_, seed_, number);
  for (Index i = 0; i < count_; ++i) place_[index(candidates.symbols[index(i)])] = static_cast<Symbol>(i);
  batch_ = batch;
  for (Symbol& target : batch_.symbol_field(field_).symbols)
    if (target != kNoSymbol) target = place_[index(target)];
  gather(candidates);
  pass_.set_parameters(few_);
  const double nats = pass_.gradient(batch_, state, scale, few_gradient_.span());
  scatter(candidates, gradient, accumulate);
  return nats;
}

template <class T>
void SampledSoftmax<T>::gather(const Candidates& candidates) {
  const auto weight = static_cast<T>(candidates.each_drawn_counts);
  T offset = 0;
  vector_log(&weight, &offset, 1);
  team_.run([&](Member& me) {
    for (int p = 0; p < static_cast<int>(few_.info().size()); ++p) {
      const Matrix<const T> from = (*full_)[p];
      const Matrix<T> to = few_[p];
      const Range rows = me.share(to.rows);
      for (Index r = rows.begin; r < rows.end; ++r) {
        if (!is_output(p)) {
          std::copy_n(from.row(r), to.cols, to.row(r));
          continue;
        }
        for (Index i = 0; i < to.cols; ++i) to(r, i) = from(r, candidates.symbols[index(i)]);
        for (Index i = candidates.predicted; p == output_.back() && i < to.cols; ++i) to(r, i) += offset;
      }
    }
  });
}

template <class T>
void SampledSoftmax<T>::scatter(const Candidates& candidates, std::span<T> gradient, bool accumulate) {
  team_.run([&](Member& me) {
    for (int p = 0; p < static_cast<int>(few_.info().size()); ++p) {
      const Matrix<const T> from = few_.view(std::as_const(few_gradient_).data(), p);
      const Matrix<T> to = full_->view(gradient.data(), p);
      const Range rows = me.share(to.rows);
      for (Index r = rows.begin; r < rows.end; ++r) {
        if (!accumulate) std::fill_n(to.row(r), to.cols, T{0});
        for (Index i = 0; i < from.cols; ++i)
          to(r, is_output(p) ? Index{candidates.symbols[index(i)]} : i) += from(r, i);
      }
    }
  });
}

template class SampledSoftmax<float>;
template class SampledSoftmax<double>;

}  // namespace unfold
