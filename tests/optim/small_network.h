#pragma once
/// Small corpora and networks for the training tests.

#include <string>
#include <vector>

#include "base/utf8.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// Returns sequences of the given lengths with distinct symbols, numbered consecutively: 0, 1, 2, ...
inline Corpus numbered_corpus(const std::vector<Index>& lengths) {
  char32_t next = 0x4E00;
  std::string all;
  std::vector<Input> inputs;
  for (const Index length : lengths) {
    std::string text;
    for (Index i = 0; i < length; ++i) append_utf8(text, next++);
    all += text;
    inputs.push_back(Input::from_bytes("sequence " + std::to_string(inputs.size()), text));
  }
  Alphabet alphabet = Alphabet::chars_of(all);
  return Corpus::load(std::move(inputs), std::move(alphabet));
}

/// The inputs and targets of a language model, in the rows of a batch.
inline std::vector<Symbol>& read_symbols(Batch& batch) { return batch.symbol_field(kPreviousSymbol).symbols; }
inline std::vector<Symbol>& predicted_symbols(Batch& batch) { return batch.symbol_field(kSymbol).symbols; }
inline const std::vector<Symbol>& read_symbols(const Batch& batch) {
  return std::get<SymbolRows>(batch.field(kPreviousSymbol)).symbols;
}
inline const std::vector<Symbol>& predicted_symbols(const Batch& batch) {
  return std::get<SymbolRows>(batch.field(kSymbol)).symbols;
}

/// Returns text with some structure: counts up and down in a deterministic, irregular way.
inline std::string wavy_text(Index length) {
  std::string text;
  Random random(7, "wavy");
  char c = 'a';
  int direction = 1;
  for (Index i = 0; i < length; ++i) {
    text += c;
    if (random.below(7) == 0) direction = -direction;
    c = static_cast<char>('a' + (c - 'a' + direction + 8) % 8);
  }
  return text;
}

template <class T>
struct SmallNetwork {
  enum class Cell { rnn, lstm };
  SmallNetwork(Index alphabet, Index units, Cell cell, double dropout = 0, bool trained_initial = false) {
    const Signal x = circuit.symbols("symbols", alphabet);
    Signal h = cell == Cell::rnn ? rnn(circuit, x, units, {.trained_initial = trained_initial})
                                 : lstm(circuit, x, units, {.trained_initial = trained_initial});
    if (dropout > 0) h = circuit.dropout(h, dropout);
    const Signal logits = circuit.affine("output", alphabet, {{"V", h}});
    circuit.output(logits);
    network = text_network<T>(std::make_shared<const Plan>(circuit), x, logits, dropout > 0);
    parameters = Parameters<T>(circuit);
    parameters.initialize(3);
  }
  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

}  // namespace unfold
