#pragma once
/// Tiny sequence-to-sequence networks, for tests that enumerate all targets.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/decoding/target_decoder.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_body.h"

namespace unfold::testing_support {

inline constexpr const char* kEnd = "</s>";

/// Sources over four letters and targets over a and b, ended by an end symbol or by a stop probability.
inline Examples letters(std::vector<std::pair<std::string, std::string>> pairs, bool stops) {
  Examples examples{.source = "pairs"};
  ExampleColumn source{.name = "source", .source = true}, target{.name = "target"}, stop{.name = "target.stop"};
  for (const auto& [from, to] : pairs) {
    for (const char c : from) source.texts.emplace_back(1, c);
    source.ends.push_back(source.entries());
    for (const char c : to) target.texts.emplace_back(1, c);
    target.texts.emplace_back(stops ? "" : kEnd);
    while (stop.texts.size() + 1 < target.texts.size()) stop.texts.push_back("go");
    stop.texts.emplace_back("stop");
    examples.ends.push_back(target.entries());
  }
  examples.columns = {source, target};
  if (stops) examples.columns.push_back(stop);
  return examples;
}

/// Four sources and their targets, and a network for them with random weights.
struct PairModel {
  explicit PairModel(const std::string& spec, bool stops_ = false)
      : stops(stops_),
        examples(letters({{"xy", "ab"}, {"wxyzw", "b"}, {"z", ""}, {"yyx", "aab"}}, stops)),
        predicts(stops ? std::vector<std::string>{"target", "target.stop"} : std::vector<std::string>{"target"}),
        data(std::make_shared<const DataSpecification>(
            specify(examples, {.reads = {"source", "target"}, .predicts = predicts}, "pairs"))),
        set(examples, data, {}),
        body(parse_model_spec(spec), *data, layout()) {
    body.parameters().initialize(3);
    Random noise(1, "noise");
    for (double& p : body.parameters().flat()) p += 0.3 * noise.normal();
  }
  Batch batch(const ExampleSet& of) const {
    Batch result;
    example_reader(of, {.reads = {"source", "previous target"}, .predicts = predicts, .batch = 9})->next(result);
    return result;
  }
  NetworkLayout layout() const {
    NetworkLayout result{.reads = {"source", "previous target"}, .heads = {}};
    for (const std::string& field : predicts) result.heads.push_back({.field = field});
    return result;
  }
  TargetEnds ends() const { return {.symbol = kEnd, .stop_field = ".stop", .stop_at = "stop"}; }

  bool stops;
  Examples examples;
  std::vector<std::string> predicts;
  std::shared_ptr<const DataSpecification> data;
  ExampleSet set;
  NetworkBody<double> body;
  Team team{1};
};

}  // namespace unfold::testing_support
