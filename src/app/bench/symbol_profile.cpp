#include "app/bench/symbol_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/bench/peak_performance.h"
#include "compression/symbol_coder.h"
#include "model/adaptive/learning.h"
#include "model/adaptive/replay_model.h"
#include "model/hmm/forward_backward_lanes.h"
#include "model/hmm/hmm.h"
#include "model/ngram/ngram.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns a clock: CPU time for a single thread, which excludes other load; wall-clock time for several threads.
double (*clock_of(const Team& team))() { return team.size() == 1 ? processor_seconds_now : seconds_now; }

/// The minimum times of several pieces of work that are run alternately.
class InTurns {
 public:
  explicit InTurns(double seconds, double (*clock)() = processor_seconds_now) : seconds_(seconds), clock_(clock) {}
  /// REQUIRES the same order of work in every round.
  void add(const std::function<void()>& work) {
    if (next_ == least_.size()) least_.resize(next_ + 1, std::numeric_limits<double>::infinity());
    const double start = clock_();
    work();
    least_[next_] = std::min(least_[next_], clock_() - start);
    ++next_;
  }
  bool another_round() {
    next_ = 0;
    return rounds_++ < kLeastRounds || seconds_now() - start_ < seconds_;
  }
  double least(std::size_t work) const { return least_.at(work); }

 private:
  static constexpr int kLeastRounds = 2;
  double seconds_, start_ = seconds_now();
  double (*clock_)();
  int rounds_ = 0;
  std::size_t next_ = 0;
  std::vector<double> least_;
};

Alphabet bytes_that_occur(const std::string& text) {
  std::string bytes = text;
  std::ranges::sort(bytes, {}, [](char c) { return static_cast<unsigned char>(c); });
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  std::vector<std::string> names;
  for (const char byte : bytes) names.emplace_back(1, byte);
  return {SymbolKind::bytes, std::move(names)};
}

// ----------------------------------------------------------------------------------------------------- online learners

/// Input of the range coder: P(yes) / 2^bits, or the interval [first, first + size) of a total (if bits = 0).
struct CodedDecision {
  std::uint32_t first = 0, size = 0, total = 0;
  int bits = 0;
};

class DecisionRecorder final : public DecisionCoder {
 public:
  explicit DecisionRecorder(std::vector<CodedDecision>& to) : to_(to) {}
  bool decide(bool answer, std::uint32_t yes_p) override {
    constexpr int kBits = 16;
    to_.push_back({.first = answer ? 1U : 0U, .size = yes_p, .bits = kBits});
    return answer;
  }
  std::uint32_t place(std::uint32_t place, std::uint32_t) override { return place; }
  void take(std::uint32_t first, std::uint32_t size, std::uint32_t total) override {
    to_.push_back({.first = first, .size = size, .total = total});
  }

 private:
  std::vector<CodedDecision>& to_;
};

/// Records the decisions by which a coder encodes a symbol, bit by bit.
void read_bits(BitwisePredictor& predictor, Symbol symbol, std::vector<CodedDecision>& to) {
  const BitTree& tree = predictor.tree();
  BitPath path = 1;
  for (int depth = 0; depth < tree.bits(); ++depth) {
    const int bit = tree.bit(symbol, depth);
    if (tree.open(path, depth)) {
      to.push_back({.first = static_cast<std::uint32_t>(bit),
                    .size = predictor.probability_of_one(path, depth),
                    .bits = kBitPrecision});
      predictor.learn(path, depth, bit);
    }
    path = 2 * path + static_cast<BitPath>(bit);
  }
  predictor.finish(symbol);
}

/// Returns the decisions of a text; empty for models that predict the distribution over all symbols at once.
std::vector<CodedDecision> decisions_of(Predictor& predictor, std::span<const Symbol> text) {
  std::vector<CodedDecision> decisions;
  if (auto* bitwise = dynamic_cast<BitwisePredictor*>(&predictor)) {
    for (const Symbol x : text) read_bits(*bitwise, x, decisions);
  } else if (auto* deciding = dynamic_cast<DecisionPredictor*>(&predictor)) {
    DecisionRecorder recorder(decisions);
    for (const Symbol x : text) deciding->code(x, recorder);
  }
  return decisions;
}

std::string coded(std::span<const CodedDecision> decisions) {
  RangeEncoder coder;
  for (const CodedDecision& d : decisions) {
    if (d.bits > 0)
      coder.encode_bit(static_cast<int>(d.first), d.size, d.bits);
    else
      coder.encode_share(d.first, d.size, d.total);
  }
  return coder.finish();
}

