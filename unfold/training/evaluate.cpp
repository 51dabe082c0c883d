#include "unfold/training/evaluate.h"

#include <algorithm>

namespace unfold {

template <class T>
Evaluation Evaluator<T>::run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Run>> lanes,
                             Index window_length, Symbol predict_after,
                             const std::function<void(Index, T)>& surprisal) {
  Evaluation result;
  Index runs = 0;
  for (const auto& lane : lanes)
    for (const Run& run : lane) runs = std::max(runs, run.number + 1);
  if (runs == 0) return result;
  std::vector<double> sums(static_cast<std::size_t>(runs));
  State<T> state(*network_.plan, static_cast<Index>(lanes.size()));
  LaneReader reader(corpus, window_length, predict_after);
  reader.start(std::move(lanes));
  pass_.set_parameters(parameters);
  Window window;
  while (reader.next(window)) {
    enter_window(window, *network_.plan, state);
    pass_.forward(window, state);
    leave_window(window, state);
    result.predicted += window.predicted;
    result.symbols += window.symbols;
    const auto nats = pass_.nats();
    for (Index c = 0; c < window.structure.sequences(); ++c) {
      const auto chain = static_cast<std::size_t>(c);
      const Index* rows = window.structure.order().rows.data() + window.structure.item(c, 0);
      double& sum = sums[static_cast<std::size_t>(window.runs[chain])];
      for (Index t = 0; t < window.structure.size(c); ++t) {
        const auto row = static_cast<std::size_t>(rows[t]);
        if (window.targets[row] == kNoSymbol) continue;
        sum += static_cast<double>(nats[row]);
        if (surprisal) surprisal(window.places[chain] + t, nats[row]);
      }
    }
  }
  for (const double sum : sums) result.nats += sum;
  return result;
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace unfold
