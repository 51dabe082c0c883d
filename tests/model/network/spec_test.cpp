#include "unfold/model/network/spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/network/density_model.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/circuit/parameters.h"

namespace unfold {
namespace {

std::string message_of(const char* text) {
  try {
    parse_model_spec(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

std::string value_of(const ModelSpec& spec, std::string_view name) {
  for (const OptionHelp& option : help_of(spec.options))
    if (option.name == name) return option.value;
  return {};
}

TEST(ModelSpec, spec_parses_cells_sizes_and_options) {
  const ModelSpec lstm = parse_model_spec("lstm:256,layers=2,dropout=0.25,forget-bias=2");
  EXPECT_EQ(lstm.cell->name, "lstm");
  EXPECT_EQ(lstm.units, 256);
  EXPECT_EQ(lstm.layers, 2);
  EXPECT_EQ(lstm.dropout, 0.25);
  EXPECT_EQ(lstm.options.as<LstmOptions>().forget_bias, 2);
  const ModelSpec rnn = parse_model_spec("rnn:100,activation=relu,init=identity,embedding=16");
  EXPECT_EQ(value_of(rnn, "activation"), "relu");
  EXPECT_EQ(value_of(rnn, "init"), "identity");
  EXPECT_EQ(rnn.embedding, 16);
  EXPECT_TRUE(parse_model_spec("gru:8,reset=after").options.as<GruOptions>().reset_after);
}

TEST(ModelSpec, canonical_text_contains_nondefault_options) {
  for (const char* text : {"lstm:512", "rnn:5,activation=relu", "gru:7,reset=after,layers=3,trained-initial=true",
                           "tensor-rnn:6,activation=relu", "lstm:4,chrono=100,dropout=0.5,embedding=9"})
    EXPECT_EQ(to_string(parse_model_spec(text)), text);
  EXPECT_EQ(to_string(parse_model_spec("lstm:512,layers=1")), "lstm:512");
}

TEST(ModelSpec, alias_specs_are_an_rnn_with_its_initialization) {
  EXPECT_EQ(to_string(parse_model_spec("irnn:100")), "rnn:100,activation=relu,init=identity");
  EXPECT_EQ(to_string(parse_model_spec("np-rnn:100,layers=2")), "rnn:100,activation=relu,init=normalised,layers=2");
  EXPECT_EQ(to_string(parse_model_spec("irnn:7,activation=softplus,input-scale=0.01")),
            "rnn:7,activation=softplus,init=identity,input-scale=0.01");
  EXPECT_NE(message_of("np-rn:5").find("did you mean \"np-rnn\""), std::string::npos);
}

TEST(ModelSpec, initialization_scales_reach_the_weights) {
  Circuit circuit;
  build_model(parse_model_spec("irnn:6,scale=0.5,input-scale=0.01"), 11, circuit);
  Parameters<double> p(circuit);
  p.initialize(1);
  for (Index i = 0; i < 6; ++i)
    for (Index j = 0; j < 6; ++j) EXPECT_EQ(p.at("layer1/z/U")(i, j), i == j ? 0.5 : 0);
  for (const char* name : {"layer1/z/W", "output/V"}) {
    const Matrix<double> w = p.at(name);
    for (Index i = 0; i < w.rows * w.cols; ++i) {
      EXPECT_NE(w.data[i], 0);
      EXPECT_LE(std::abs(w.data[i]), 0.01);
    }
  }
}

TEST(ModelSpec, errors_suggest_the_nearest_name) {
  EXPECT_NE(message_of("lstn:5").find("did you mean \"lstm\""), std::string::npos);
  EXPECT_NE(message_of("lstm:5,layer=2").find("did you mean \"layers\""), std::string::npos);
  for (const char* text : {"lstm", "lstm:0", "lstm:-3", "lstm:4x", "lstm:99999999", "lstm:5,layers=0",
                           "lstm:5,dropout=1", "lstm:5,activation=elu", "rnn:5,activation=elu", "gru:5,chrono=5",
                           "lstm:5,chrono=1", "tensor-rnn:5000", "glnn:5,trained-initial=true", "urnn:6", "urnn:1"})
    EXPECT_FALSE(message_of(text).empty()) << text;
}

TEST(ModelSpec, every_registered_model_and_option_can_be_built) {
  for (const ModelHelp& model : models()) {
    const bool linear = model.name == "crf" || names_density(model.name);
    std::string text = model.name + (linear ? ":" : ":8,");
    for (const OptionHelp& option : model.options) text += option.name + "=" + option.value + ",";
    text.pop_back();
    Circuit circuit;
    if (linear) {  // of fields alone: tests/model/network/linear_test.cpp builds it
      EXPECT_THROW(build_model(parse_model_spec(text), 11, circuit), UsageError);
      continue;
    }
    if (model.name == "kernels") {  // of numbers alone, in the part of whole series
      const auto part = std::make_unique<Circuit::InPart>(circuit, input_part(parse_model_spec(text)));
      build_model(parse_model_spec(text), circuit.input("x", 2), 11, circuit);
    } else if (model.name == "ar") {  // of numbers alone
      build_model(parse_model_spec(text), circuit.input("x", 2), 11, circuit);
    } else {
      build_model(parse_model_spec(text), 11, circuit);
    }
    circuit.validate();
  }
}

TEST(ModelSpec, layers_embedding_and_output_have_their_parameters) {
  Circuit circuit;
  build_model(parse_model_spec("lstm:6,layers=2,embedding=4,dropout=0.1"), 11, circuit);
  std::set<std::string> names;
  for (const ParameterInfo& p : circuit.parameters()) names.insert(p.name);
  EXPECT_EQ(names, (std::set<std::string>{"embedding/W", "layer1/z/W", "layer1/z/U", "layer1/z/bias", "layer2/z/W",
                                          "layer2/z/U", "layer2/z/bias", "output/V", "output/bias"}));
  EXPECT_EQ(circuit.parameter_count(), 11 * 4 + (4 + 6 + 1) * 24 + (6 + 6 + 1) * 24 + (6 + 1) * 11);
}

TEST(ModelSpec, random_graphs_are_supported_per_cell) {
  ModelSpec sparse = parse_model_spec("glnn:9,graph=4");
  ASSERT_TRUE(has_random_graph(sparse));
  graph_seed(sparse) += 2;
  EXPECT_EQ(to_string(sparse), "glnn:9,graph=6");
  EXPECT_FALSE(has_random_graph(parse_model_spec("lstm:9")));
}

TEST(ModelSpec, spec_is_reduced_to_options_of_the_cell) {
  EXPECT_EQ(to_string(with_max_units(parse_model_spec("mrnn:90,factors=30,embedding=7"), 5)),
            "mrnn:5,factors=5,embedding=5");
  EXPECT_EQ(to_string(with_max_units(parse_model_spec("urnn:64"), 5)), "urnn:4");
  EXPECT_EQ(to_string(with_max_units(parse_model_spec("gru:3,layers=2"), 5)), "gru:3,layers=2");
}

TEST(ModelSpec, layers_can_be_built_on_vectors_without_an_output) {
  Circuit circuit;
  const Layers layers = build_layers(parse_model_spec("gru:6,layers=2"), circuit.input("values", 3), circuit);
  EXPECT_EQ(layers.top.size(), 6);
  ASSERT_EQ(layers.hidden.size(), 2u);
  EXPECT_EQ(layers.hidden[1].id, layers.top.id);
  EXPECT_TRUE(circuit.outputs().empty());
}

TEST(ModelSpec, bidirectional_layers_read_both_outputs_of_the_layer_below) {
  const ModelSpec spec = parse_model_spec("bilstm:6,layers=2,dropout=0.1");
  EXPECT_EQ(to_string(spec), "bilstm:6,layers=2,dropout=0.1");
  EXPECT_EQ(to_string(parse_model_spec("biirnn:6")), "birnn:6,activation=relu,init=identity");
  Circuit circuit;
  const ModelSignals signals = build_model(spec, circuit.symbols("symbols", 11), 3, circuit);
  EXPECT_EQ(signals.hidden.size(), 4u);
  std::set<std::string> names;
  for (const ParameterInfo& p : circuit.parameters()) names.insert(p.name);
  EXPECT_EQ(names, (std::set<std::string>{
                       "layer1/forward/z/W", "layer1/forward/z/U", "layer1/forward/z/bias", "layer1/backward/z/W",
                       "layer1/backward/z/U", "layer1/backward/z/bias", "layer2/forward/z/W1", "layer2/forward/z/W2",
                       "layer2/forward/z/U", "layer2/forward/z/bias", "layer2/backward/z/W1", "layer2/backward/z/W2",
                       "layer2/backward/z/U", "layer2/backward/z/bias", "output/V1", "output/V2", "output/bias"}));
  for (const Node& node : circuit.nodes()) {
    if (node.kind() != Node::Kind::link) continue;
    EXPECT_EQ(node.link().delay == Delay::next(), node.name.find("/backward/") != std::string::npos) << node.name;
  }
}

TEST(ModelSpec, bidirectional_model_does_not_predict_the_next_symbol) {
  Circuit circuit;
  EXPECT_THROW(build_model(parse_model_spec("bigru:6"), 11, circuit), UsageError);
}

}  // namespace
}  // namespace unfold