double bytes_of_decision(const Predictor& predictor) {
  if (const auto* bitwise = dynamic_cast<const BitwisePredictor*>(&predictor)) return bitwise->decision_bytes();
  if (const auto* deciding = dynamic_cast<const DecisionPredictor*>(&predictor)) return deciding->decision_bytes();
  return 0;
}

std::string encoded(Predictor& predictor, std::span<const Symbol> text) {
  SymbolEncoder encoder(predictor);
  for (const Symbol x : text) encoder.encode(x);
  return encoder.finish();
}

/// Returns the seconds per decision, or per distribution, when all data stays in the L1 and L2 caches: a text of two
/// letters with unequal frequencies.
double near_seconds(const std::string& model, const Alphabet& alphabet, double seconds) {
  constexpr std::size_t kLength = 1 << 13;
  Random random(1, "two letters");
  std::vector<Symbol> text(kLength);
  for (Symbol& x : text) x = alphabet.find(random.uniform() < 0.7 ? "a" : "b");
  const std::unique_ptr<Predictor> predictor = make_learner(model, alphabet);
  decisions_of(*predictor, text);  // the model adapts to the text before the measurement
  InTurns turns(seconds);
  while (turns.another_round()) turns.add([&] { encoded(*predictor, text); });
  const std::size_t decisions = decisions_of(*predictor, text).size();
  return turns.least(0) / static_cast<double>(decisions > 0 ? decisions : kLength);
}

void measure_learner(SymbolProfile& cost, const std::string& text, double seconds) {
  const Alphabet alphabet = Alphabet::all_bytes();
  const std::vector<Symbol> symbols = alphabet.encode(text);
  const auto per_symbol = 1 / static_cast<double>(symbols.size());
  std::unique_ptr<Predictor> predictor = make_learner(cost.model, alphabet);
  const double bytes = 2 * bytes_of_decision(*predictor);  // read and written
  const std::vector<CodedDecision> decisions = decisions_of(*predictor, symbols);

  enum Work : std::size_t { kEncoding, kDecoding, kCoder };
  InTurns turns(seconds);
  while (turns.another_round()) {
    predictor = make_learner(cost.model, alphabet);
    std::string code;
    turns.add([&] { code = encoded(*predictor, symbols); });
    predictor = make_learner(cost.model, alphabet);
    turns.add([&] {
      SymbolDecoder decoder(*predictor, code);
      for (const Symbol x : symbols)
        if (decoder.decode() != x) throw VerificationError(cost.model + ": the decoded text differs from the input");
    });
    turns.add([&] { coded(decisions); });
  }
  const double operations = decisions.empty() ? 1 : static_cast<double>(decisions.size()) * per_symbol;
  const double near = near_seconds(cost.model, alphabet, seconds / 4) * operations;
  const double encoding = turns.least(kEncoding) * per_symbol, decoding = turns.least(kDecoding) * per_symbol;
  const double coder = turns.least(kCoder) * per_symbol;
  cost.unit = decisions.empty() ? "distributions" : "decisions";
  if (decisions.empty())
    cost.lines = {{"model and coder", operations, 0, encoding, near}};
  else
    cost.lines = {
        {"model", operations, bytes * operations, std::max(0.0, encoding - coder), std::max(0.0, near - coder)},
        {"coder", operations, 0, coder, coder}};
  cost.beside = {{"decoding", operations, bytes * operations, decoding, near}};
}

// ----------------------------------------------------------------------------------------------- hidden Markov models

void measure_hmm(SymbolProfile& cost, const std::string& text, Index states, Team& team, double seconds) {
  const Alphabet alphabet = bytes_that_occur(text);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  const Split all = whole_corpus(corpus, "training");
  const auto symbols = static_cast<double>(corpus.symbols());
  const SequenceReader read = [&](Index, Range range) { return corpus.read(0, range); };
  const HmmParameters start = HmmParameters::random(states, alphabet.size(), 1, 0);
  HmmMemory memory, memory_forward;
  enum Work : std::size_t { kForward, kWalk, kIteration };
  double (*const clock)() = clock_of(team);
  InTurns turns(seconds, clock);
  while (turns.another_round()) {
    const HmmTables tables(start);
    turns.add([&] { run_lanes(tables, {corpus.symbols()}, read, {.backward = false}, team, memory_forward); });
    turns.add([&] { run_lanes(tables, {corpus.symbols()}, read, {}, team, memory); });
    HmmParameters hmm = start;
    turns.add([&] { reestimate(hmm, corpus, all, 0.01, team, &memory); });
  }
  const double peak = measure_peak_rates(team, clock).flops / 2;  // flops are measured in float; a vector holds half as
                                                                  // many doubles
  const auto n = static_cast<double>(states), row = static_cast<double>(HmmTables(start).width) * sizeof(double);
  const double product = 2 * n * n, forward = turns.least(kForward) / symbols, walk = turns.least(kWalk) / symbols;
  cost.unit = "multiplications and additions";
  cost.lines = {{"forward", product, row, forward, product / peak},
                {"backward, counts", 2 * product, row, walk - forward, 2 * product / peak},
                {"new parameters", 0, 0, std::max(0.0, turns.least(kIteration) / symbols - walk), 0}};
}

