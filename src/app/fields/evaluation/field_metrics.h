#pragma once
/// Metrics of models for data with fields, for each head.

#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/selection/baselines.h"
#include "train/prediction_metrics.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

struct HeadFigures {
  std::string field, loss;
  bool once = false;    ///< predicted once per example
  Index predicted = 0;  ///< number of entries with a known target
  double nats = 0;      ///< total nats of these entries, in units of the data (not standardized)
  Measures measures = {};
  /// Of predicted numbers, one per entry; NaN for others. Of the first million entries.
  double median_absolute_error = std::numeric_limits<double>::quiet_NaN();
  /// The counts of a class, or of a type of chunks.
  struct ClassFigures {
    std::string name;
    MatchCounts counts;
  };
  std::vector<ClassFigures> classes = {}, chunks = {};  ///< of symbols, most frequent first
  struct Mistake {
    std::string wanted, best;
    Index count;
  };
  std::vector<Mistake> mistakes = {};  ///< wrong predictions of symbols, most frequent first

  double nats_each() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};
struct FieldFigures {
  Index examples = 0, positions = 0;
  std::vector<HeadFigures> heads;
  std::vector<ComparedBaseline> baselines = {};  ///< set by evaluate_on_fields
  std::optional<double> log_path_norm = {};      ///< set by evaluate_on_fields (example_path_norm.h)
};
/// {"examples", "positions", "heads": {FIELD: {"predicted", "nats_per_position" or "nats_per_example", measures}}}, and
/// "log_path_norm" and "baselines" if there are any. Heads of symbols also have "classes" ({"class", "count",
/// "predicted", "precision", "recall", "f1"}), for chunk labels "chunks" (the same with "type"), and "confusions"
/// ({"observed", "predicted", "count"}).
nlohmann::ordered_json to_json(const FieldFigures& figures);

/// Returns the baselines of each head for whose measure there is a result. `known` returns the statistics of the
/// training data of a field.
std::vector<ComparedBaseline> compared_baselines(const FieldFigures& figures,
                                                 const std::function<FieldStatistics(const std::string&)>& known,
                                                 const ExampleSet& measured, Index ahead);

/// For a model that finds trees: the parents of the nodes of the examples (Examples::parents).
template <class T>
std::vector<Index> found_parents(const NetworkModel<T>& model, const ExampleSet& examples, Team& team);

/// Throws DataError if a predicted field is missing, and ModelError for predictions that are not finite. If the model
/// reads a source, targets are also predicted by beam search with the given width (transduction_metrics.h). If it reads
/// earlier labels, its labels are found by a search with this width (decoded_labels.h), or predicted from the true
/// earlier labels if `true_labels` is set.
template <class T>
FieldFigures evaluate_fields(const NetworkModel<T>& model, const ExampleSet& examples, Team& team, Index beam = 1,
                             bool true_labels = false);

/// The prediction of one head at one position, in units of the data.
template <class T>
struct PredictedRow {
  std::size_t head;
  Index example, position;    ///< within the example
  std::span<const T> signal;  ///< the input of the loss; for sequence losses: log posteriors, as logits
  /// For sequence losses: the label in the most probable sequence; for unaligned labels: the label that begins here,
  /// kNoSymbol if none.
  Symbol best = kNoSymbol;
};
/// Runs the model over all examples. `use` is called for every position of every example and every head, but only at
/// the last position for heads that predict once per example. The order of the examples is unspecified. If the model
/// reads earlier labels, they are found by a search with the given beam width.
template <class T>
void for_each_prediction(const NetworkModel<T>& model, const ExampleSet& examples, Team& team,
                         const std::function<void(const PredictedRow<T>&)>& use, Index beam = 1);

/// Surprisal of the observed values for one head: nats of each position, or of each example if it predicts once, in
/// units of the data; NaN if there is no target.
struct HeadScores {
  std::string field;
  bool once = false;
  std::vector<double> nats = {};
};
/// Throws like evaluate_fields.
template <class T>
std::vector<HeadScores> score_heads(const NetworkModel<T>& model, const ExampleSet& examples, Team& team);

/// Sum of ln(deviation): the amount that reverting the standardization adds to the nats of an entry.
double log_scale(const FieldSpecification& field);

/// Returns the number of positions that a network model processes at once: their outputs take at most 256 MB, but there
/// is at least one position. A network that needs whole examples still reads each example as a whole.
template <class T>
Index positions_at_once(const NetworkModel<T>& model);

/// Returns how batches for a network model are built from examples.
ExampleBatchOptions batch_options(const NetworkLayout& layout);

}  // namespace unfold
