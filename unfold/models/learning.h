#pragma once
/// Models that learn while they read, from nothing: `cm`, `dna`, `ppm`, `ctw`, `mix`, and recurrent networks. By SPEC.
///
///   auto predictor = make_learner("mix:lstm:128+ppm:5", Alphabet::all_bytes());

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options.h"
#include "unfold/capabilities/symbol_model.h"

namespace unfold {

/// How a recurrent network learns while it reads. Others only use `ends`.
struct LearningOptions {
  std::string optimizer = {};  ///< SPEC; empty: the default
  Index window = 0;            ///< symbols per step; 0: the default
  /// Whether a model that goes on learning knows where sequences end: the next one begins after the symbol that ends
  /// one, and the last window, which may be shorter, is learnt from. Archives are coded without.
  bool ends = false;
};

/// A predictor that has read nothing. Throws UsageError: an unknown name or option, an alphabet that is too large.
std::unique_ptr<Predictor> make_learner(std::string_view spec, const Alphabet& alphabet,
                                        const LearningOptions& options = {});

/// Bytes that such a predictor takes before the first symbol, about, without making it. Throws as `make_learner`.
double learner_memory(std::string_view spec, const Alphabet& alphabet);

/// The canonical form of a SPEC of such a model.
std::string canonical_learner(std::string_view spec);
/// True when it is, or mixes, a recurrent network: whose cost grows with the alphabet. REQUIRES a valid SPEC.
bool has_network(std::string_view spec);
/// Whether a fitted model of this name is made by reading, and can read on: `ppm`, `ctw`, `cm`, `dna`, `mix`.
bool is_learner(std::string_view name);
/// The options of a model of this name, for help texts; none for `mix`.
std::vector<OptionHelp> learner_options(std::string_view name);

/// A trained model that goes on learning. The model must outlive the predictor.
std::unique_ptr<Predictor> learning_predictor(const SymbolModel& model, const LearningOptions& options = {});

}  // namespace unfold
