/// Networks of several fields and heads, as models build them: all derivative checks, and invalid combinations.

#include "unfold/model/network/network_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using Type = FieldSpecification::Type;

/// Fields as in user data: two of symbols and one of numbers at every position, and one of each once per sequence.
DataSpecification fields() {
  return {.source = "table",
          .fields = {{.name = "word", .type = Type::symbols, .size = 4},
                     {.name = "tag", .type = Type::symbols, .size = 3},
                     {.name = "wind", .type = Type::values, .size = 2},
                     {.name = "class", .type = Type::symbols, .size = 2, .once = true},
                     {.name = "mood", .type = Type::values, .size = 1, .once = true}}};
}

void expect_right(const std::string& spec, const NetworkLayout& layout) {
  Circuit circuit;
  const auto network = build_network<double>(parse_model_spec(spec), fields(), layout, circuit);
  const CheckReport report = check_derivatives(network, Structure::chains(std::vector<Index>{4, 1, 3}));
  EXPECT_TRUE(report.passed()) << spec << report.text();
  for (const CheckResult& check : report.results)
    EXPECT_TRUE(check.run || check.name == "path") << spec << ": " << check.name << " " << check.where;
}

TEST(NetworkBody, jointly_embedded_fields_have_correct_derivatives) {
  for (const char* spec : {"rnn:2", "lstm:2,embedding=3", "bigru:2,embedding=2"})
    expect_right(spec, {.reads = {"word", "tag", "wind"}, .heads = {{.field = "class"}}});
  expect_right("lstm:2", {.reads = {"previous tag", "previous(2) wind", "word"}, .heads = {{.field = "tag"}}});
  expect_right("gru:2", {.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "mixture:2"}}});
}

TEST(NetworkBody, output_over_recent_inputs_has_correct_derivatives) {
  expect_right("gru:2,direct=3", {.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "normal"}}});
  expect_right("lstm:2,direct=1", {.reads = {"previous tag", "wind"}, .heads = {{.field = "tag"}, {.field = "class"}}});
}

TEST(NetworkBody, output_over_recent_inputs_has_one_matrix_each) {
  Circuit circuit;
  const auto network =
      build_network<double>(parse_model_spec("rnn:1,direct=2"), fields(),
                            {.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "gaussian"}}}, circuit);
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : circuit.parameters())
    if (parameter.name.starts_with("output/")) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"output/V", "output/D1", "output/D2", "output/bias"}));
}

TEST(NetworkBody, several_heads_have_correct_derivatives) {
  for (const char* spec : {"birnn:2", "lstm:2,pool=last", "bilstm:2,pool=mean", "gru:2,pool=max", "birnn:2,pool=max"})
    expect_right(spec, {.reads = {"word", "wind"},
                        .heads = {{.field = "tag"},
                                  {.field = "mood", .loss = "normal", .weight = 0.5},
                                  {.field = "class", .weight = 2}}});
  expect_right(
      "birnn:2,layers=2",
      {.reads = {"word"}, .heads = {{.field = "wind", .loss = "normal"}, {.field = "class"}, {.field = "tag"}}});
}

TEST(NetworkBody, position_and_sequence_heads_share_one_body) {
  Circuit circuit;
  const auto network =
      build_network<double>(parse_model_spec("bilstm:2,pool=all"), fields(),
                            {.reads = {"word"}, .heads = {{.field = "tag"}, {.field = "class"}}}, circuit);
  const auto read_by = [&](std::size_t head) {
    Index rows = 0;
    for (const auto& term : circuit.nodes()[at(network.heads[head].signal.id)].terms())
      rows += circuit.parameters()[at(term.parameter)].rows;
    return rows;
  };
  EXPECT_EQ(read_by(0), 2 * 2);
  EXPECT_EQ(read_by(1), 3 * 2 * 2);  // mean, maximum and end of both directions
}

std::string refusal_of(const std::string& spec, const NetworkLayout& layout) {
  Circuit circuit;
  try {
    build_network<double>(parse_model_spec(spec), fields(), layout, circuit);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(NetworkBody, unsupported_networks_are_rejected_with_the_reason) {
  EXPECT_THAT(refusal_of("rnn:2", {.reads = {}, .heads = {{.field = "tag"}}}),
              HasSubstr("must read at least one field"));
  EXPECT_THAT(refusal_of("rnn:2", {.reads = {"word"}, .heads = {}}), HasSubstr("must predict at least one field"));
  EXPECT_THAT(refusal_of("rnn:2", {.reads = {"words"}, .heads = {{.field = "tag"}}}), HasSubstr("\"word\""));
  EXPECT_THAT(refusal_of("rnn:2", {.reads = {"word"}, .heads = {{.field = "tag", .loss = "normal"}}}),
              HasSubstr("the loss normal requires numbers, but the field tag contains symbols"));
  EXPECT_THAT(refusal_of("birnn:2", {.reads = {"previous tag"}, .heads = {{.field = "tag"}}}),
              HasSubstr("reads sequences in both directions"));
  EXPECT_THAT(refusal_of("rnn:2,direct=2", {.reads = {"previous tag"}, .heads = {{.field = "tag"}}}),
              HasSubstr("supported only for numbers; use direct=1"));
}

TEST(NetworkBody, training_rejects_unused_options) {
  const NetworkLayout once = {.reads = {"word"}, .heads = {{.field = "tag"}, {.field = "class"}}};
  const NetworkLayout everywhere = {.reads = {"word"}, .heads = {{.field = "tag"}}};
  EXPECT_NO_THROW(require_options_used(parse_model_spec("gru:2,pool=mean"), fields(), once));
  EXPECT_NO_THROW(require_options_used(parse_model_spec("gru:2"), fields(), everywhere));
  for (const char* spec : {"gru:2,pool=mean", "gru:2,condition=start", "gru:2,variational=true", "gru:2,dropouth=0.2"})
    EXPECT_THROW(require_options_used(parse_model_spec(spec), fields(), everywhere), UsageError) << spec;
  for (const char* spec : {"gru:2,direct=1", "gru:2,variational=true,dropout=0.1", "gru:2,layers=2,dropouth=0.2"})
    EXPECT_NO_THROW(require_options_used(parse_model_spec(spec), fields(), everywhere)) << spec;
  EXPECT_THROW(require_options_used(parse_model_spec("gru:2,direct=1"), fields(),
                                    {.reads = {"word"}, .heads = {{.field = "class"}}}),
               UsageError);
  DataSpecification pairs = fields();
  pairs.fields.front().source = true;
  EXPECT_NO_THROW(require_options_used(parse_model_spec("gru:2,condition=start"), pairs, everywhere));
}

}  // namespace
}  // namespace unfold
