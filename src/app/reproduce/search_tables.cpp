#include <fmt/format.h>

#include "app/reproduce/reproduction.h"
#include "data/tasks/pair_tasks.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

void make_noisy_copies(const std::string&, const std::string& stem) {
  constexpr Index kPairs = 50'000;
  write_file_atomically(stem + ".pairs", generate_pairs("noisy-copies", 1, kPairs).text);
}

std::vector<Variant> objectives_of_sequences() {
  const auto row = [](const std::string& label, const std::string& how) {
    return Variant{label, "--start-from {start} " + how};
  };
  return {{"initial model, teacher forcing", ""},
          row("teacher forcing", ""),
          row("scheduled sampling", "--teacher-forcing 1..0.5"),
          row("perceptron, early update", "--objective perceptron:beam=4"),
          row("max-margin", "--objective margin:beam=4"),
          row("beam-search optimization", "--objective bso:beam=4"),
          row("minimum risk", "--objective risk:beam=4"),
          row("minimum risk, samples", "--objective risk:samples=4")};
}

}  // namespace

/// All rows continue from the same parameters with the same learning rate and number of steps, and keep the final
/// parameters.
Reproduction learning_through_search() {
  const auto column = [](const std::string& label, void (*prepare)(const std::string&, const std::string&)) {
    return Variant{.label = label,
                   .arguments = "{made}.pairs --split 90/5/5 --model {units} --batch 32 --validate-every 1000000",
                   .prepare = prepare};
  };
  const std::vector<Variant> columns = {column("sounds from letters", make_sounds),
                                        column("noisy copies", make_noisy_copies)};
  return {.name = "search",
          .title = "Learning through search",
          .source =
              "CMU Pronouncing Dictionary 0.7a without stress, as in letter-to-sound, and 50,000 generated pairs "
              "(noisy-copies), each 90/5/5; every row except the first continues from the first row with the same "
              "number of steps and the same learning rate, and keeps the final parameters; greedy decoding",
          .measure = "/test/heads/target/sequence_error",
          .measure_text = "target error rate on the test set, %",
          .percent = true,
          .compares = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation loss per symbol",
          .rows = objectives_of_sequences(),
          .small = {.columns = columns,
                    .seeds = 3,
                    .budget = "--steps 500 --optimizer adam:rate=0.0005,clip=1,schedule=cosine",
                    .units = "bigru:48,attention=additive,condition=start",
                    .start = "--steps 2500 --optimizer adam:rate=0.005,clip=1,schedule=cosine"},
          .full = {.columns = columns,
                   .seeds = 3,
                   .budget = "--steps 5000 --optimizer adam:rate=0.0003,clip=1,schedule=cosine",
                   .units = "bilstm:256,dropout=0.2,embedding=64,attention=additive,condition=start",
                   .start = "--steps 40000 --optimizer adam:rate=0.002,clip=1,schedule=cosine"},
          .data = "sequences"};
}

}  // namespace unfold
