#pragma once
/// Searches the labels of sequences for networks that read earlier labels. Such a network predicts "F" from other
/// fields at the same position and from "previous F":
///
///   p(y_1 .. y_n | x_1 .. x_n) = prod_t p(y_t | x_1 .. x_t, y_1 .. y_{t-1})
///
///   LabelDecoder<float> decoder(network, parameters, examples, team);
///   std::vector<DecodedLabels> found = decoder.best(example, {.beam = 8, .best = 3});
///
/// The network is stepped through the sequence. At every step it reads the labels that the search has chosen before,
/// never the labels of the data. If several fields are read back, their labels are searched together.

#include <span>
#include <string>
#include <vector>

#include "unfold/data/examples/example_set.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/loss/network.h"

namespace unfold {

class Random;

/// An input "previous F" whose field is predicted.
struct LabelRead {
  std::string name;       ///< of the input
  FieldRead read;         ///< the field, and the distance
  std::size_t field = 0;  ///< index in DecodedLabels::labels
};
/// Returns the names of inputs that are earlier entries of predicted fields.
std::vector<LabelRead> label_reads(std::span<const std::string> reads, std::span<const std::string> predicts);
template <class T>
std::vector<LabelRead> label_reads(const Network<T>& network) {
  std::vector<std::string> reads, predicts;
  reads.reserve(network.inputs.size());
  predicts.reserve(network.heads.size());
  for (const NetworkInput& input : network.inputs) reads.push_back(input.field);
  for (const Head<T>& head : network.heads) predicts.push_back(head.field);
  return label_reads(reads, predicts);
}

struct DecodedLabels {
  std::vector<std::vector<Symbol>> labels;  ///< of every field that is read back: one symbol per position
  double log_probability = 0;               ///< of these labels together
};

struct LabelSearchOptions {
  Index beam = 1;  ///< labelings kept at each step; 1: greedy search
  Index best = 1;  ///< number of results; the beam is at least as wide
};

template <class T>
class LabelDecoder {
 public:
  /// Keeps references to all arguments. Throws UsageError if the network cannot be stepped from the first position to
  /// the last, or if a field that it reads back does not have independent labels (softmax).
  LabelDecoder(const Network<T>& network, const Parameters<T>& parameters, const ExampleSet& examples, Team& team);

  /// Returns the most probable labelings that beam search finds, best first. Ties are ordered by the labels that were
  /// chosen first.
  std::vector<DecodedLabels> best(Index example, const LabelSearchOptions& options);
  /// Draws a labeling from its distribution.
  DecodedLabels sample(Index example, Random& random);

 private:
  struct Input {
    FieldRead read;
    const FieldSpecification* field;
    const FieldColumn* column;  ///< null for a field that is read back
    std::size_t own;            ///< index of a field that is read back
    Signal signal;
  };
  struct Partial {
    State<T> state;
    DecodedLabels labels;
  };
  /// An extension of a labeling by one label for each field.
  struct Extension {
    std::size_t of = 0;
    std::vector<Symbol> labels = {};
    double log_probability = 0;
  };

  Partial start() const;
  void step(Index example, Index position, const DecodedLabels& before);
  std::vector<T> log_probabilities(std::size_t own) const;
  std::vector<Extension> extensions(std::size_t of, double log_probability, Index count) const;

  const ExampleSet& examples_;
  Stepper<T> stepper_;
  std::vector<Input> inputs_;
  std::vector<const Head<T>*> heads_;  // of the fields that are read back
};

}  // namespace unfold
