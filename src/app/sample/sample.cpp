#include "app/sample/sample.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/fields/condition.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/field_model.h"
#include "app/sample/hidden_markov.h"
#include "app/sample/number_sequences.h"
#include "app/settings/line_lists.h"
#include "base/utf8.h"
#include "model/decoding/line_sampling.h"
#include "model/finite.h"
#include "model/registry/run_folder.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

Symbol last_of(const std::vector<Symbol>& symbols) { return symbols.empty() ? kNoSymbol : symbols.back(); }

/// Decodes symbols and passes the text on block by block, so a long sample needs little memory and appears immediately.
class BlockStream {
 public:
  using Use = std::function<void(const SampledBlock&)>;
  BlockStream(const Alphabet& alphabet, Symbol previous, Index number, const Use& use)
      : alphabet_(alphabet), previous_(previous), number_(number), use_(use) {}
  void add(Symbol symbol) {
    if (block_.size() == kBlock) flush(false);
    block_.push_back(symbol);
  }
  void end() { flush(true); }

 private:
  void flush(bool last) {
    use_({.number = number_,
          .text = alphabet_.decode(block_, previous_),
          .symbols = static_cast<Index>(block_.size()),
          .last = last});
    previous_ = last_of(block_);
    block_.clear();
  }

  static constexpr std::size_t kBlock = 256;
  const Alphabet& alphabet_;
  Symbol previous_;
  const Index number_;
  const Use& use_;
  std::vector<Symbol> block_;
};

}  // namespace

std::vector<Symbol> encode_prime(const Alphabet& alphabet, const std::string& text) {
  std::vector<Symbol> known = alphabet.encode(text, UnknownPolicy::skip);
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const Alphabet::Token token = alphabet.next_token(text, position);
    if (token.symbol == kNoSymbol && !token.text.empty())
      throw DataError(fmt::format(
          "--prime: \"{}\" at offset {} is not in the alphabet of {} {}; leave it out, or use a model that was trained "
          "on data that contains it",
          alphabet.shown(token), token.text.data() - text.data(), alphabet.size(), to_string(alphabet.kind())));
  }
  return known;
}

bool samples_lines(const std::string& model) { return load_model(model)->reads_lines(); }

void sample(const SampleRequest& request, const std::function<void(const SampledBlock&)>& use) {
  SamplingOptions sampling = request.sampling;
  validate(sampling);
  if (!request.given.empty())
    throw UsageError(
        "--given applies only to models that read a source or predict whole sequences (train --ends); for text, use "
        "--prime");
  const std::unique_ptr<SymbolModel> model = load_model(request.model);
  const Alphabet& alphabet = model->alphabet();
  if (!request.prime.empty()) sampling.prime = encode_prime(alphabet, request.prime);
  const LineEnd end{.symbol = model->sequence_end(),
                    .may_be_first = model->configuration().value(kEmptyLinesKey, true)};
  // With adaptive models, samples must not learn from each other.
  const std::unique_ptr<Predictor> fresh = finite_predictor(*model, request.model);
  for (sampling.number = 0; sampling.number < request.count; ++sampling.number) {
    BlockStream blocks(alphabet, last_of(sampling.prime), sampling.number, use);
    const auto add = [&](Symbol symbol) { blocks.add(symbol); };
    if (request.by_line)
      sample_line(*fresh->clone(), sampling, end, add);
    else
      sample(*fresh->clone(), alphabet, sampling, add);
    blocks.end();
  }
}

std::vector<SampledText> sample(const SampleRequest& request) {
  std::vector<SampledText> result;
  sample(request, [&](const SampledBlock& block) {
    if (block.number == static_cast<Index>(result.size())) result.emplace_back();
    result.back().text += block.text;
    result.back().symbols += block.symbols;
  });
  return result;
}

namespace {

void require_no_prime(const SampleRequest& request) {
  if (!request.prime.empty() || !request.sampling.stop.empty())
    throw UsageError("--prime and --stop apply only to models of running text, not to whole sequences; leave them out");
}

/// Calls use(model, examples that contain only the given fields, team).
template <class Use>
void with_given_examples(const SampleRequest& request, Index threads, const Use& use) {
  with_network_model(request.model, [&]<class T>(const NetworkModel<T>& model) {
    if (!reads_source(model.data()) && !predicts_whole_sequences(model))
      throw ModelError(
          fmt::format("{}: {}, which reads {}, is not a model of symbols; use it with predict, score, eval or info, or "
                      "train with --ends for sampling whole sequences",
                      request.model, model.spec_text(), model.data().source));
    const Examples examples = conditioned_examples(model, request.given, request.count);
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {});
    Team team(thread_count(threads));
    use(model, set, team);
  });
}

}  // namespace

