#include "train/label_error.h"

#include <algorithm>
#include <string>

#include "loss/crf/label_sequences.h"
#include "loss/ctc/unaligned_labels.h"
#include "train/prediction_metrics.h"
#include "unfold/base/error.h"

namespace unfold {

template <class T>
void best_labels(const Head<T>& head, const Batch& batch, Matrix<const T> output, std::span<const T> parameters,
                 Team& team, std::vector<Symbol>& best) {
  best.assign(at(output.rows), kNoSymbol);
  if (const auto* labels = head.loss->template as<LabelSequences<T>>())
    return labels->best({batch.structure, output, parameters}, team, best.data());
  if (!std::holds_alternative<SymbolRows>(batch.field(head.field))) return;
  for (Index row = 0; row < output.rows; ++row) {
    const T* o = output.row(row);
    best[at(row)] = static_cast<Symbol>(std::max_element(o, o + output.cols) - o);
  }
}

namespace {

template <class T>
bool has_labels(const Head<T>& head) {
  return head.loss->template as<Categorical<T>>() != nullptr || head.loss->template as<LabelSequences<T>>() != nullptr;
}

template <class T>
class LabelJudge final : public Judge<T> {
 public:
  LabelJudge(const Network<T>& network, const Parameters<T>& parameters, WrongLabels wrong, Team& team)
      : network_(network), parameters_(parameters), counts_(wrong), team_(team) {
    for (const Head<T>& head : network.heads)
      if (head.loss->template as<Unsegmented<T>>() != nullptr)
        throw UsageError(
            std::string(head.loss->name()) +
            " has labels without an alignment, which validation does not count; select the best model by nats");
    if (std::ranges::none_of(network.heads, has_labels<T>))
      throw UsageError(
          "the best model cannot be selected by labels or sequences, because no predicted field has labels; select it "
          "by nats");
  }

  void start() override {
    labels_ = wrong_labels_ = 0;
    sequences_.clear();
  }

  void see(const Batch& batch, std::span<const Matrix<const T>> outputs) override {
    for (std::size_t h = 0; h < outputs.size(); ++h) {
      const Head<T>& head = network_.heads[h];
      const auto* wanted = std::get_if<SymbolRows>(&batch.field(head.field));
      if (wanted == nullptr) continue;
      best_labels(head, batch, outputs[h], parameters_.flat(), team_, best_);
      for (Index c = 0; c < batch.structure.sequences(); ++c) count(batch, c, wanted->symbols);
    }
  }

  Measures measures() const override {
    return {{counts_ == WrongLabels::each ? "error_rate" : "sequence_error", error_rate()}};
  }

  double error_rate() const override {
    if (counts_ == WrongLabels::each) return part_of(wrong_labels_, labels_);
    return part_of(std::ranges::count(sequences_, Verdict::wrong), std::ranges::count_if(sequences_, is_judged));
  }

 private:
  enum class Verdict : char { none, right, wrong };
  static bool is_judged(Verdict verdict) { return verdict != Verdict::none; }

  /// A sequence may be split into several consecutive pieces.
  void count(const Batch& batch, Index chain, const auto& wanted) {
    const std::size_t sequence = at(batch.passages[at(chain)]);
    if (sequence >= sequences_.size()) sequences_.resize(sequence + 1, Verdict::none);
    const Index* rows = batch.structure.order().rows.data() + batch.structure.item(chain, 0);
    for (Index t = 0; t < batch.structure.size(chain); ++t) {
      const Symbol label = wanted[at(rows[t])];
      if (label == kNoSymbol) continue;
      const bool wrong = best_[at(rows[t])] != label;
      ++labels_;
      wrong_labels_ += wrong ? 1 : 0;
      Verdict& verdict = sequences_[sequence];
      verdict = std::max(verdict, wrong ? Verdict::wrong : Verdict::right);
    }
  }

  const Network<T>& network_;
  const Parameters<T>& parameters_;
  WrongLabels counts_;
  Team& team_;
  Index labels_ = 0, wrong_labels_ = 0;
  std::vector<Verdict> sequences_;
  std::vector<Symbol> best_;  // best labels by row of the batch
};

}  // namespace

template <class T>
std::unique_ptr<Judge<T>> label_judge(const Network<T>& network, const Parameters<T>& parameters, WrongLabels wrong,
                                      Team& team) {
  return std::make_unique<LabelJudge<T>>(network, parameters, wrong, team);
}

template void best_labels(const Head<float>&, const Batch&, Matrix<const float>, std::span<const float>, Team&,
                          std::vector<Symbol>&);
template void best_labels(const Head<double>&, const Batch&, Matrix<const double>, std::span<const double>, Team&,
                          std::vector<Symbol>&);
template std::unique_ptr<Judge<float>> label_judge(const Network<float>&, const Parameters<float>&, WrongLabels, Team&);
template std::unique_ptr<Judge<double>> label_judge(const Network<double>&, const Parameters<double>&, WrongLabels,
                                                    Team&);

}  // namespace unfold
