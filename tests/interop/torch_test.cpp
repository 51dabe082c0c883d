/// Import and export of PyTorch and Keras layers, checked against their documentation: a simple implementation of each
/// cell that uses the names and the order of the state dict.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "interop/network_weights.h"
#include "tests/base/scratch.h"
#include "unfold/data/files/safetensors.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;
using Vec = std::vector<double>;

struct Array {
  std::vector<Index> shape;
  Vec v;
};

using StateDict = std::map<std::string, Array>;

Array numbers(Random& random, std::vector<Index> shape) {
  Index size = 1;
  for (const Index s : shape) size *= s;
  Array array{std::move(shape), {}};
  for (Index i = 0; i < size; ++i)
    array.v.push_back(static_cast<double>(static_cast<float>(random.uniform(-0.7, 0.7))));
  return array;
}

/// y[gate n + i] = sum_j W[gate n + i, j] x[j] + b
Vec linear(const Array& w, const Array& b, const Vec& x) {
  Vec y = b.v;
  const auto cols = static_cast<std::size_t>(w.shape[1]);
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t j = 0; j < cols; ++j) y[i] += w.v[i * cols + j] * x[j];
  return y;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Evaluates torch.nn.RNN, LSTM or GRU on a sequence, and the Linear layer after it.
std::vector<Vec> torch_outputs(const StateDict& dict, std::vector<Vec> x, bool relu = false) {
  const bool both = dict.contains("rnn.weight_ih_l0_reverse");
  for (int layer = 0; dict.contains("rnn.weight_ih_l" + std::to_string(layer)); ++layer) {
    std::vector<Vec> above(x.size());
    for (int direction = 0; direction < (both ? 2 : 1); ++direction) {
      const std::string suffix = "l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto &wi = dict.at("rnn.weight_ih_" + suffix), &wh = dict.at("rnn.weight_hh_" + suffix),
                 &bi = dict.at("rnn.bias_ih_" + suffix), &bh = dict.at("rnn.bias_hh_" + suffix);
      const auto n = static_cast<std::size_t>(wh.shape[1]), gates = static_cast<std::size_t>(wh.shape[0]) / n;
      Vec h(n), c(n);
      for (std::size_t step = 0; step < x.size(); ++step) {
        const std::size_t t = direction == 0 ? step : x.size() - 1 - step;
        const Vec a = linear(wi, bi, x[t]), b = linear(wh, bh, h);
        for (std::size_t k = 0; k < n; ++k) {
          const auto sum = [&](std::size_t gate) { return a[gate * n + k] + b[gate * n + k]; };
          if (gates == 4) {
            c[k] = logistic(sum(1)) * c[k] + logistic(sum(0)) * std::tanh(sum(2));
            h[k] = logistic(sum(3)) * std::tanh(c[k]);
          } else if (gates == 3) {
            const double r = logistic(sum(0)), z = logistic(sum(1));
            h[k] = (1 - z) * std::tanh(a[2 * n + k] + r * b[2 * n + k]) + z * h[k];
          } else {
            h[k] = relu ? std::max(sum(0), 0.0) : std::tanh(sum(0));
          }
        }
        above[t].insert(above[t].end(), h.begin(), h.end());
      }
    }
    x = above;
  }
  for (Vec& row : x) row = linear(dict.at("linear.weight"), dict.at("linear.bias"), row);
  return x;
}

Vec embedded(const StateDict& dict, Symbol symbol) {
  if (!dict.contains("embedding.weight")) {
    Vec x(static_cast<std::size_t>(dict.at("rnn.weight_ih_l0").shape[1]));
    if (symbol >= 0) x[static_cast<std::size_t>(symbol)] = 1;
    return x;
  }
  const Array& e = dict.at("embedding.weight");
  const auto begin = e.v.begin() + symbol * e.shape[1];
  return {begin, begin + e.shape[1]};
}

Vec log_softmax_of(Vec x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  for (double& v : x) v -= std::log(sum);
  return x;
}

