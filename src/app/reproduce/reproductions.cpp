#include <algorithm>
#include <iterator>

#include "app/common/perplexity.h"
#include "app/reproduce/reproduction.h"

namespace unfold {
namespace {

/// Returns the pathological long-range tasks of length T.
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

/// Returns the tasks of length 100 that can be solved in about a minute.
std::vector<Variant> long_range_small() {
  std::vector<Variant> few;
  for (const Variant& column : long_range_columns("100"))
    for (const char* name : {"adding", "multiplication", "temporal", "permutation", "memorization 5"})
      if (column.label.starts_with(name)) few.push_back(column);
  return few;
}

/// The initialization for Hessian-free optimization: an orthogonal recurrent matrix, and input weights so small that
/// noise does not saturate the units before the end of a sequence.
std::string tanh_rnn(const std::string& optimizer) {
  return "--model rnn:100,input-scale=0.2 --optimizer " + optimizer;
}

/// A curriculum that starts with the shortest sequences and doubles their length after every four steps of Hessian-free
/// optimization.
constexpr const char* kByLength = " --curriculum 2048";

/// A linear recurrent unit whose slowest components decay by less than 10 % in a thousand steps.
std::string long_memory_lru(const std::string& optimizer) {
  return "--model lru:128,slowest=0.9999,fastest=0.99,output=linear --optimizer " + optimizer;
}

std::vector<Variant> long_range_full() {
  std::vector<Variant> all;
  for (const char* length : {"50", "100", "200"})
    for (const Variant& column : long_range_columns(length)) all.push_back(column);
  return all;
}

/// Returns the four example problems of the paper, with the given amount of training text.
std::vector<Variant> symbolic_columns(Index symbols, Index lines) {
  return {{"nested alphabet", "", SourceText{.source = "alphabet", .symbols = symbols, .valid_symbols = symbols}},
          {"distant xor", "",
           SourceText{.source = "xor:10", .units = lines, .valid_units = lines, .solved = 0.05}},  // 0.5 % errors
          {"music", "", SourceText{.source = "music", .symbols = symbols, .valid_symbols = symbols}},
          {"anbn", "", SourceText{.source = "anbn", .units = 10, .valid_units = 100}}};
}

std::vector<Variant> riemannian_rows() {
  const auto gated = [](const std::string& label, const std::string& cell, const std::string& optimizer) {
    return Variant{label, "--model " + cell + ":20,edges=3 --whole-sequences --optimizer " + optimizer};
  };
  return {gated("GLNN, ruop", "glnn", "ruop"),
          gated("GLNN, rbpm", "glnn", "rbpm"),
          gated("GLNN, ruop quasi-diagonal", "glnn", "ruop:reduction=quasi-diagonal"),
          gated("GLNN, rbpm quasi-diagonal", "glnn", "rbpm:reduction=quasi-diagonal"),
          gated("GLNN, ruop, best of 8 graphs", "glnn", "ruop --restarts 8"),
          gated("GLNN, plain gradient", "glnn", "ascent"),
          gated("GNN (no leak), ruop", "gnn", "ruop"),
          gated("GNN (no leak), plain gradient", "gnn", "ascent"),
          gated("sparse RNN (no gates), ruop", "sparse-rnn", "ruop"),
          gated("sparse RNN (no gates), plain gradient", "sparse-rnn", "ascent"),
          {"leaky sparse RNN (leak, no gates), ruop",
           "--model sparse-rnn:20,edges=3,leak=true --whole-sequences --optimizer ruop"},
          {"leaky sparse RNN (leak, no gates), plain gradient",
           "--model sparse-rnn:20,edges=3,leak=true --whole-sequences --optimizer ascent"},
          {"RNN, BPTT", "--model rnn:50 --optimizer sgd:rate=0.5,momentum=0.9,clip=1"},
          {"LSTM, Adam", "--model lstm:25 --optimizer adam:rate=0.01,clip=1"},
          {"GRU, Adam", "--model gru:30 --optimizer adam:rate=0.01,clip=1"},
          {"HMM, 20 states", "--model hmm:20", {}, true},
          {"6-gram", "--model ngram:6", {}, true},
          {"context tree, depth 24", "--model ctw:24", {}, true}};
}

/// The ReLU network of Neyshabur, Wu, Salakhutdinov and Srebro 2016 with the given optimizer.
std::string relu_rnn(const std::string& optimizer) {
  return "--model irnn:{units},input-scale=0.1 --optimizer " + optimizer;
}

/// Neyshabur, Wu, Salakhutdinov and Srebro 2016: the adding problem.
Reproduction path_adding() {
  // The effect of a change of the recurrent matrix grows with the sequence length, but Adam's step size does not shrink
  // with it, so longer sequences need a smaller learning rate.
  const auto column = [](const std::string& length, const std::string& rate, const std::string& steps) {
    return Variant{
        .label = "adding " + length, .arguments = "--task adding:" + length + " --steps " + steps, .rate = rate};
  };
  const Variant hundred = column("100", "0.0003", "10000");
  const std::string budget = "--batch 32 --validate-every 1000 --validate-on 1000";
  return {.name = "path",
          .title = "Adding problem",
          .source = "Neyshabur, Wu, Salakhutdinov and Srebro 2016, table 2",
          .measure = "mean_squared_error",
          .measure_text = "mean squared error",
          .success = 1e-3,
          .curve = "mean_squared_error",
          .rows = {{"ReLU, path+Adam", relu_rnn("path+adam:rate={rate},schedule=cosine")},
                   {"ReLU, path+momentum", relu_rnn("path+momentum:schedule=cosine")},
                   {"IRNN, Adam", relu_rnn("adam:rate=0.0003,clip=1,schedule=cosine")},
                   {"IRNN, SGD", relu_rnn("sgd:rate=0.01,clip=1,momentum=0.9,schedule=cosine")},
                   {"LSTM, Adam", "--model lstm:{units} --optimizer adam:rate=0.003,clip=1,schedule=cosine"}},
          .small = {.columns = {hundred}, .seeds = 1, .budget = budget, .units = "100"},
          .full = {.columns = {hundred, column("400", "0.0001", "15000"), column("750", "0.00003", "30000")},
                   .seeds = 5,
                   .budget = budget,
                   .units = "100"},
          .theirs = {{{"ReLU, path+momentum", "adding 100"}, "0 (path-SGD)"},
                     {{"ReLU, path+momentum", "adding 400"}, "0 (path-SGD)"},
                     {{"ReLU, path+momentum", "adding 750"}, "0 (path-SGD)"},
                     {{"IRNN, SGD", "adding 100"}, "0"},
                     {{"IRNN, SGD", "adding 400"}, "0.167"},
                     {{"IRNN, SGD", "adding 750"}, "0.167"},
                     {{"LSTM, Adam", "adding 100"}, "0"},
                     {{"LSTM, Adam", "adding 400"}, "0.02"},
                     {{"LSTM, Adam", "adding 750"}, "0.167"}}};
}

Reproduction path_mnist() {
  const Variant pixels{"sequential MNIST", "{data}/mnist --task mnist"};
  return {
      .name = "path",
      .title = "MNIST pixel by pixel",
      .source = "Neyshabur, Wu, Salakhutdinov and Srebro 2016, table 2",
      .measure = "error_rate",
      .measure_text = "wrong digits, %",
      .percent = true,
      .success = 0.031,
      .curve = "error_rate",
      .rows = {{"ReLU, path+Adam", relu_rnn("path+adam:rate=0.00003,schedule=cosine")},
               {"ReLU, path+momentum", relu_rnn("path+momentum:schedule=cosine")},
               {"IRNN, SGD", relu_rnn("sgd:rate=0.001,clip=1,momentum=0.9,schedule=cosine")},
               {"LSTM, Adam", "--model lstm:{units},chrono=784 --optimizer adam:rate=0.005,clip=1,schedule=cosine"}},
      .small = {.columns = {pixels}, .seeds = 1, .budget = "--steps 300 --batch 32 --validate-on 500", .units = "100"},
      .full = {.columns = {pixels}, .seeds = 1, .budget = "--epochs 100 --batch 32 --validate-on 5000", .units = "100"},
      .theirs = {{{"ReLU, path+momentum", "sequential MNIST"}, "3.1 (path-SGD)"},
                 {{"IRNN, SGD", "sequential MNIST"}, "7.1"},
                 {{"LSTM, Adam", "sequential MNIST"}, "1.8"}},
      .data = "mnist"};
}

Reproduction path_characters() {
  // The joint effect of changing all weights into a unit grows with their number, so larger layers need a smaller
  // learning rate.
  const auto ptb = [](const std::string& rate) {
    return Variant{
        .label = "PTB characters",
        .arguments = "{data}/ptb/ptb.char.train.txt.gz --valid {data}/ptb/ptb.char.valid.txt.gz --symbols words",
        .rate = rate};
  };
  const std::string control = "rate={rate},warmup=500,schedule=cosine";
  const std::string relu = "--model rnn:{units},activation=relu,init=uniform,scale=0.01,input-scale=0.2 --optimizer ";
  return {
      .name = "path",
      .title = "Penn Treebank, characters",
      .source = "Neyshabur, Wu, Salakhutdinov and Srebro 2016, table 3",
      .measure = "bits_per_symbol",
      .measure_text = "bits per character on the validation part",
      .success = 1.47,
      .curve = "nats_per_symbol",
      .curve_factor = bits(1),
      .rows = {{"ReLU, path+Adam", relu + "path+adam:" + control},
               {"ReLU, Adam", relu + "adam:clip=1," + control},
               {"tanh, Adam", "--model rnn:{units} --optimizer adam:clip=1," + control},
               {"LSTM, Adam", "--model lstm:{units} --optimizer adam:rate=0.006,clip=1,warmup=100,schedule=cosine"}},
      .small = {.columns = {ptb("0.003")},
                .seeds = 1,
                .budget = "--steps 2000 --batch 32 --window 50 --validate-every 200",
                .units = "256"},
      .full = {.columns = {ptb("0.001")},
               .seeds = 1,
               .budget = "--epochs 3 --batch 32 --window 50 --validate-every 1568",
               .units = "2048"},
      .theirs = {{{"ReLU, path+Adam", "PTB characters"}, "1.47"},
                 {{"ReLU, Adam", "PTB characters"}, "1.55"},
                 {{"tanh, Adam", "PTB characters"}, "1.58"},
                 {{"LSTM, Adam", "PTB characters"}, "1.41"}},
      .data = "ptb",
      .appendix = path_ratio_table};
}

/// Each optimizer with and without momentum: the benefit of a metric is visible only between optimizers that are
/// otherwise equal. Learning rates come from the grid 0.01, 0.03, 0.1, 0.3, ..., selected by validation after 150
/// steps. With momentum, `path` would be best at 0.03, which is unstable after 500 steps.
Reproduction path_words() {
  const Variant ptb{"PTB words", "{data}/ptb/ptb.train.txt.gz --valid {data}/ptb/ptb.valid.txt --symbols words"};
  const std::string relu = "--model rnn:{units},activation=relu,init=uniform,scale=0.1,input-scale=0.1 --optimizer ";
  const std::string budget = "--batch 32 --window 20 --validate-every ";
  return {.name = "path",
          .title = "Penn Treebank, words",
          .source = "Neyshabur, Wu, Salakhutdinov and Srebro 2016, figure 2",
          .measure = "bits_per_symbol",
          .measure_text = "bits per word on the validation part",
          .compares = true,
          .curve = "nats_per_symbol",
          .curve_factor = bits(1),
          .curve_over = "epochs",
          .rows = {{"SGD", relu + "sgd:rate=0.3,momentum=0"},
                   {"path", relu + "path:rate=0.03"},
                   {"path, both terms", relu + "path:rate=0.03,kappa=both"},
                   {"SGD with momentum", relu + "sgd:rate=1"},
                   {"path with momentum", relu + "path+momentum:rate=0.01"}},
          .small = {.columns = {ptb}, .seeds = 1, .budget = budget + "50 --steps 150", .units = "200"},
          .full = {.columns = {ptb}, .seeds = 3, .budget = budget + "242 --steps 2904", .units = "200"},
          .data = "ptb"};
}

std::vector<Reproduction> sequence_reproductions() {
  return {
      {.name = "long-range",
       .title = "Long-range problems",
       .source = "Hochreiter and Schmidhuber 1997; Martens and Sutskever 2011",
       .measure = "error_rate",
       .measure_text = "wrong sequences, %",
       .percent = true,
       .success = 0.01,
       .curve = "error_rate",
       .rows = {{"tanh RNN, HF by length", tanh_rnn("hf") + kByLength},
                {"tanh RNN, HF by length, no structural damping", tanh_rnn("hf:structural=0") + kByLength},
                {"tanh RNN, HF", tanh_rnn("hf")},
                {"tanh RNN, HF, no structural damping", tanh_rnn("hf:structural=0")},
                {"tanh RNN, SGD clipped", tanh_rnn("sgd:rate=0.05,momentum=0.9,clip=1")},
                {"tanh RNN, Adam", tanh_rnn("adam:rate=0.001,clip=1")},
                {"IRNN, path+Adam", "--model irnn:100,input-scale=0.1 --optimizer path+adam:rate=0.0003"},
                {"LSTM, Adam", "--model lstm:100 --optimizer adam:rate=0.003,clip=1"},
                {"GRU, Adam by length", "--model gru:50 --optimizer adam:rate=0.003,clip=1 --curriculum 32768"},
                {"LRU, Adam", long_memory_lru("adam:rate=0.003,clip=1")}},
       .small = {.columns = long_range_small(),
                 .seeds = 1,
                 .budget = "--minutes 0.6 --goal-error 0.01 --batch 32 --validate-on 500"},
       .full = {.columns = long_range_full(),
                .seeds = 5,
                .budget = "--minutes 10 --goal-error 0.01 --batch 32 --validate-on 1000"},
       .theirs = {{{"IRNN, path+Adam", "adding 100"}, "MSE 0"}, {{"LSTM, Adam", "adding 100"}, "MSE 0"}}},
      {.name = "riemannian",
       .title = "Symbolic sequences by Riemannian metrics",
       .source = "Ollivier, Riemannian metrics for neural networks II (2015), which announces this table",
       .measure = "bits_per_symbol",
       .measure_text = "bits per predicted symbol above the source",
       .curve = "nats_per_symbol",
       .curve_factor = bits(1),
       .rows = riemannian_rows(),
       .small = {.columns = symbolic_columns(20000, 2000), .seeds = 3, .budget = "--minutes 0.15"},
       .full = {.columns = symbolic_columns(260000, 20000), .seeds = 10, .budget = "--minutes 1.5"}},
      path_adding(),
      path_mnist(),
      path_words(),
      path_characters(),
  };
}

}  // namespace

Reproduction reservoirs();          // reservoirs.cpp
Reproduction names_given_gender();  // names.cpp
Reproduction tunes_given_key();     // tunes.cpp

const std::vector<Reproduction>& reproductions() {
  static const std::vector<Reproduction> list = [] {
    std::vector<Reproduction> all = sequence_reproductions();
    std::ranges::move(field_reproductions(), std::back_inserter(all));
    std::ranges::move(density_reproductions(), std::back_inserter(all));
    all.push_back(reservoirs());
    all.push_back(names_given_gender());
    all.push_back(tunes_given_key());
    all.push_back(learning_through_search());
    return all;
  }();
  return list;
}

}  // namespace unfold
