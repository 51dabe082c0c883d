#include "unfold/models/spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "unfold/base/error.h"
#include "unfold/circuit/parameters.h"
#include "unfold/models/defaults.h"

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

TEST(ModelSpec, reads_cells_sizes_and_options) {
  const ModelSpec lstm = parse_model_spec("lstm:256,layers=2,dropout=0.25,forget-bias=2");
  EXPECT_EQ(lstm.cell, CellKind::lstm);
  EXPECT_EQ(lstm.units, 256);
  EXPECT_EQ(lstm.layers, 2);
  EXPECT_EQ(lstm.dropout, 0.25);
  EXPECT_EQ(lstm.forget_bias, 2);
  const ModelSpec rnn = parse_model_spec("rnn:100,activation=relu,init=identity,embedding=16");
  EXPECT_EQ(rnn.activation, Map::relu);
  EXPECT_EQ(rnn.init, RecurrentInit::identity);
  EXPECT_EQ(rnn.embedding, 16);
  EXPECT_EQ(parse_model_spec("gru:8,reset=after").reset, ResetGate::after);
}

TEST(ModelSpec, canonical_text_names_what_differs_from_the_defaults) {
  for (const char* text : {"lstm:512", "rnn:5,activation=relu", "gru:7,reset=after,layers=3,trained-initial=true",
                           "tensor-rnn:6,activation=relu", "lstm:4,chrono=100,dropout=0.5,embedding=9"})
    EXPECT_EQ(to_string(parse_model_spec(text)), text);
  EXPECT_EQ(to_string(parse_model_spec("lstm:512,layers=1")), "lstm:512");
}

TEST(ModelSpec, other_spellings_are_an_rnn_with_its_start) {
  EXPECT_EQ(to_string(parse_model_spec("irnn:100")), "rnn:100,activation=relu,init=identity");
  EXPECT_EQ(to_string(parse_model_spec("np-rnn:100,layers=2")), "rnn:100,activation=relu,init=normalised,layers=2");
  EXPECT_EQ(to_string(parse_model_spec("irnn:7,activation=softplus,input-scale=0.01")),
            "rnn:7,activation=softplus,init=identity,input-scale=0.01");
  EXPECT_NE(message_of("np-rn:5").find("did you mean \"np-rnn\""), std::string::npos);
}

TEST(ModelSpec, scales_of_the_start_reach_the_weights) {
  Circuit circuit;
  build_model(parse_model_spec("irnn:6,scale=0.5,input-scale=0.01"), 11, circuit);
  Parameters<double> p(circuit);
  p.initialise(1);
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

TEST(ModelSpec, errors_name_the_nearest_and_what_is_not_built_yet) {
  EXPECT_NE(message_of("lstn:5").find("did you mean \"lstm\""), std::string::npos);
  EXPECT_NE(message_of("lstm:5,layer=2").find("did you mean \"layers\""), std::string::npos);
  EXPECT_NE(message_of("esn:6").find("not built yet"), std::string::npos);
  for (const char* text :
       {"lstm", "lstm:0", "lstm:-3", "lstm:4x", "lstm:99999999", "lstm:5,layers=0", "lstm:5,dropout=1",
        "lstm:5,activation=relu", "rnn:5,activation=elu", "gru:5,chrono=5", "lstm:5,chrono=1", "tensor-rnn:5,layers=2",
        "tensor-rnn:5,embedding=3", "tensor-rnn:5000", "urnn:6", "urnn:1"})
    EXPECT_FALSE(message_of(text).empty()) << text;
}

TEST(ModelSpec, every_listed_model_and_option_can_be_built) {
  for (const ModelHelp& model : models()) {
    std::string text = model.name + ":8";
    for (const OptionHelp& option : model.options) text += "," + option.name + "=" + option.value;
    Circuit circuit;
    build_model(parse_model_spec(text), 11, circuit);
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

TEST(Defaults, are_valid) { EXPECT_EQ(to_string(parse_model_spec(kDefaultModel)), kDefaultModel); }

}  // namespace
}  // namespace unfold
