/// Measures training over a large vocabulary with the softmax, the sampled softmax and the adaptive softmax: CPU time
/// per update on one thread, peak memory and size of the model. Each variant runs in a separate process:
///
///   bench_large_vocabulary [words [units [batch [window [updates [full]]]]]]
///
/// The text is random: the frequency of the word with rank r is proportional to 1 / r (Zipf's law). full = 0 leaves out
/// the full softmax.

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/best_seconds.h"
#include "bench/in_a_process.h"
#include "loss/symbol_probabilities.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/loss/registry.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

Alphabet many_words(Index count) {
  std::vector<std::string> words = {"<eos>"};
  words.reserve(static_cast<std::size_t>(count));
  for (Index w = 1; w < count; ++w) words.push_back("w" + std::to_string(w));
  return Alphabet(SymbolKind::words, std::move(words));
}

/// Draws ranks by inversion of the continuous distribution with density 1 / r on [1, count + 1).
std::string zipf_text(Index words, Index length) {
  Random random(1, "text");
  std::string text;
  for (Index i = 0; i < length; ++i) {
    const auto rank = static_cast<Index>(std::exp(random.uniform() * std::log(static_cast<double>(words))));
    text += rank >= words ? "w1 " : "w" + std::to_string(rank) + " ";
  }
  return text + "\n";
}

/// Records the CPU time after every update.
struct UpdateTimes final : Observer {
  std::vector<double> seconds;
  void progress(const ProgressEvent&) override { seconds.push_back(seconds_of(CLOCK_PROCESS_CPUTIME_ID)); }
};

struct Run {
  Index words, units, batch, window, updates;
};

/// Returns an LSTM that predicts the next word. `outputs` > 0: outputs of a sampled softmax.
Network<float> network_of(const Run& run, const std::string& loss_spec, Index outputs, Circuit& circuit) {
  const Signal words = circuit.symbols("symbols", run.words);
  const Signal x = circuit.affine("embedding", run.units, {{"W", words, Init::normal(1)}}, Init::zero(), false);
  const Signal h = lstm(circuit, x, run.units);
  const ChosenLoss chosen = choose_loss(loss_spec);
  std::shared_ptr<Loss<float>> loss = chosen.make<float>();
  if (auto* counted = dynamic_cast<SymbolCount<float>*>(loss.get())) counted->set_symbols(run.words);
  const Signal output =
      circuit.affine("output", outputs > 0 ? outputs : chosen.signal_size(run.words), {{"V", h, Init::glorot()}});
  circuit.output(output);
  loss->declare(circuit, output);
  return Network<float>::of(std::make_shared<const Plan>(circuit), {kPreviousSymbol, words},
                            {kSymbol, output, std::move(loss)});
}

double measure(const Run& run, const std::string& name, const std::string& loss, Index sampled) {
  const Corpus corpus =
      Corpus::from_text(zipf_text(run.words, run.batch * run.window * (run.updates + 2)), many_words(run.words));
  const auto parts = split_corpus(corpus, parse_split("100/0/0"));
  Circuit circuit, fewer;
  Network<float> network = network_of(run, loss, 0, circuit);
  if (sampled > 0)
    network.fewer_outputs =
        std::make_shared<const Network<float>>(network_of(run, loss, sampled + run.batch * run.window, fewer));
  Parameters<float> parameters(circuit);
  parameters.initialize(1);
  TrainerOptions options{.optimizer = "adam:rate=0.002,clip=1",
                         .batches = {.window = run.window, .batch = run.batch},
                         .steps = run.updates};
  Team team(1);
  UpdateTimes times;
  Trainer<float> trainer(network, parameters, {corpus, parts[0]}, options, team);
  trainer.set_observer(&times);
  trainer.run();
  // The fastest update: the first ones allocate memory.
  double fastest = 1e9;
  for (std::size_t i = 1; i < times.seconds.size(); ++i)
    fastest = std::min(fastest, times.seconds[i] - times.seconds[i - 1]);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%-18s %10.1f ms  %8.2f GB  %8.1f million parameters\n", name.c_str(), 1e3 * fastest,
              static_cast<double>(used.ru_maxrss) / (1 << 20), static_cast<double>(parameters.size()) / 1e6);
  std::fflush(stdout);
  return fastest;
}

int run_all(int argc, char** argv) {
  const auto number = [&](int i, Index fallback) { return argc > i ? std::atoll(argv[i]) : fallback; };
  const Run run{.words = number(1, 100000),
                .units = number(2, 128),
                .batch = number(3, 16),
                .window = number(4, 32),
                .updates = number(5, 4)};
  std::printf("%lld words, lstm:%lld, batch %lld, window %lld, one thread, CPU time per update\n",
              static_cast<long long>(run.words), static_cast<long long>(run.units), static_cast<long long>(run.batch),
              static_cast<long long>(run.window));
  if (number(6, 1) != 0) in_a_process([&] { return measure(run, "softmax", "softmax", 0); });
  in_a_process([&] { return measure(run, "sampled, 1000", "softmax", 1000); });
  in_a_process([&] { return measure(run, "adaptive-softmax", "adaptive-softmax", 0); });
  return 0;
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) { return unfold::run_all(argc, argv); }
