// Models with a cell that the loading program has not registered.
#include "model/stored_cell/stored_cell.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/network/stored_spec.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/graph/cells/register_cell.h"
#include "unfold/graph/circuit/vector_map.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
using Type = FieldSpecification::Type;

struct LeakyOptions {
  double rate = 0.3;
};

template <class Visitor>
void describe(Visitor& v, LeakyOptions& o) {
  v("rate", o.rate, "share of the state that is replaced in a step", range(0, 1));
}

Signal leaky(Circuit& c, Signal x, Index n, const LeakyOptions& options) {
  const auto h = c.link(n, {}, options.rate > 0.6);
  auto next = tanh(c.affine("z", n, {{"W", x}, {"U", h}}));
  if (options.rate > 0.6) next = c.dropout(next, 0.5);
  const auto y = (1 - options.rate) * h + options.rate * next;
  c.feed(h, y);
  return y;
}

void register_once() {
  if (cells().find("leaky-test") == nullptr)
    register_cell(CellOf<LeakyOptions>{.name = "leaky-test", .help = "leaky", .add = leaky});
}

/// The bytes of a model whose cell has been renamed to a name that is not registered.
std::string renamed(const Model& model) {
  Json card = model.card();
  std::string text = card["model"].get<std::string>();
  const std::string from = "leaky-test", to = "other-cell";
  card["model"] = text.replace(text.find(from), from.size(), to);
  card["cell"]["name"] = to;
  const ModelFile file = ModelFile::from_bytes(model.bytes(), "model");
  SafetensorsWriter writer;
  std::vector<std::vector<float>> kept;
  for (const Tensor& tensor : file.tensors().tensors()) {
    kept.emplace_back(at(tensor.elements()));
    file.tensors().read(tensor.name, tensor.shape, std::span(kept.back()));
  }
  std::size_t i = 0;
  for (const Tensor& tensor : file.tensors().tensors())
    writer.add(tensor.name, tensor.shape, std::span<const float>(kept[i++]));
  writer.set_metadata("card", card.dump());
  return writer.bytes();
}

TEST(StoredCell, unknown_cell_is_read_from_the_model_file) {
  register_once();
  for (const char* spec : {"leaky-test:5", "leaky-test:4,rate=0.75,layers=2,embedding=3,residual=norm,dropout=0.1"}) {
    LanguageModel<float> model(spec, Alphabet::all_bytes());
    model.initialize(3);
    const auto loaded = symbol_model_from_bytes(renamed(model), "renamed");
    const auto predictor = model.predictor(), same = loaded->predictor();
    for (const Symbol x : {Symbol{3}, Symbol{200}, Symbol{7}}) {
      predictor->observe(x), same->observe(x);
      EXPECT_TRUE(std::ranges::equal(predictor->log_probabilities(), same->log_probabilities())) << spec;
    }
    EXPECT_EQ(symbol_model_from_bytes(loaded->bytes(), "again")->bytes(), loaded->bytes());
    EXPECT_EQ(symbol_model_from_bytes(model.bytes(), "own")->bytes(), model.bytes());
  }
}

TEST(StoredCell, networks_in_both_directions_and_of_pairs_are_read_from_the_model_file) {
  register_once();
  const auto letters = std::make_shared<const Alphabet>(Alphabet::chars_of("abcd"));
  const auto field = [&](const char* name) {
    return FieldSpecification{.name = name, .type = Type::symbols, .size = letters->size(), .alphabet = letters};
  };
  DataSpecification fields{.source = "table", .fields = {field("word"), field("class")}};
  fields.fields[1].once = true;
  DataSpecification pairs{.source = "pairs", .fields = {field("source"), field("target")}};
  pairs.fields[0].source = true;
  const auto expect_read = [](const std::string& spec, const DataSpecification& data, const NetworkLayout& layout) {
    NetworkModel<float> model(spec, data, layout);
    model.initialize(1);
    const auto loaded = model_from_bytes(renamed(model), "renamed");
    EXPECT_TRUE(std::ranges::equal(dynamic_cast<NetworkModel<float>&>(*loaded).parameters().flat(),
                                   std::as_const(model).parameters().flat()));
  };
  expect_read("bileaky-test:3,layers=2", fields, {.reads = {"word"}, .heads = {{.field = "class"}}});
  expect_read("leaky-test:3,rate=0.9,attention=additive", pairs,
              {.reads = {"source", "previous target"}, .heads = {{.field = "target"}}});
}

TEST(StoredCell, built_in_cells_are_not_stored) {
  EXPECT_FALSE(LanguageModel<float>("lstm:3,layers=2", Alphabet::all_bytes()).card().contains("cell"));
  EXPECT_FALSE(LanguageModel<float>("irnn:3", Alphabet::all_bytes()).card().contains("cell"));
}

TEST(StoredCell, derived_networks_use_the_stored_circuits) {
  register_once();
  int calls = 0;
  if (cells().find("counted-test") == nullptr)
    register_cell("counted-test", [&calls](Circuit& c, Signal x, Index n) {
      ++calls;
      return leaky(c, x, n, {});
    });
  const LanguageModel<float> model("counted-test:4,layers=3", Alphabet::all_bytes());
  EXPECT_EQ(calls, 2);  // of the symbols, and of the layer below
  Circuit again;
  build_network<float>(model.spec(), model.data(), NetworkLayout::language_model(), again);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(again.parameters().size(), model.circuit().parameters().size());
}

TEST(StoredCell, damaged_cells_raise_model_errors) {
  register_once();
  const LanguageModel<float> model("leaky-test:3", Alphabet::all_bytes());
  const Json cell = model.card()["cell"];
  const auto refuse = [&](const std::function<void(Json&)>& damage) {
    Json other = cell;
    damage(other);
    EXPECT_THROW(parse_stored_spec("leaky-test:3", StoredCell::from_json(other)), UsageError) << other;
  };
  refuse([](Json& c) { c["version"] = 2; });
  refuse([](Json& c) { c["name"] = "a b"; });
  refuse([](Json& c) { c["name"] = "leaky"; });
  refuse([](Json& c) { c["options"] = Json::object(); });
  refuse([](Json& c) { c["circuits"] = 3; });
  refuse([](Json& c) { c["circuits"][0]["output"] = 100; });
  refuse([](Json& c) { c["circuits"][0]["units"] = 1.5; });
  refuse([](Json& c) { c["circuits"][0].erase("circuit"); });
  refuse([](Json& c) { c["circuits"][0]["circuit"]["version"] = 9; });
  refuse([](Json& c) { c["grid"] = {{"directions", 7}, {"patches", Json::array()}}; });
  EXPECT_NO_THROW(parse_stored_spec("leaky-test:3", StoredCell::from_json(cell)));
  EXPECT_THROW(
      LanguageModel<float>(parse_stored_spec("leaky-test:4", StoredCell::from_json(cell)), Alphabet::all_bytes()),
      UsageError);  // other units
}

}  // namespace
}  // namespace unfold