StateDict random_dict(Index gates, Index inputs, Index units, Index layers, bool both, Index outputs, Index rows) {
  Random random(3, "dict");
  StateDict dict;
  if (rows > 0) dict["embedding.weight"] = numbers(random, {rows, inputs});
  for (Index l = 0; l < layers; ++l)
    for (const char* direction : {"", "_reverse"}) {
      if (*direction != 0 && !both) continue;
      const std::string suffix = "l" + std::to_string(l) + direction;
      dict["rnn.weight_ih_" + suffix] = numbers(random, {gates * units, l == 0 ? inputs : (both ? 2 : 1) * units});
      dict["rnn.weight_hh_" + suffix] = numbers(random, {gates * units, units});
      dict["rnn.bias_ih_" + suffix] = numbers(random, {gates * units});
      dict["rnn.bias_hh_" + suffix] = numbers(random, {gates * units});
    }
  dict["linear.weight"] = numbers(random, {outputs, (both ? 2 : 1) * units});
  dict["linear.bias"] = numbers(random, {outputs});
  return dict;
}

const std::string kLetters = "abcdefg";
constexpr Index kSymbols = 7;

class Exchange : public ::testing::Test {
 protected:
  std::string write(const StateDict& dict, const std::map<std::string, std::string>& metadata = {}) const {
    std::map<std::string, std::vector<float>> floats;
    SafetensorsWriter writer;
    for (const auto& [name, array] : dict) {
      floats[name].assign(array.v.begin(), array.v.end());
      writer.add(name, array.shape, floats[name]);
    }
    for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
    writer.write(folder_.path("weights"));
    return folder_.path("weights");
  }
  static StateDict read(const std::string& bytes, std::map<std::string, std::string>* metadata = nullptr) {
    const SafetensorsFile file = SafetensorsFile::from_bytes(bytes, "exported");
    StateDict dict;
    for (const Tensor& tensor : file.tensors()) {
      const std::vector<float> values = file.values<float>(tensor.name);
      dict[tensor.name] = {tensor.shape, {values.begin(), values.end()}};
    }
    if (metadata != nullptr) *metadata = file.metadata();
    return dict;
  }
  std::string alphabet() const {
    return folder_.write("symbols.json", R"({"kind": "chars", "symbols": ")" + kLetters + "\"}");
  }
  ImportNetworkRequest request(const std::string& file) const {
    return {.file = file, .out = folder_.path("model"), .alphabet = alphabet(), .begin = "c"};
  }
  std::string exported(const Model& model) const {
    model.save(folder_.path("ours"));
    std::string bytes;
    export_torch(folder_.path("ours"), [&](std::string_view piece) { bytes += piece; });
    return bytes;
  }
  /// Compares the model's log-probabilities with those of PyTorch, which read `first` before the first symbol.
  static void expect_same(const SymbolModel& model, const StateDict& dict, Symbol first, bool relu) {
    Random random(8, "text");
    std::vector<Symbol> text;
    std::vector<Vec> x = {embedded(dict, first)};
    for (Index t = 0; t < 200; ++t) {
      text.push_back(static_cast<Symbol>(random.below(kSymbols)));
      x.push_back(embedded(dict, text.back()));
    }
    const std::vector<Vec> theirs = torch_outputs(dict, x, relu);
    const auto predictor = model.predictor();
    for (std::size_t t = 0; t <= text.size(); ++t) {
      const Vec expected = log_softmax_of(theirs[t]);
      for (Symbol s = 0; s < kSymbols; ++s)
        ASSERT_NEAR(-predictor->surprisal(s), expected[static_cast<std::size_t>(s)], 1e-5) << t;
      if (t < text.size()) predictor->observe(text[t]);
    }
  }

  ScratchFolder folder_;
};

TEST_F(Exchange, pytorch_layers_give_the_same_log_probabilities) {
  for (const Index gates : {1, 3, 4})
    for (const Index layers : {1, 3})
      for (const bool embedding : {false, true})
        for (const bool relu : {false, true}) {
          if (relu && gates != 1) continue;
          const StateDict dict =
              random_dict(gates, embedding ? 5 : kSymbols, 6, layers, false, kSymbols, embedding ? kSymbols : 0);
          ImportNetworkRequest wanted = request(write(dict));
          if (relu) wanted.activation = "relu";
          const ImportNetworkOutcome made = import_network(wanted);
          EXPECT_LE(made.difference, 1e-5) << made.model;
          expect_same(LanguageModel<float>::load(folder_.path("model")), dict, 2, relu);
        }
}