// ------------------------------------------------------------------------------------------------------------- n-grams

/// Returns the number of n-gram lookups of a predictor while it reads a text: one per known context.
double lookups_of(const NgramTrie& trie, std::span<const Symbol> text) {
  std::vector<std::uint32_t> nodes = {trie.begin()};  // nodes of the last 1, 2, ... symbols
  double count = 0;
  for (const Symbol symbol : text) {
    const auto x = static_cast<std::uint32_t>(symbol);
    std::vector<std::uint32_t> next = {x};
    for (std::size_t k = 0; k < nodes.size() && static_cast<Index>(k) + 1 < trie.order(); ++k) {
      ++count;
      const std::uint32_t node = trie.child(static_cast<Index>(k) + 1, nodes[k], x);
      if (node == NgramTrie::kNone) break;
      next.push_back(node);
    }
    if (static_cast<Index>(next.size()) >= trie.order()) next.resize(at(std::max<Index>(trie.order() - 1, 1)));
    nodes = std::move(next);
  }
  return count;
}

void measure_ngrams(SymbolProfile& cost, const std::string& text, Team& team, double seconds) {
  constexpr double kNgramBytes = 32;  // during estimation (ngram.h)
  const Alphabet alphabet = bytes_that_occur(text);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  const Split all = whole_corpus(corpus, "training");
  const auto symbols = static_cast<double>(corpus.symbols());
  const std::vector<Symbol> read = corpus.read(0, {0, corpus.symbols()});
  const std::unique_ptr<FittedModel> model = make_fitted_model(cost.model, alphabet);
  const auto& ngrams = dynamic_cast<const NgramModel&>(*model);

  std::vector<std::string> stages;  // the stages, in the order in which `fit` reports them
  std::map<std::string, double> least;
  double (*const clock)() = clock_of(team);
  InTurns turns(seconds, clock);
  while (turns.another_round()) {
    std::map<std::string, double> took;
    std::string present;
    double since = 0;
    const auto enter = [&](const std::string& stage, double) {
      const double now = clock();
      if (!present.empty()) took[present] += now - since;
      if (!stage.empty() && std::ranges::find(stages, stage) == stages.end()) stages.push_back(stage);
      present = stage;
      since = now;
    };
    turns.add([&] {
      model->fit({.corpus = corpus, .training = all}, {.progress = enter}, team);
      enter("", 1);
    });
    for (const auto& [stage, time] : took) least[stage] = least.contains(stage) ? std::min(least[stage], time) : time;
    const std::unique_ptr<Predictor> predictor = model->predictor();
    turns.add([&] {
      for (const Symbol x : read) predictor->log_probability(x), predictor->observe(x);
    });
  }
  const NgramTrie& trie = ngrams.trie();
  double made = 0;
  for (Index n = 1; n <= trie.order(); ++n) made += static_cast<double>(trie.size(n));
  const double memory_rate = measure_peak_rates(team, clock).bytes_from_memory;
  cost.unit = "n-grams";
  for (const std::string& stage : stages) {
    const bool counting = stage == "counting";  // a key and a count, written and read
    const double operations = counting ? 1 : made / symbols;
    const double bytes =
        counting ? 2.0 * (static_cast<double>(trie.order()) + 1) * sizeof(std::uint32_t) : kNgramBytes * operations;
    cost.lines.push_back({stage, operations, bytes, least[stage] / symbols, bytes / memory_rate});
  }
  constexpr double kLine = 64;
  const double lookups = lookups_of(trie, read) / symbols;
  cost.beside = {{"reading", lookups, kLine * lookups, turns.least(1) / symbols,
                  lookups * seconds_to_fetch_a_line(static_cast<Index>(kNgramBytes / 2 * made), clock)}};
}

double sum_of(const std::vector<ProfileLine>& lines, double ProfileLine::*of) {
  return std::accumulate(lines.begin(), lines.end(), 0.0,
                         [&](double sum, const ProfileLine& line) { return sum + line.*of; });
}