std::vector<SampledSequence> sample_sequences(const SampleRequest& request, Index threads) {
  validate(request.sampling);
  require_no_prime(request);
  std::vector<SampledSequence> result(at(request.count));
  with_given_examples(request, threads, [&]<class T>(const NetworkModel<T>& model, const ExampleSet& set, Team& team) {
    const FieldSpecification& field = model.data().field(target_field(model));
    const TransduceOptions options{.longest = request.sampling.length, .filters = request.sampling};
    for_each_transduction<T>(model, set, options, 1, request.sampling.seed, team,
                             [&](Index example, std::vector<Transduced>& found) {
                               const Transduced& sequence = found.front();
                               result[at(example)] = {.text = target_text(field, sequence.symbols),
                                                      .symbols = static_cast<Index>(sequence.symbols.size()),
                                                      .ended = sequence.ended,
                                                      .nats = -sequence.log_probability};
                             });
  });
  return result;
}

SampledNumberSequences sample_hidden_markov(const SampleRequest& request) {
  validate(request.sampling);
  require_no_prime(request);
  if (!request.given.empty()) throw UsageError("--given does not apply to a hidden Markov model, which has no inputs");
  return with_network_model(request.model, [&]<class T>(const NetworkModel<T>& network) {
    const HiddenMarkovModel<T> model(network);
    SampledNumberSequences result{.columns = model.names(), .sequences = {}};
    for (Index i = 0; i < request.count; ++i) {
      SampledNumbers& sequence = result.sequences.emplace_back();
      DrawnRun run = model.draw(request.sampling.length, request.sampling.seed, i, &sequence.nats);
      sequence.values = std::move(run.rows);
      sequence.states = std::move(run.states);
    }
    return result;
  });
}

SampledNumberSequences sample_number_sequences(const SampleRequest& request, Index threads) {
  validate(request.sampling);
  require_no_prime(request);
  SampledNumberSequences result{.columns = {}, .sequences = std::vector<SampledNumbers>(at(request.count))};
  with_given_examples(request, threads, [&]<class T>(const NetworkModel<T>& model, const ExampleSet& set, Team& team) {
    const FieldSpecification& field = model.data().field(target_field(model));
    for (Index i = 0; i < field.size; ++i)
      result.columns.push_back(field.size > 1 ? fmt::format("{}.{}", field.name, i + 1) : field.name);
    const DrawOptions options{.longest = request.sampling.length, .seed = request.sampling.seed};
    draw_number_sequences<T>(model, set, options, team, [&](Index example, DrawnNumbers& drawn) {
      result.sequences[at(example)] = {.values = std::move(drawn.values), .ended = drawn.ended, .nats = drawn.nats};
    });
  });
  return result;
}

double CompletedText::bits() const { return unfold::bits(-completion.log_probability); }

double CompletedText::probability() const {
  double probability = completion.log_probability;
  vector_exp(&probability, &probability, 1);
  return probability;
}

std::vector<CompletedText> complete(const CompleteRequest& request) {
  BeamOptions beam = request.beam;
  validate(beam);
  const std::unique_ptr<SymbolModel> model = load_model(request.model);
  const Alphabet& alphabet = model->alphabet();
  if (!request.prime.empty()) beam.prime = encode_prime(alphabet, request.prime);
  // Each line is a separate sequence, which a text to continue belongs to.
  if (beam.stop.empty() && model->reads_lines()) beam.stop = "\n";
  std::vector<CompletedText> result;
  for (Completion& completion : complete(*finite_predictor(*model, request.model), alphabet, beam)) {
    CompletedText text{.completion = {}, .text = alphabet.decode(completion.symbols, last_of(beam.prime)), .names = {}};
    for (const Symbol symbol : completion.symbols) text.names.push_back(alphabet.name(symbol));
    text.completion = std::move(completion);
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace unfold