TEST_F(Exchange, one_hot_symbols_start_with_zeros_by_default) {
  const StateDict dict = random_dict(4, kSymbols, 5, 1, false, kSymbols, 0);
  ImportNetworkRequest wanted = request(write(dict));
  wanted.begin.clear();
  import_network(wanted);
  expect_same(LanguageModel<float>::load(folder_.path("model")), dict, kNoSymbol, false);
}

TEST_F(Exchange, extra_embedding_row_is_the_start_symbol) {
  const StateDict dict = random_dict(3, 4, 5, 2, false, kSymbols, kSymbols + 1);
  ImportNetworkRequest wanted = request(write(dict));
  wanted.begin.clear();
  import_network(wanted);
  expect_same(LanguageModel<float>::load(folder_.path("model")), dict, kSymbols, false);
}

TEST_F(Exchange, exported_models_equal_pytorch_and_round_trip_exactly) {
  for (const char* spec : {"rnn:6", "rnn:5,activation=relu,layers=2", "lstm:6,layers=2,embedding=4,dropout=0.3",
                           "lstm:7", "gru:6,reset=after,layers=3", "gru:6,reset=after,biases=2,embedding=3"}) {
    LanguageModel<float> model(spec, Alphabet::chars_of(kLetters));
    Random random(5, spec);
    for (float& p : model.parameters().flat()) p = static_cast<float>(random.uniform(-0.7, 0.7));
    const std::string bytes = exported(model);
    const StateDict dict = read(bytes);
    const bool embedding = dict.contains("embedding.weight");
    expect_same(model, dict, embedding ? kSymbols : kNoSymbol, contains(spec, "relu"));
    const ImportNetworkOutcome made =
        import_network({.file = folder_.write("travelled", bytes), .out = folder_.path("back")});
    EXPECT_LE(made.pair_difference, 1e-6);
    EXPECT_GE(made.pair_difference, 0);
    EXPECT_TRUE(std::ranges::equal(LanguageModel<float>::load(folder_.path("back")).parameters().flat(),
                                   model.parameters().flat()))
        << spec;
  }
}

TEST_F(Exchange, double_weights_stay_double) {
  LanguageModel<double> model("lstm:5,embedding=3", Alphabet::chars_of(kLetters));
  model.initialize(3);
  const std::string bytes = exported(model);
  EXPECT_EQ(SafetensorsFile::from_bytes(bytes, "x").tensor("linear.bias").dtype, Dtype::f64);
  EXPECT_LE(import_network({.file = folder_.write("travelled", bytes), .out = folder_.path("back")}).difference, 1e-13);
  EXPECT_TRUE(std::ranges::equal(LanguageModel<double>::load(folder_.path("back")).parameters().flat(),
                                 model.parameters().flat()));
}

DataSpecification tags() {
  const auto letters = std::make_shared<const Alphabet>(Alphabet::chars_of(kLetters));
  return {
      .source = "columns",
      .fields = {{.name = "tag", .size = 3, .alphabet = std::make_shared<const Alphabet>(Alphabet::chars_of("xyz"))},
                 {.name = "word", .size = kSymbols, .alphabet = letters}}};
}

