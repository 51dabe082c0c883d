/// Compares three ways to read many streams of symbols with a language model: windows of a batch, streams whose symbols
/// arrive one at a time (unfold/model/streams.h), and a predictor for each stream. Prints nanoseconds per symbol, the
/// minimum of alternating rounds. Initial weights, 64 symbols.
///
///   bench_streams [MODEL [STREAMS [THREADS [ROUNDS]]]]          default: lstm:128 1000 2 9

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "unfold/model/network/language_model.h"
#include "unfold/numerics/random.h"

namespace {

using namespace unfold;

constexpr Index kWindow = 32;  // symbols of each stream in a round

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Alphabet alphabet_of(int size) {
  std::vector<std::string> texts;
  for (int x = 0; x < size; ++x) texts.push_back(std::string(1, static_cast<char>('0' + x)));
  return {SymbolKind::chars, texts};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string spec = argc > 1 ? argv[1] : "lstm:128";
  const Index count = argc > 2 ? std::stol(argv[2]) : 1000;
  const int threads = argc > 3 ? std::stoi(argv[3]) : 2, rounds = argc > 4 ? std::stoi(argv[4]) : 9;
  LanguageModel<float> model(spec, alphabet_of(64));
  model.initialize(1);
  Random random(2, "symbols");
  std::vector<std::vector<Symbol>> symbols(at(kWindow), std::vector<Symbol>(at(count)));
  for (auto& row : symbols)
    for (Symbol& x : row) x = static_cast<Symbol>(random.below(64));

  Team team(threads);
  Unfolding<float> unfolding(model.plan(), team);
  unfolding.set_parameters(model.parameters());
  State<float> state(*model.plan(), count);
  const Structure windows = Structure::chains(count, kWindow);
  const auto streams = model.streams(count, team);
  std::vector<double> nats(at(count));
  const auto predictor = model.predictor();

  double batch = 1e9, stepped = 1e9, scored = 1e9, alone = 1e9;
  for (int round = 0; round < rounds + 3; ++round) {  // the first rounds choose how to divide the work
    batch = std::min(batch, seconds([&] {
                       unfolding.lay(windows);
                       const std::span<Symbol> read = unfolding.symbols(model.symbols());
                       for (Index t = 0; t < kWindow; ++t) std::ranges::copy(symbols[at(t)], read.begin() + t * count);
                       unfolding.forward(&state);
                     }));
    stepped = std::min(stepped, seconds([&] {
                         for (const auto& row : symbols) streams->observe(row);
                       }));
    scored = std::min(scored, seconds([&] {
                        for (const auto& row : symbols) {
                          streams->surprisals(row, nats);
                          streams->observe(row);
                        }
                      }));
    alone = std::min(alone, seconds([&] {
                       for (Index i = 0; i < std::min<Index>(count, 16); ++i)
                         for (const auto& row : symbols) predictor->observe(row[at(i)]);
                     }));
  }
  const double each = 1e9 / static_cast<double>(count * kWindow);
  fmt::print("{}, {} streams, {} threads; ns per symbol\n", spec, count, threads);
  fmt::print("windows of {}: {:.0f}\n", kWindow, batch * each);
  fmt::print("streams: {:.0f} ({:.0f} %)\n", stepped * each, 100 * batch / stepped);
  fmt::print("streams with surprisals: {:.0f}\n", scored * each);
  fmt::print("a predictor: {:.0f}\n", alone * 1e9 / static_cast<double>(std::min<Index>(count, 16) * kWindow));
}
