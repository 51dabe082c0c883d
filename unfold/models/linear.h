#pragma once
/// The model without layers: heads weigh what is read. With the loss crf it is the conditional random field of
/// templates over columns (data/templates.h), with softmax logistic regression.
///
/// Weights are those of pairs: a symbol that is read, and a label that was seen with it in training; with `all=true`
/// any label. Which pairs there are is a list (circuit/listed.h), made once from the training data, and kept in the
/// model file as two tensors, NAME/listing/begin and NAME/listing/outputs, NAME being the output of the head.
///
/// What is read may also weigh steps from label to label (the loss crf:steps=read): outputs are then n labels and
/// behind them n^2 steps. With several hidden states a label (hybrid:K) a pair is listed for each of them.
///
/// `hash=BITS`: texts are no symbols of their own, but those of each name share 2^BITS by their hash (Weinberger,
/// Dasgupta, Langford, Smola & Attenberg 2009): no text is kept, and what was never seen has the weights of its number.
///
/// `crf:template=FILE`, which only training knows, reads what a template of CRF++ names.

#include <memory>
#include <string>
#include <vector>

#include "unfold/capabilities/model.h"
#include "unfold/cells/cell.h"
#include "unfold/circuit/listed.h"
#include "unfold/data/example_set.h"
#include "unfold/models/spec.h"

namespace unfold {

struct LinearOptions {
  Index cut = 1, hash = 0;
  bool all = false;
  std::string steps = {};
};
template <class Visitor>
void describe(Visitor& v, LinearOptions& o) {
  v("cut", o.cut, "how often a text must occur in training to have weights", at_least(1));
  v("hash", o.hash, "bits: the texts of a name that is read share 2^bits rows of weights by their hash; 0: none does",
    range(0, Alphabet::kMostHashBits));
  v("all", o.all, "weights for all labels, not only those that a text was seen with");
  v.add({.name = "steps",
         .target = &o.steps,
         .help = "what weighs steps from label to label, with ; between; a name that ends in ! weighs nothing else"});
}

/// Its entry, which is no cell of the registry: it adds nothing.
const CellEntry& linear_model();

/// The fields of symbols among those that are read, in their order: the signals of a listing.
std::vector<std::string> listed_reads(const DataSpecification& data, const std::vector<std::string>& reads);

/// What the option `steps` names.
struct StepReads {
  std::vector<std::string> steps, alone;  ///< what weighs steps; those of them that weigh no labels

  static StepReads parse(std::string_view option);
  std::string option() const;
};

/// The pairs of what is read and the labels of a field in the examples. What was never seen in training, `<unk>`, has
/// none. `loss`: SPEC of what judges the field; empty: softmax. Throws DataError: no example has a label; UsageError
/// for a loss that does not score what the options name.
std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                          const std::string& labels, const LinearOptions& options,
                                          const std::string& loss);
inline std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                                 const std::string& labels, bool all) {
  return list_pairs(examples, reads, labels, LinearOptions{.all = all}, "");
}

/// The tensors of a listing, by the output that has it.
std::vector<std::string> listing_tensors(const std::string& output);
void add_listing(SafetensorsWriter& writer, const std::string& output, const Listing& listing);
/// Null: the file has none for this output. Throws ModelError.
std::shared_ptr<const Listing> read_listing(const ModelFile& file, const std::string& output,
                                            const std::vector<std::string>& reads, Index outputs);

}  // namespace unfold
