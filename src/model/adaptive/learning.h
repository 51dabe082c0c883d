#pragma once
/// Models that learn online, from an untrained state: `cm`, `dna`, `ppm`, `ctw`, `mix`, and recurrent networks. They
/// are created by SPEC.
///
///   auto predictor = make_learner("mix:lstm:128+ppm:5", Alphabet::all_bytes());

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/options.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Options for online learning of a recurrent network; the other models do not use them.
struct LearningOptions {
  std::string optimizer = {};  ///< SPEC; empty: the default
  Index window = 0;            ///< symbols per step; 0: the default
  bool ends = false;           ///< also learn from the end of a sequence if it is shorter than a window
};

/// Creates an untrained predictor. Throws UsageError for an unknown name or option, and for an alphabet that is too
/// large.
std::unique_ptr<Predictor> make_learner(std::string_view spec, const Alphabet& alphabet,
                                        const LearningOptions& options = {});

/// Returns the approximate initial size of such a predictor in bytes, without creating it. Throws the same exceptions
/// as `make_learner`.
double learner_memory(std::string_view spec, const Alphabet& alphabet);

/// Returns the canonical form of the SPEC of such a model.
std::string canonical_learner(std::string_view spec);
/// Returns whether such a model is or contains a recurrent network, whose running time grows with the alphabet.
/// REQUIRES a valid SPEC.
bool has_network(std::string_view spec);
/// Returns whether this is the name of a learner, a model that is fitted by reading the data once and can continue to
/// learn: `ppm`, `ctw`, `cm`, `dna` or `mix`.
bool is_learner(std::string_view name);
/// Returns the options of a model with this name, for help texts; empty for `mix`.
std::vector<OptionHelp> learner_options(std::string_view name);

/// Returns a predictor that starts from a trained model and continues to learn. The model must outlive it.
std::unique_ptr<Predictor> learning_predictor(const SymbolModel& model, const LearningOptions& options = {});

}  // namespace unfold