TEST_F(Exchange, bidirectional_layers_are_exchanged) {
  for (const char* spec : {"bilstm:5,layers=2,embedding=4", "bigru:4,reset=after,biases=2", "birnn:6,layers=3"}) {
    NetworkModel<float> model(spec, tags(), {.reads = {"word"}, .heads = {{.field = "tag"}}});
    model.initialize(4);
    Random random(5, spec);
    for (float& p : model.parameters().flat()) p = static_cast<float>(random.uniform(-0.7, 0.7));
    const std::string bytes = exported(model);
    const StateDict dict = read(bytes);
    std::vector<Vec> x;
    const std::vector<Symbol> text = {3, 1, 4, 1, 5, 2, 6, 5, 3};
    for (const Symbol s : text) x.push_back(embedded(dict, s));
    const std::vector<Vec> theirs = torch_outputs(dict, x);
    Team team(1);
    Unfolding<float> u(model.plan(), team);
    u.lay(Structure::chains(1, static_cast<Index>(text.size())));
    u.set_parameters(model.parameters());
    std::ranges::copy(text, u.symbols(model.network().inputs.front().signal).begin());
    u.forward();
    const Matrix<const float> ours = u.value(model.network().heads.front().signal);
    for (Index t = 0; t < ours.rows; ++t)
      for (Index j = 0; j < ours.cols; ++j)
        EXPECT_NEAR(ours(t, j), theirs[static_cast<std::size_t>(t)][static_cast<std::size_t>(j)], 1e-5) << spec;
    import_network({.file = folder_.write("travelled", bytes), .out = folder_.path("back")});
    const NetworkModel<float> back(ModelFile::open(folder_.path("back")));
    EXPECT_TRUE(std::ranges::equal(back.parameters().flat(), model.parameters().flat())) << spec;
    EXPECT_EQ(back.card()["data"], model.card()["data"]);
  }
}

TEST_F(Exchange, values_use_the_units_of_the_data) {
  const DataSpecification data = {
      .source = "table",
      .fields = {
          {.name = "x", .type = FieldSpecification::Type::values, .size = 2, .mean = {3, -1}, .deviation = {2, 5}},
          {.name = "y", .type = FieldSpecification::Type::values, .size = 1, .mean = {7}, .deviation = {0.5}}}};
  NetworkModel<float> model("gru:5,reset=after,biases=2", data, {.reads = {"x"}, .heads = {{.field = "y"}}});
  model.initialize(4);
  const std::string bytes = exported(model);
  const StateDict dict = read(bytes);
  const std::vector<Vec> x = {{3, 4}, {1, -6}, {5, 0}, {2, 2}};
  const std::vector<Vec> theirs = torch_outputs(dict, x);
  Team team(1);
  Unfolding<float> u(model.plan(), team);
  u.lay(Structure::chains(1, 4));
  u.set_parameters(model.parameters());
  const Matrix<float> in = u.input(model.network().inputs.front().signal);
  for (Index t = 0; t < 4; ++t) {
    const Vec& row = x[static_cast<std::size_t>(t)];
    in(t, 0) = static_cast<float>((row[0] - 3) / 2), in(t, 1) = static_cast<float>((row[1] + 1) / 5);
  }
  u.forward();
  for (Index t = 0; t < 4; ++t)
    EXPECT_NEAR(7 + 0.5 * u.value(model.network().heads.front().signal)(t, 0), theirs[static_cast<std::size_t>(t)][0],
                1e-5);
  const ImportNetworkOutcome made =
      import_network({.file = folder_.write("travelled", bytes), .out = folder_.path("back")});
  EXPECT_FALSE(made.of_symbols);
  EXPECT_LE(made.pair_difference, 1e-5);
}

