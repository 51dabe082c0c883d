#pragma once
/// Sentences with tags, a class and a wind value, and a network for them.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/examples/example_batches.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/pool.h"
#include "unfold/loss/network.h"

namespace unfold::testing_support {

/// The tag of a word depends on the previous word, the class of a sentence on the sum of its words, the wind on the
/// words; some values of each are missing.
inline Examples some_sentences(Index count) {
  Examples examples{
      .source = "sentences",
      .columns = {{.name = "word"}, {.name = "tag"}, {.name = "class", .once = true}, {.name = "wind", .width = 1}}};
  Random random(3, "sentences");
  for (Index e = 0; e < count; ++e) {
    const Index length = 1 + static_cast<Index>(random.below(9));
    std::uint64_t before = 0, sum = 0;
    for (Index p = 0; p < length; ++p) {
      const std::uint64_t word = random.below(4);
      examples.columns[0].texts.push_back(std::string(1, static_cast<char>('a' + word)));
      examples.columns[1].texts.push_back(before % 2 == 0 ? "even" : "odd");
      examples.columns[3].numbers.push_back(0.5 * static_cast<double>(word) + 0.1 * random.normal());
      for (const std::size_t c : {0U, 1U, 3U}) examples.columns[c].missing.push_back(random.below(9) == 0);
      before = word;
      sum += word;
    }
    examples.columns[2].texts.emplace_back(sum > 2 * at(length) - 2 ? "high" : "low");
    examples.columns[2].missing.push_back(random.below(9) == 0);
    examples.ends.push_back(examples.positions() + length);
  }
  return examples;
}

struct Data {
  explicit Data(Index count = 40)
      : examples(some_sentences(count)),
        specification(std::make_shared<const DataSpecification>(
            specify(examples, {.reads = {"word"}, .predicts = kPredicts}, "columns"))),
        set(examples, specification, kPredicts) {}

  static inline const std::vector<std::string> kPredicts = {"tag", "class", "wind"};
  Examples examples;
  std::shared_ptr<const DataSpecification> specification;
  ExampleSet set;
};

/// Predicts tags at every position, the class from the pooled states, and the mean and deviation of the wind, or only
/// some of these.
template <class T>
struct SentenceNetwork {
  SentenceNetwork(const DataSpecification& data, bool both_directions, const std::vector<std::string>& heads) {
    const Signal word = c.symbols("word", data.field("word").size);
    const Signal wind = c.input("previous wind", 1);
    const Signal read = c.affine("fields", 4, {{"word", word}, {"wind", wind}}, Init::zero(), false);
    std::vector<Signal> layer = {lstm(c, read, 5, {.trained_initial = true})};
    if (both_directions) {
      const auto scope = c.scope("back");
      const auto reversed = c.reversed();
      layer.push_back(gru(c, read, 5, {}));
    }
    network.inputs = {{"word", word}, {"previous wind", wind}};
    for (const std::string& field : heads) add_head(data.field(field), layer);
    network.plan = std::make_shared<const Plan>(c);
    network.validate();
    parameters = Parameters<T>(c);
    parameters.initialize(3);
  }

  void add_head(const FieldSpecification& field, const std::vector<Signal>& layer) {
    const bool symbols = field.type == FieldSpecification::Type::symbols;
    const Signal read = c.join(field.once ? pool(c, layer, Pool::all) : layer);
    const Signal output = c.affine(field.name, symbols ? field.size : 2 * field.size, {{"V", read}});
    c.output(output);
    std::shared_ptr<const Loss<T>> loss = symbols ? softmax_loss<T>() : normal_loss<T>();
    network.heads.push_back({field.name, output, std::move(loss)});
  }

  Circuit c;
  Network<T> network;
  Parameters<T> parameters;
};

}  // namespace unfold::testing_support
