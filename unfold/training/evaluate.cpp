#include "unfold/training/evaluate.h"

#include <algorithm>

namespace unfold {

template <class T>
Evaluation Evaluator<T>::run(const Parameters<T>& parameters, WindowStream& stream, const Surprisal& surprisal,
                             const Judge& judge) {
  Evaluation result;
  std::vector<double> sums;
  State<T> state(*network_.plan, 1);
  pass_.set_parameters(parameters);
  Window window;
  while (stream.next(window)) {
    enter_window(window, *network_.plan, state);
    pass_.forward(window, state);
    leave_window(window, state);
    if (judge) judge(window, pass_.output());
    result.predicted += window.predicted;
    result.symbols += window.symbols;
    result.runs += static_cast<Index>(window.fresh.size());
    result.warmed += window.structure.positions() - window.symbols;
    const auto nats = pass_.nats();
    for (Index c = 0; c < window.structure.sequences(); ++c) {
      const auto chain = static_cast<std::size_t>(c), run = static_cast<std::size_t>(window.runs[chain]);
      if (run >= sums.size()) sums.resize(run + 1);
      const Index* rows = window.structure.order().rows.data() + window.structure.item(c, 0);
      for (Index t = 0; t < window.structure.size(c); ++t) {
        if (!window.is_predicted(rows[t])) continue;
        const T row_nats = nats[static_cast<std::size_t>(rows[t])];
        sums[run] += static_cast<double>(row_nats);
        if (surprisal) surprisal(window.places[chain] + t, row_nats);
      }
    }
  }
  for (const double sum : sums) result.nats += sum;
  return result;
}

template <class T>
Evaluation Evaluator<T>::run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Run>> lanes,
                             Index window, Symbol predict_after, const Surprisal& surprisal) {
  LaneReader reader(corpus, window, predict_after);
  reader.start(std::move(lanes));
  return run(parameters, reader, surprisal);
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace unfold