/// Keras kernels have shape [inputs x gates n], and the gates of a GRU have the order z, r, h.
StateDict keras_of(const StateDict& torch, Index gates) {
  StateDict keras;
  const auto turned = [](const Array& w, const std::vector<Index>& order) {
    const Index rows = w.shape[0], cols = w.shape[1], n = rows / static_cast<Index>(order.size());
    Array result{{cols, rows}, Vec(w.v.size())};
    for (std::size_t g = 0; g < order.size(); ++g)
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < cols; ++j)
          result.v[static_cast<std::size_t>(j * rows + static_cast<Index>(g) * n + i)] =
              w.v[static_cast<std::size_t>((order[g] * n + i) * cols + j)];
    return result;
  };
  const auto shuffled = [](const Vec& b, const std::vector<Index>& order) {
    Vec result;
    const auto n = static_cast<Index>(b.size() / order.size());
    for (const Index g : order)
      for (Index i = 0; i < n; ++i) result.push_back(b[static_cast<std::size_t>(g * n + i)]);
    return result;
  };
  std::vector<Index> order;
  for (Index g = 0; g < gates; ++g) order.push_back(gates == 3 && g < 2 ? 1 - g : g);
  if (torch.contains("embedding.weight")) keras["embedding/embeddings"] = torch.at("embedding.weight");
  for (const auto& [name, array] : torch) {
    const std::string begin = "rnn.weight_ih_l";
    if (!name.starts_with(begin)) continue;
    const std::string suffix = name.substr(begin.size()), path = "model/layer_" + suffix + "/cell";
    keras[path + "/kernel"] = turned(array, order);
    keras[path + "/recurrent_kernel"] = turned(torch.at("rnn.weight_hh_l" + suffix), order);
    Vec bias = shuffled(torch.at("rnn.bias_ih_l" + suffix).v, order),
        inner = shuffled(torch.at("rnn.bias_hh_l" + suffix).v, order);
    const auto size = static_cast<Index>(bias.size());
    if (gates == 3) {
      bias.insert(bias.end(), inner.begin(), inner.end());
      keras[path + "/bias"] = {{2, size}, bias};
    } else {
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += inner[i];
      keras[path + "/bias"] = {{size}, bias};
    }
  }
  keras["model/dense/kernel"] = turned(torch.at("linear.weight"), {0});
  keras["model/dense/bias"] = torch.at("linear.bias");
  return keras;
}

TEST_F(Exchange, keras_layers_give_the_same_log_probabilities) {
  for (const Index gates : {1, 3, 4}) {
    const StateDict torch = random_dict(gates, 4, 6, 2, false, kSymbols, kSymbols);
    import_network(request(write(keras_of(torch, gates))));
    expect_same(LanguageModel<float>::load(folder_.path("model")), torch, 2, false);
  }
}

TEST_F(Exchange, keras_gru_with_reset_before_equals_the_plain_gru) {
  StateDict keras = keras_of(random_dict(3, 4, 6, 1, false, kSymbols, kSymbols), 3);
  Array& bias = keras["model/layer_0/cell/bias"];
  bias.shape = {18}, bias.v.resize(18);
  const ImportNetworkOutcome made = import_network(request(write(keras)));
  EXPECT_EQ(made.model, "gru:6,embedding=4");
  EXPECT_LE(made.difference, 1e-5);
}

TEST_F(Exchange, card_can_be_copied_from_a_model_of_the_same_data) {
  NetworkModel<float> model("bigru:4,reset=after,biases=2", tags(), {.reads = {"word"}, .heads = {{.field = "tag"}}});
  model.initialize(4);
  const std::string bytes = exported(model);
  std::map<std::string, std::string> metadata;
  const std::string bare = write(read(bytes, &metadata));
  ImportNetworkRequest wanted{.file = bare, .out = folder_.path("back"), .like = folder_.path("ours")};
  EXPECT_EQ(import_network(wanted).pair_difference, -1);
  EXPECT_TRUE(std::ranges::equal(NetworkModel<float>(ModelFile::open(folder_.path("back"))).parameters().flat(),
                                 model.parameters().flat()));
  NetworkModel<float> other("bigru:5,reset=after,biases=2", tags(), {.reads = {"word"}, .heads = {{.field = "tag"}}});
  other.save(folder_.path("other"));
  wanted.like = folder_.path("other");
  EXPECT_TRUE(contains(message_of<UsageError>([&] { import_network(wanted); }), "the file contains bigru:4"));
}

TEST_F(Exchange, gru_without_a_second_bias_rejects_one) {
  LanguageModel<float> model("gru:6,reset=after,embedding=4", Alphabet::chars_of(kLetters));
  model.save(folder_.path("ours"));
  ImportNetworkRequest wanted = request(write(random_dict(3, 4, 6, 1, false, kSymbols, kSymbols)));
  wanted.alphabet.clear();
  wanted.like = folder_.path("ours");
  EXPECT_TRUE(contains(message_of<UsageError>([&] { import_network(wanted); }), "biases=2"));
}

