/// Every kind of model reads independent sequences identically, regardless of what was read before, and starts the next
/// sequence after the end symbol.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "model/adaptive/learning.h"
#include "unfold/base/error.h"
#include "unfold/data/text/split.h"
#include "unfold/model/decoding/completion.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Four symbols, which `dna` requires; the first is the newline.
Alphabet line_alphabet() { return {SymbolKind::chars, {"\n", "a", "b", "c"}}; }

/// Lines of random length and letters; some repeat earlier ones.
std::string random_lines(int count, std::uint64_t seed) {
  Random random(seed, "lines");
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    std::string line;
    if (i > 3 && random.below(3) == 0) line = lines[random.below(lines.size())];
    for (std::uint64_t n = 3 + random.below(12); n > 0; --n) line += "abc"[random.below(random.below(3) + 1)];
    lines.push_back(line);
  }
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

Corpus corpus_of(const std::vector<std::string>& files, bool lines) {
  std::vector<Input> inputs;
  for (const std::string& file : files) inputs.push_back(Input::from_bytes("text", file));
  return Corpus::load(std::move(inputs), line_alphabet(), {.lines = lines});
}

/// Returns a model of this SPEC, fitted to lines or with random weights; null if the kind does not read symbols.
std::unique_ptr<SymbolModel> model_of(const std::string& spec, bool lines) {
  std::unique_ptr<SymbolModel> model;
  if (is_fitted_model(spec)) {
    auto fitted = make_fitted_model(spec, line_alphabet());
    const Corpus corpus = corpus_of({random_lines(60, 1)}, lines);
    Team team(1);
    fitted->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
    model = std::move(fitted);
  } else {
    try {
      auto network = std::make_unique<LanguageModel<float>>(spec, line_alphabet());
      network->initialize(3);
      model = std::move(network);
    } catch (const UsageError&) {
      return nullptr;
    }
  }
  model->configuration()["lines"] = lines;
  return model;
}

/// Returns a SPEC of every entry of the registry, and of the variants that are separate classes.
std::vector<std::string> all_specs() {
  std::vector<std::string> specs = {"ngram:3,smoothing=witten-bell",
                                    "ngram:3,sentences=yes",
                                    "ppm:3,memory=1",
                                    "ppm:0",
                                    "cm:1,level=fast",
                                    "cm:memory=1,row=5",
                                    "mix:ppm:2+ctw:6",
                                    "mix:cm:1,level=fast+gru:6"};
  for (const ModelHelp& help : all_models()) {
    const bool bare = help.name == "frequency" || help.name == "uniform";
    const std::string size = help.name == "cm"    ? "1"
                             : help.name == "dna" ? "14"
                             : help.name == "mix" ? "ppm:3+lstm:5"
                             : help.name == "ctw" ? "12"
                                                  : "4";
    specs.push_back(bare ? help.name : help.name + ":" + size);
  }
  return specs;
}

