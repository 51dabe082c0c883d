#include "unfold/train/evaluate.h"

#include <algorithm>

#include "unfold/base/checks.h"

namespace unfold {

template <class T>
Evaluation Evaluator<T>::run(const Parameters<T>& parameters, BatchReader& reader, const Surprisal& surprisal,
                             const Judge& judge) {
  Evaluation result;
  std::vector<double> sums;
  State<T> state(*network_.plan, 1);
  pass_.set_parameters(parameters);
  if (finder_) finder_->set_parameters(parameters);
  Batch batch;
  while (reader.next(batch)) {
    if (finder_) finder_->find_best(batch);
    enter_batch(batch, *network_.plan, state);
    pass_.forward(batch, state);
    leave_batch(batch, state);
    if (judge) judge(batch, pass_.outputs());
    result.predicted += batch.predicted;
    result.symbols += batch.symbols;
    result.passages += static_cast<Index>(batch.carry.fresh.size());
    result.warmed += batch.structure.positions() - batch.symbols;
    const auto nats = pass_.nats();
    const PredictedRows predicted(batch, network_);
    require_length("batch: the list of passages", batch.passages.size(), batch.structure.sequences());
    require_length("batch: the list of places", batch.places.size(), batch.structure.sequences());
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      if (batch.passages[at(c)] < 0)
        throw UsageError("batch: there is no passage " + std::to_string(batch.passages[at(c)]) +
                         "; passages are numbered from 0");
      const std::size_t passage = at(batch.passages[at(c)]);
      if (passage >= sums.size()) sums.resize(passage + 1);
      const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        if (!predicted[rows[t]]) continue;
        const T row_nats = nats[at(rows[t])];
        sums[passage] += static_cast<double>(row_nats);
        if (surprisal) surprisal(batch.places[at(c)] + t, row_nats);
      }
    }
  }
  for (const double sum : sums) result.nats += sum;
  return result;
}

template <class T>
Evaluation Evaluator<T>::run(const Parameters<T>& parameters, const Corpus& corpus,
                             std::vector<std::vector<Passage>> streams, Index window, Symbol predict_after,
                             const Surprisal& surprisal) {
  StreamReader reader(corpus, window, predict_after);
  reader.start(std::move(streams));
  return run(parameters, reader, surprisal);
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace unfold