TEST_F(Exchange, bundled_expected_outputs_are_compared) {
  LanguageModel<float> model("lstm:6", Alphabet::chars_of(kLetters));
  model.initialize(4);
  std::map<std::string, std::string> metadata;
  const StateDict dict = read(exported(model), &metadata);
  nlohmann::json pair = nlohmann::json::parse(metadata.at("pair"));
  pair["given"][3] = pair["given"][3].get<double>() + 0.01;
  metadata["pair"] = pair.dump();
  const auto failure = [&] {
    return message_of<ModelError>(
        [&] { import_network({.file = write(dict, metadata), .out = folder_.path("back")}); });
  };
  EXPECT_TRUE(contains(failure(), "differs from the outputs stored in the file by 0.01"));
  for (const char* bad :
       {"[]", "{}", R"({"read":[],"given":[],"component":[]})", R"({"read":[99],"given":[0],"component":[0]})",
        R"({"read":[1,2],"given":[0],"component":[0]})", R"({"read":[1],"given":[0],"component":[9]})"}) {
    metadata["pair"] = bad;
    EXPECT_TRUE(contains(failure(), "pair")) << bad;
  }
  metadata["pair"] = pair.dump();
  for (const char* bad : {"[]", "{}", R"({"kind":"language-model","model":"lstm:6","data":{}})"}) {
    metadata["card"] = bad;
    EXPECT_NE(failure(), "") << bad;
  }
}

TEST_F(Exchange, unreadable_models_are_named_in_the_error) {
  const StateDict good = random_dict(4, 4, 6, 2, false, kSymbols, kSymbols);
  const auto refusal = [&](StateDict dict) {
    return message_of<ModelError>([&] { import_network(request(write(dict))); });
  };
  const auto without = [&](const char* name) {
    StateDict dict = good;
    dict.erase(name);
    return refusal(dict);
  };
  const auto with = [&](const char* name, std::vector<Index> shape) {
    StateDict dict = good;
    Random random(1, "x");
    dict[name] = numbers(random, std::move(shape));
    return refusal(dict);
  };
  EXPECT_TRUE(contains(without("linear.weight"), "Linear layers with a bias: none"));
  EXPECT_TRUE(contains(without("rnn.weight_hh_l1"), "it has no rnn.weight_hh_l1"));
  EXPECT_TRUE(contains(without("rnn.weight_hh_l0"), "it has no rnn.weight_hh_l0"));
  EXPECT_TRUE(contains(with("decoder.weight_ih_l0", {4, 4}), "several recurrent modules"));
  EXPECT_TRUE(contains(with("rnn.weight_hr_l0", {2, 6}), "proj_size"));
  EXPECT_TRUE(contains(with("rnn.weight_hh_l0", {23, 6}), "does not fit an RNN, LSTM or GRU"));
  EXPECT_TRUE(contains(with("rnn.weight_ih_l1", {24, 5}), "has shape [24, 5], not [24, 6]"));
  EXPECT_TRUE(contains(with("linear.weight", {kSymbols, 5}), "reads 5 numbers, but the last layer has 6 outputs"));
  EXPECT_TRUE(contains(with("embedding.weight", {kSymbols, 5}), "has 5 outputs, but the first layer reads 4"));
  EXPECT_TRUE(contains(with("norm.gain", {6}), "norm.gain does not belong to a supported layer"));
  StateDict not_finite = good;
  not_finite["linear.bias"].v[2] = NAN;
  EXPECT_NE(refusal(not_finite), "");
  EXPECT_TRUE(
      contains(message_of<ModelError>([&] { import_network(request(folder_.write("x", "PK\3\4...data.pkl"))); }),
               "this is a pickle"));
  const auto misuse = [&](ImportNetworkRequest wanted) {
    wanted.file = write(good);
    return message_of<UsageError>([&] { import_network(wanted); });
  };
  ImportNetworkRequest plain = request("");
  plain.begin.clear();
  EXPECT_TRUE(contains(misuse(plain), "use --begin SYMBOL"));
  plain.begin = "q";
  EXPECT_NE(misuse(plain), "");
  plain.begin = "a", plain.activation = "relu";
  EXPECT_TRUE(contains(misuse(plain), "--activation applies only to"));
  plain.activation.clear(), plain.alphabet.clear();
  EXPECT_TRUE(contains(misuse(plain), "use --alphabet FILE with"));
  plain.alphabet = folder_.write("few.json", R"({"kind": "chars", "symbols": "abc"})");
  EXPECT_TRUE(contains(misuse(plain), "the alphabet has 3 symbols"));
}

