#pragma once
/// Models of data with fields: how well they predict, head by head.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/examples/example_batches.h"
#include "model/network/network_model.h"
#include "train/evaluation_metrics.h"

namespace unfold {

struct HeadFigures {
  std::string field, loss;
  bool once = false;    ///< predicted once an example
  Index predicted = 0;  ///< entries that were there to be predicted
  double nats = 0;      ///< total of these entries, in units of the data (not standardized)
  Measures measures = {};
  struct Mistake {
    std::string wanted, best;
    Index count;
  };
  std::vector<Mistake> mistakes = {};  ///< of symbols, most frequent first

  double nats_each() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};
struct FieldFigures {
  Index examples = 0, positions = 0;
  std::vector<HeadFigures> heads;
};
/// {"examples", "positions", "heads": {FIELD: {"predicted", "nats_per_position" or "nats_per_example", measures}}}.
nlohmann::ordered_json to_json(const FieldFigures& figures);

/// Of a model that finds trees: the parents of the nodes in those of the examples (Examples::parents).
template <class T>
std::vector<Index> found_parents(const NetworkModel<T>& model, const ExampleSet& examples, Team& team);

/// Throws DataError when a field that is predicted is not there, ModelError for predictions that are not finite. Where
/// the model reads a source, targets are found too, with a beam as wide as said (pair_figures.h).
template <class T>
FieldFigures evaluate_fields(const NetworkModel<T>& model, const ExampleSet& examples, Team& team, Index beam = 1);

/// One prediction: what a head says at a position, in units of the data.
template <class T>
struct PredictedRow {
  std::size_t head;
  Index example, position;    ///< within the example
  std::span<const T> signal;  ///< what the loss reads; of losses of whole sequences: log of posteriors, as logits
  /// Of losses of whole sequences: the label within the most probable ones; of labels without places the one that
  /// begins here, kNoSymbol: none.
  Symbol best = kNoSymbol;
};
/// Runs the model over all examples; `use` is called for every position of every example and every head, those of heads
/// that predict once an example at the last position only, in no particular order of examples.
template <class T>
void for_each_prediction(const NetworkModel<T>& model, const ExampleSet& examples, Team& team,
                         const std::function<void(const PredictedRow<T>&)>& use);

/// How surprising what was observed is, of one head: nats of each position, or of each example where it predicts once,
/// in units of the data; NaN where nothing is there to be predicted.
struct HeadScores {
  std::string field;
  bool once = false;
  std::vector<double> nats = {};
};
/// Throws as evaluate_fields.
template <class T>
std::vector<HeadScores> score_heads(const NetworkModel<T>& model, const ExampleSet& examples, Team& team);

/// Sum of ln(deviation): the amount that reverting the standardization adds to the nats of an entry.
double log_scale(const FieldSpecification& field);

/// Returns the number of positions that a network model reads at once: their outputs take at most 256 MB, but there is
/// at least one position. A network that needs whole examples still reads each example as a whole.
template <class T>
Index positions_at_once(const NetworkModel<T>& model);

/// How a network model's batches are made of examples.
ExampleBatchOptions batch_options(const NetworkLayout& layout);

}  // namespace unfold
