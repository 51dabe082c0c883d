#include "unfold/cli/reproduction.h"

namespace unfold {
namespace {

/// The pathological tasks at one length T.
std::vector<Variant> long_range_columns(const std::string& length) {
  const auto column = [&](const std::string& label, const std::string& task) {
    return Variant{label + " " + length, "--task " + task};
  };
  return {column("adding", "adding:" + length),
          column("multiplication", "multiplication:" + length),
          column("xor", "marked-xor:" + length),
          column("temporal order 2", "temporal-order:length=" + length),
          column("temporal order 3", "temporal-order:length=" + length + ",bits=3"),
          column("permutation", "permutation:" + length),
          column("memorization 5", "memorization:" + length),
          column("memorization 20", "memorization:length=" + length + ",bits=20"),
          column("copy", "copy:" + length)};
}

std::vector<Variant> long_range_full() {
  std::vector<Variant> all;
  for (const char* length : {"50", "100", "200"})
    for (const Variant& column : long_range_columns(length)) all.push_back(column);
  return all;
}

}  // namespace

const std::vector<Reproduction>& reproductions() {
  static const std::vector<Reproduction> list = {
      {.name = "long-range",
       .title = "Long-range problems",
       .source = "Hochreiter and Schmidhuber 1997; Martens and Sutskever 2011",
       .measure = "error_rate",
       .measure_text = "wrong sequences, %",
       .percent = true,
       .success = 0.01,
       .curve = "error_rate",
       .rows = {{"tanh RNN, SGD", "--model rnn:100 --optimizer sgd:rate=0.05,momentum=0.9"},
                {"tanh RNN, SGD clipped", "--model rnn:100 --optimizer sgd:rate=0.05,momentum=0.9,clip=1"},
                {"tanh RNN, Adam", "--model rnn:100 --optimizer adam:rate=0.001,clip=1"},
                {"IRNN, Adam", "--model rnn:100,activation=relu,init=identity --optimizer adam:rate=0.001,clip=1"},
                {"tanh RNN, HF", "--model rnn:100 --optimizer hf"},
                {"tanh RNN, HF without structural damping", "--model rnn:100 --optimizer hf:structural=0"},
                {"LSTM, Adam", "--model lstm:100 --optimizer adam:rate=0.003,clip=1"}},
       .small = {.columns = long_range_columns("50"),
                 .seeds = 1,
                 .budget = "--minutes 0.6 --goal-error 0.01 --batch 32 --validate-on 500"},
       .full = {.columns = long_range_full(),
                .seeds = 5,
                .budget = "--minutes 10 --goal-error 0.01 --batch 32 --validate-on 1000"}},
  };
  return list;
}

}  // namespace unfold