TEST_F(Exchange, overflow_is_reported_as_a_difference) {
  for (const bool relu : {false, true}) {
    StateDict dict = random_dict(1, kSymbols, 6, 1, false, kSymbols, 0);
    for (double& w : dict["rnn.weight_hh_l0"].v) w = 1e30;
    for (double& w : dict["linear.weight"].v) w = 1e38;
    ImportNetworkRequest wanted = request(write(dict));
    wanted.activation = relu ? "relu" : "";
    EXPECT_TRUE(contains(message_of<ModelError>([&] { import_network(wanted); }), "differs")) << relu;
  }
}

TEST_F(Exchange, weights_with_a_different_size_from_the_reference_are_rejected) {
  const DataSpecification data = {
      .source = "table",
      .fields = {{.name = "x", .type = FieldSpecification::Type::values, .size = 1, .mean = {3}, .deviation = {2}},
                 {.name = "y", .type = FieldSpecification::Type::values, .size = 1, .mean = {7}, .deviation = {0.5}}}};
  NetworkModel<float> model("gru:5,reset=after,biases=2", data, {.reads = {"x"}, .heads = {{.field = "y"}}});
  model.initialize(4);
  model.save(folder_.path("like"));
  for (const auto& [inputs, outputs] : {std::pair{40'000, 1}, std::pair{1, 40'000}}) {
    const std::string file = write(random_dict(3, inputs, 5, 1, false, outputs, 0));
    EXPECT_NE(message_of<UsageError>(
                  [&] { import_network({.file = file, .out = folder_.path("back"), .like = folder_.path("like")}); }),
              "");
  }
}

TEST_F(Exchange, models_unsupported_by_the_target_are_named_in_the_error) {
  for (const auto& [spec, word] : {std::pair{"gru:5", "reset=after"},
                                   {"gru:5,reset=after,gated-state=true", "gated-state=true"},
                                   {"lstm:5,norm=layer", "norm=layer"},
                                   {"lstm:5,delays=1+2", "delays=1+2"},
                                   {"lstm:5,direct=1", "direct=1"},
                                   {"gru:5,reset=after,layers=2,residual=plain", "residual=plain"},
                                   {"lstm:5,trained-initial=true", "trained-initial"},
                                   {"mingru:5", "mingru"},
                                   {"rnn:5,leak=fixed", "leak=fixed"},
                                   {"rnn:5,activation=sigmoid", "rnn:5"}}) {
    const LanguageModel<float> model(spec, Alphabet::chars_of(kLetters));
    EXPECT_TRUE(contains(message_of<UsageError>([&] { exported(model); }), word)) << spec;
  }
}

TEST_F(Exchange, rtneural_uses_the_weights_of_keras) {
  LanguageModel<float> model("lstm:5,layers=2,embedding=3", Alphabet::chars_of(kLetters));
  model.initialize(7);
  const StateDict torch = read(exported(model));
  std::string text;
  export_rtneural(folder_.path("ours"), [&](std::string_view piece) { text += piece; });
  const nlohmann::json json = nlohmann::json::parse(text);
  ASSERT_EQ(json["layers"].size(), 3u);
  EXPECT_EQ(json["in_shape"][2], kSymbols);
  const auto& second = json["layers"][1]["weights"];
  const Array& w = torch.at("rnn.weight_ih_l1");
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(second[0][j][i].get<double>(), w.v[i * 5 + j]);
  const auto& first = json["layers"][0]["weights"];  // includes the embedding
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t s = 0; s < 7; ++s) {
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j)
        sum += torch.at("rnn.weight_ih_l0").v[i * 3 + j] * torch.at("embedding.weight").v[s * 3 + j];
      EXPECT_NEAR(first[0][s][i].get<double>(), sum, 1e-6);
    }
  EXPECT_EQ(json["layers"][2]["type"], "dense");
  EXPECT_EQ(json["layers"][2]["weights"][0].size(), 5u);
}

}  // namespace
}  // namespace unfold