/// Calls check(model) for a model of every kind, with its SPEC as the trace.
void for_each_model(bool lines, const std::function<void(const SymbolModel&)>& check) {
  std::set<std::string> kinds;
  for (const std::string& spec : all_specs()) {
    std::unique_ptr<SymbolModel> model;
    try {
      model = model_of(spec, lines);
    } catch (const UsageError&) {  // a network without a default size, or one for data with fields
      continue;
    }
    if (!model) continue;
    SCOPED_TRACE(spec);
    kinds.insert(spec.substr(0, spec.find(':')));
    check(*model);
  }
  for (const char* kind :
       {"uniform", "frequency", "ngram", "hmm", "cm", "dna", "ctw", "ppm", "mix", "rnn", "lstm", "gru", "esn"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

double nats(Predictor& predictor, std::span<const Symbol> symbols) {
  double sum = 0;
  for (const Symbol x : symbols) {
    sum += predictor.surprisal(x);
    predictor.observe(x);
  }
  return sum;
}

std::vector<float> next(Predictor& predictor) {
  const std::span<const float> logs = predictor.log_probabilities();
  return {logs.begin(), logs.end()};
}

/// Sequences without a line ending, some of which contain contexts unseen in training.
std::vector<std::vector<Symbol>> independent_sequences() {
  Random random(5, "sequences");
  std::vector<std::vector<Symbol>> sequences;
  for (int i = 0; i < 10; ++i) {
    std::vector<Symbol>& sequence = sequences.emplace_back();
    for (std::uint64_t n = 4 + random.below(40); n > 0; --n)
      sequence.push_back(static_cast<Symbol>(1 + random.below(i % 2 == 0 ? 3 : 2)));
  }
  return sequences;
}

TEST(SequenceEnds, EveryOrderOfIndependentSequencesGivesTheSameScores) {
  std::vector<std::vector<Symbol>> sequences = independent_sequences();
  for_each_model(false, [&](const SymbolModel& model) {
    const auto predictor = model.predictor();
    const std::vector<float> first = next(*predictor);
    std::vector<double> alone;
    for (const auto& sequence : sequences) alone.push_back(nats(*model.predictor(), sequence));
    std::vector<std::size_t> order(sequences.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random random(7, "order");
    for (int permutation = 0; permutation < 4; ++permutation) {
      for (const std::size_t i : order) {
        predictor->reset();
        EXPECT_EQ(nats(*predictor, sequences[i]), alone[i]) << "sequence " << i << ", permutation " << permutation;
      }
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    }
    predictor->reset();
    EXPECT_EQ(next(*predictor), first);
  });
}

TEST(SequenceEnds, TwoFilesHaveTheSumOfTheirScores) {
  const std::string one = random_lines(8, 11), other = random_lines(9, 12);
  for (const bool lines : {false, true})
    for_each_model(lines, [&](const SymbolModel& model) {
      Team team(1);
      const auto score = [&](const std::vector<std::string>& files) {
        const Corpus corpus = corpus_of(files, lines);
        return model.evaluate(corpus, whole_corpus(corpus, "all"), team).nats;
      };
      const double sum = score({one}) + score({other});
      EXPECT_NEAR(score({one, other}), sum, 1e-12 * sum);
      EXPECT_NEAR(score({other, one}), sum, 1e-12 * sum);
    });
}

/// Matches with the training text are found regardless of how much is read in between, and do not extend into it.
TEST(SequenceEnds, LongReadingDoesNotMoveLearnedMatches) {
  Random random(9, "long");
  std::vector<Symbol> between(200'000);
  for (Symbol& x : between) x = static_cast<Symbol>(1 + random.below(3));
  const std::string text = random_lines(60, 1);
  const std::vector<Symbol> known = line_alphabet().encode(text.substr(text.size() - 120));
  for (const char* spec : {"cm:1", "cm:1,level=text", "dna:14", "ppm:3"}) {
    const auto model = model_of(spec, false);
    const auto predictor = model->predictor();
    const double once = nats(*predictor, known);
    predictor->reset();
    for (const Symbol x : between) predictor->observe(x);
    predictor->reset();
    EXPECT_EQ(nats(*predictor, known), once) << spec;
  }
}

TEST(SequenceEnds, TheNextLineStartsLikeTheFirst) {
  const std::vector<Symbol> line = line_alphabet().encode("abacb\n"), half = line_alphabet().encode("abc");
  for_each_model(true, [&](const SymbolModel& model) {
    ASSERT_EQ(model.sequence_end(), 0);
    const auto predictor = model.predictor();
    const std::vector<float> first = next(*predictor);
    nats(*predictor, line);
    EXPECT_EQ(next(*predictor), first);
    const auto clone = predictor->clone();
    nats(*clone, half);
    const auto fresh = model.predictor();
    nats(*fresh, half);
    EXPECT_EQ(next(*clone), next(*fresh));
  });
}

TEST(SequenceEnds, WithoutLinesAContextContinuesAcrossALineEnd) {
  const auto model = model_of("ngram:3", false);
  EXPECT_EQ(model->sequence_end(), kNoSymbol);
  const auto predictor = model->predictor();
  const std::vector<float> first = next(*predictor);
  nats(*predictor, line_alphabet().encode("ab\n"));
  EXPECT_NE(next(*predictor), first);
}

TEST(SequenceEnds, SamplesAfterAWholeLineEqualThoseWithoutAPrime) {
  const std::vector<Symbol> line = line_alphabet().encode("abacb\n");
  for_each_model(true, [&](const SymbolModel& model) {
    const auto drawn = [&](std::vector<Symbol> prime) {
      return sample(*model.predictor(), model.alphabet(), {.length = 40, .prime = std::move(prime)});
    };
    EXPECT_EQ(drawn(line), drawn({}));
    const auto best = [&](std::vector<Symbol> prime) {
      return complete(*model.predictor(), model.alphabet(), {.length = 5, .beam = 3, .prime = std::move(prime)})
          .front()
          .symbols;
    };
    EXPECT_EQ(best(line), best({}));
  });
}

TEST(SequenceEnds, OnlineModelsStartTheNextLine) {
  const std::vector<Symbol> line = line_alphabet().encode("abacb\n");
  for (const char* spec : {"ppm:3", "ctw:12", "cm:1", "mix:ppm:3+lstm:5", "lstm:5", "hmm:4", "ngram:3"}) {
    const auto model = model_of(spec, true);
    const auto streamed = learning_predictor(*model, {.window = 4, .ends = true});
    const auto by_hand = learning_predictor(*model, {.window = 4, .ends = true});
    for (int i = 0; i < 5; ++i) {
      by_hand->reset();
      EXPECT_EQ(nats(*streamed, line), nats(*by_hand, line)) << spec << ", line " << i;
    }
  }
}

/// Archives of trained models read all symbols as one sequence, as in earlier versions.
TEST(SequenceEnds, ArchivesOfLinesAreCodedAsOneSequence) {
  const std::vector<Symbol> text = line_alphabet().encode(random_lines(20, 13));
  for (const char* spec : {"hmm:4", "ngram:3", "lstm:5", "ppm:3", "ctw:12"}) {
    const auto lines = model_of(spec, true), running = model_of(spec, true);
    running->configuration()["lines"] = false;
    EXPECT_EQ(nats(*lines->archive_predictor(), text), nats(*running->archive_predictor(), text)) << spec;
    EXPECT_NE(nats(*lines->predictor(), text), nats(*running->predictor(), text)) << spec;
  }
}

/// Checks the next predictions and the surprisals of all streams against a predictor for each.
void expect_equal(Streams& streams, std::vector<std::unique_ptr<Predictor>>& alone, std::span<const Symbol> symbols) {
  std::vector<double> nats(symbols.size());
  streams.surprisals(symbols, nats);
  const Matrix<const float> rows = streams.log_probabilities();
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(nats[i], symbols[i] == kNoSymbol ? 0 : alone[i]->surprisal(symbols[i])) << "stream " << i;
    const std::vector<float> expected = next(*alone[i]);
    const float* const row = rows.row(static_cast<Index>(i));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), row)) << "stream " << i;
  }
}

/// In each round, a random part of the streams gets a symbol, some streams are reset, and not every prediction is read.
void expect_streams_like_predictors(const SymbolModel& model, int threads) {
  constexpr int kStreams = 9, kRounds = 25;
  Team team(threads);
  const std::unique_ptr<Streams> streams = model.streams(kStreams, team);
  std::vector<std::unique_ptr<Predictor>> alone;
  for (int i = 0; i < kStreams; ++i) alone.push_back(model.predictor());
  Random random(4, "streams");
  std::vector<Symbol> symbols(kStreams);
  for (int round = 0; round < kRounds; ++round) {
    const bool all = round % 3 == 0;
    for (Symbol& x : symbols) x = all || random.below(2) == 0 ? static_cast<Symbol>(random.below(4)) : kNoSymbol;
    if (random.below(3) > 0) expect_equal(*streams, alone, symbols);
    streams->observe(symbols);
    for (std::size_t i = 0; i < symbols.size(); ++i)
      if (symbols[i] != kNoSymbol) alone[i]->observe(symbols[i]);
    if (random.below(4) > 0) continue;
    const std::uint64_t restarted = random.below(kStreams);
    streams->reset(static_cast<Index>(restarted));
    alone[restarted]->reset();
  }
  streams->reset_all();
  for (const auto& predictor : alone) predictor->reset();
  expect_equal(*streams, alone, symbols);
}

TEST(Streams, HaveTheBitsOfAPredictorForEach) {
  for (const bool lines : {false, true})
    for_each_model(lines, [](const SymbolModel& model) {
      for (const int threads : {1, 3}) expect_streams_like_predictors(model, threads);
    });
  LanguageModel<double> precise("lstm:5,layers=2", line_alphabet());
  precise.initialize(6);
  expect_streams_like_predictors(precise, 2);
}

TEST(Streams, RefuseWrongArguments) {
  const auto model = model_of("gru:4", false), large = model_of("ppm:3,memory=1", false);
  Team team(1);
  EXPECT_THROW(model->streams(0, team), UsageError);
  EXPECT_THROW(large->streams(65, team), UsageError);
  const auto streams = model->streams(2, team);
  std::vector<double> nats(2);
  EXPECT_THROW(streams->observe(std::vector<Symbol>{1}), UsageError);
  EXPECT_THROW(streams->observe(std::vector<Symbol>{1, 4}), UsageError);
  EXPECT_THROW(streams->surprisals(std::vector<Symbol>{1, -2}, nats), UsageError);
  EXPECT_THROW(streams->surprisals(std::vector<Symbol>{1, 2}, std::span(nats).first(1)), UsageError);
  EXPECT_THROW(streams->reset(2), UsageError);
}

}  // namespace
}  // namespace unfold