std::string cost_row(const ProfileLine& line) {
  return fmt::format("{:<20} {:>10.2f} {:>10.1f} {:>10.2f} {:>12.2f} {:>7.0f} %\n", line.stage, line.operations,
                     line.bytes, line.seconds * 1e9, line.attainable_seconds * 1e9,
                     line.seconds > 0 ? 100 * line.attainable_seconds / line.seconds : 0);
}

nlohmann::ordered_json cost_lines(const std::vector<ProfileLine>& lines) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ProfileLine& line : lines)
    rows.push_back({{"stage", line.stage},
                    {"operations", line.operations},
                    {"bytes", line.bytes},
                    {"seconds", line.seconds},
                    {"attainable_seconds", line.attainable_seconds}});
  return rows;
}

}  // namespace

double SymbolProfile::seconds() const { return sum_of(lines, &ProfileLine::seconds); }
double SymbolProfile::attainable_seconds() const { return sum_of(lines, &ProfileLine::attainable_seconds); }

SymbolProfile measure_symbol_cost(const std::string& model, const std::string& text, Team& team, double seconds) {
  constexpr std::size_t kFewest = 1000;
  if (text.size() < kFewest)
    throw UsageError(
        fmt::format("a text of {} bytes is too short for a measurement; at least {} are needed", text.size(), kFewest));
  SymbolProfile cost{.model = canonical_model(model), .symbols = static_cast<Index>(text.size())};
  if (!is_fitted_model(model))
    throw UsageError(fmt::format("{} is trained by gradients; measure its training step instead", cost.model));
  const std::unique_ptr<FittedModel> made = make_fitted_model(cost.model, Alphabet::all_bytes());
  if (const auto* hmm = dynamic_cast<const HmmModel*>(made.get()))
    measure_hmm(cost, text, hmm->parameters().states, team, seconds);
  else if (dynamic_cast<const NgramModel*>(made.get()) != nullptr)
    measure_ngrams(cost, text, team, seconds);
  else if (dynamic_cast<const ReplayModel*>(made.get()) != nullptr)
    measure_learner(cost, text, seconds);
  else
    throw UsageError(fmt::format("profiling is not supported for {}", cost.model));
  return cost;
}

std::string artificial_text(Index bytes) {
  constexpr std::uint64_t kWords = 4096, kFollowers = 16, kLongest = 8;
  constexpr std::string_view kOften = "eeeetttaaooiinnsshhrrdlucmfwypvbgk";
  Random random(1, "made-up text");
  std::vector<std::string> words(kWords);
  for (std::string& word : words)
    for (std::uint64_t letters = 1 + random.below(kLongest); letters > 0; --letters)
      word += kOften[random.below(kOften.size())];
  const auto any = [&] {  // rank r has a probability proportional to 1 / r
    std::uint64_t most = 1;
    while (most < kWords && random.below(8) != 0) most *= 2;
    return random.below(most);
  };
  std::vector<std::array<std::uint64_t, kFollowers>> followers(kWords);
  for (auto& of : followers)
    for (std::uint64_t& word : of) word = any();
  std::string text;
  std::uint64_t word = 0;
  for (Index in_line = 0; static_cast<Index>(text.size()) < bytes;) {
    word = random.below(4) == 0 ? any() : followers[word][random.below(kFollowers)];
    text += words[word];
    in_line = in_line < 12 ? in_line + 1 : 0;
    text += in_line == 0 ? '\n' : ' ';
  }
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

std::string to_text(const SymbolProfile& cost) {
  std::string text = fmt::format("{}, {} symbols; operations per symbol: {}\n", cost.model, cost.symbols, cost.unit);
  text += fmt::format("{:<20} {:>10} {:>10} {:>10} {:>12} {:>9}\n", "stage", "operations", "bytes", "ns", "attainable",
                      "share");
  for (const ProfileLine& line : cost.lines) text += cost_row(line);
  text += cost_row({"together", 0, sum_of(cost.lines, &ProfileLine::bytes), cost.seconds(), cost.attainable_seconds()});
  for (const ProfileLine& line : cost.beside) text += cost_row(line);
  return text;
}

nlohmann::ordered_json to_json(const SymbolProfile& cost) {
  return {{"model", cost.model},
          {"symbols", cost.symbols},
          {"operations_are", cost.unit},
          {"stages", cost_lines(cost.lines)},
          {"beside", cost_lines(cost.beside)},
          {"seconds_per_symbol", cost.seconds()},
          {"attainable_seconds", cost.attainable_seconds()},
          {"share_of_attainable", cost.attainable_seconds() / cost.seconds()}};
}

}  // namespace unfold
