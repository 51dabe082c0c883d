/// State vectors, compared with explicit plain recurrent networks, and their formats.

#include "app/embed/embed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/states/layer_states.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/formats/file.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;
using Vector = std::vector<double>;

template <class M>
void set_random_weights(M& model) {
  Random random(1, "weights");
  for (auto& w : model.parameters().flat()) w = static_cast<std::decay_t<decltype(w)>>(0.7 * random.normal());
}

/// h_t = tanh(x_t W + h_{t-1} U + b) of one layer and direction.
template <class T>
std::vector<Vector> written_out(Parameters<T>& p, const std::string& prefix, const std::vector<Vector>& inputs) {
  const Matrix<const T> w = p.at(prefix + "z/W"), u = p.at(prefix + "z/U"), b = p.at(prefix + "z/bias");
  std::vector<Vector> states;
  Vector h(static_cast<std::size_t>(u.rows), 0.0);
  for (const Vector& x : inputs) {
    Vector next(h.size());
    for (Index i = 0; i < u.rows; ++i) {
      double z = static_cast<double>(b(0, i));
      for (std::size_t k = 0; k < x.size(); ++k) z += x[k] * static_cast<double>(w(static_cast<Index>(k), i));
      for (Index j = 0; j < u.rows; ++j) z += h[static_cast<std::size_t>(j)] * static_cast<double>(u(j, i));
      next[static_cast<std::size_t>(i)] = std::tanh(z);
    }
    h = next;
    states.push_back(h);
  }
  return states;
}

Vector one_hot(Symbol x, std::size_t size) {
  Vector v(size, 0.0);
  if (x != kNoSymbol) v[static_cast<std::size_t>(x)] = 1;
  return v;
}

void expect_equal(std::span<const double> found, const Vector& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-12);
}

TEST(TextStates, states_equal_the_network_written_out_for_short_and_long_pieces) {
  LanguageModel<double> model("rnn:5,layers=2", Alphabet::chars_of("abcd"));
  set_random_weights(model);
  Random random(3, "text");
  std::string text;
  for (int i = 0; i < 9000; ++i) text += static_cast<char>('a' + random.below(4));
  const Corpus corpus = Corpus::from_text(text, model.alphabet());
  Team team(1);
  // The second piece does not fit into one batch, and the third begins in the batch where it ends.
  const Split part{.name = "parts", .pieces = {{0, {0, 7}}, {0, {7, 8900}}, {0, {8900, 8903}}, {0, {8903, 9000}}}};
  for (const Index layer : {1, 2, 0}) {
    std::vector<std::vector<Vector>> wanted;
    for (const Piece& piece : part.pieces) {
      std::vector<Vector> inputs = {Vector(4, 0.0)};
      for (const Symbol x : corpus.read(0, piece.range)) inputs.push_back(one_hot(x, 4));
      std::vector<Vector> states = written_out(model.parameters(), "layer1/", inputs);
      if (layer != 1) states = written_out(model.parameters(), "layer2/", states);
      wanted.emplace_back(states.begin() + 1, states.end());
    }
    Index example = 0, position = 0;
    text_states<double>(model, corpus, part, {.layer = layer, .every_position = true}, team,
                        [&](const LayerState<double>& s) {
                          EXPECT_EQ(s.example, example);
                          EXPECT_EQ(s.position, position);
                          const auto& states = wanted[static_cast<std::size_t>(example)];
                          expect_equal(s.values, states[static_cast<std::size_t>(position)]);
                          if (++position == static_cast<Index>(states.size())) ++example, position = 0;
                        });
    EXPECT_EQ(example, 4);
    example = 0;
    text_states<double>(model, corpus, part, {.layer = layer}, team, [&](const LayerState<double>& s) {
      EXPECT_EQ(s.example, example);
      expect_equal(s.values, wanted[static_cast<std::size_t>(example++)].back());
    });
    EXPECT_EQ(example, 4);
  }
  EXPECT_THAT(message_of<UsageError>([&] { text_states<double>(model, corpus, part, {.layer = 3}, team, {}); }),
              HasSubstr("has the layers 1 to 2"));
}

DataSpecification letters_and_label() {
  const auto letters = std::make_shared<const Alphabet>(Alphabet::chars_of("abc"));
  return {.source = "columns",
          .fields = {{.name = "label", .size = 3, .once = true, .alphabet = letters},
                     {.name = "letter", .size = 3, .alphabet = letters}}};
}

Examples letters(const std::vector<std::string>& words) {
  Examples examples{.source = "test"};
  ExampleColumn column{.name = "letter"};
  for (const std::string& word : words) {
    for (const char c : word) column.texts.emplace_back(1, c);
    examples.ends.push_back(column.entries());
  }
  examples.columns.push_back(std::move(column));
  return examples;
}

TEST(ExampleStates, summary_of_both_directions_joins_the_last_state_and_the_first) {
  NetworkModel<double> model("birnn:4", letters_and_label(), {.reads = {"letter"}, .heads = {{.field = "label"}}});
  set_random_weights(model);
  const std::vector<std::string> words = {"abcab", "c", "ba"};
  const ExampleSet set(letters(words), std::make_shared<const DataSpecification>(model.data()), {});
  Team team(1);
  std::size_t seen = 0;
  example_states<double>(model, set, {}, team, [&](const LayerState<double>& s) {
    const std::string& word = words[seen];
    EXPECT_EQ(s.example, static_cast<Index>(seen++));
    std::vector<Vector> inputs;
    for (const char c : word) inputs.push_back(one_hot(c - 'a', 3));
    Vector wanted = written_out(model.parameters(), "layer1/forward/", inputs).back();
    std::ranges::reverse(inputs);
    const Vector back = written_out(model.parameters(), "layer1/backward/", inputs).back();
    wanted.insert(wanted.end(), back.begin(), back.end());
    expect_equal(s.values, wanted);
  });
  EXPECT_EQ(seen, words.size());
}

class EmbedTest : public testing::Test {
 protected:
  static std::string embedded(const EmbedRequest& request) {
    std::string text;
    EmbedRequest single = request;
    single.threads = 1;
    embed(single, [&](std::string_view piece) { text += piece; });
    return text;
  }
  ScratchFolder folder_;
};

TEST_F(EmbedTest, formats_hold_the_same_numbers) {
  const std::string data = folder_.path("words.tsv");
  write_file_atomically(data, "a\tx\nb\ty\n\na\tx\nc\tx\nb\ty\n");
  const std::string run = train_small(folder_.path("run"), data, "lstm:3", "adam", 2, [](TrainRequest& r) {
    r.settings.format = "columns";
    r.settings.read = "1";
    r.settings.predict = "2";
    r.given.insert({"format", "read", "predict"});
  });
  EmbedRequest request{.model = run, .data = {data}, .every_position = true};
  std::istringstream table(embedded(request));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "example\tposition\ts1\ts2\ts3");
  request.format = StateFormat::jsonl;
  std::istringstream objects(embedded(request));
  request.format = StateFormat::npy;
  const std::string array = embedded(request);
  EXPECT_EQ(array.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t begin = 10 + static_cast<unsigned char>(array[8]);
  EXPECT_EQ(begin % 64, 0);
  EXPECT_THAT(array.substr(10, begin - 10), HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), "));
  ASSERT_EQ(array.size(), begin + 5 * 3 * sizeof(float));
  std::vector<float> numbers(15);
  std::memcpy(numbers.data(), array.data() + begin, 15 * sizeof(float));
  std::size_t i = 0;
  for (Index example, position; table >> example >> position;) {
    std::getline(objects, line);
    const auto object = nlohmann::json::parse(line);
    EXPECT_EQ(object["example"], example);
    EXPECT_EQ(object["position"], position);
    for (std::size_t k = 0; k < 3; ++k, ++i) {
      float value = 0;
      table >> value;
      EXPECT_EQ(value, numbers[i]);
      EXPECT_EQ(object["state"][k].get<float>(), value);
    }
  }
  EXPECT_EQ(i, 15);
  // The last state of each example, without positions.
  std::istringstream last(embedded({.model = run, .data = {data}}));
  std::getline(last, line);
  EXPECT_EQ(line, "example\ts1\ts2\ts3");
  for (const std::size_t first : {std::size_t{3}, std::size_t{12}}) {
    Index example;
    last >> example;
    for (std::size_t k = 0; k < 3; ++k) {
      float value = 0;
      last >> value;
      EXPECT_EQ(value, numbers[first + k]);
    }
  }
}

TEST_F(EmbedTest, each_line_of_a_text_is_a_sequence_on_request) {
  const std::string data = folder_.path("book.txt");
  write_file_atomically(data, "abba\nab\nabba\nb");
  const std::string run = train_small(folder_.path("run"), data, "gru:4", "adam", 2, {});
  const auto rows = [&](bool by_line) {
    std::istringstream table(embedded({.model = run, .data = {data}, .by_line = by_line}));
    std::vector<std::string> found;
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) found.push_back(line.substr(line.find('\t')));
    return found;
  };
  EXPECT_EQ(rows(false).size(), 1);
  const auto lines = rows(true);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_NE(lines[0], lines[1]);
}

TEST_F(EmbedTest, models_without_layers_are_refused) {
  const std::string data = folder_.path("book.txt");
  write_file_atomically(data, "abba\nab\nabba\nb");
  const std::string run = train_small(folder_.path("run"), data, "ngram:2", "adam", 1, [](TrainRequest& r) {
    r.given = {"model", "split"};
  });
  EXPECT_THAT(message_of<UsageError>([&] { embedded({.model = run, .data = {data}}); }),
              HasSubstr("has no layers with states"));
}

}  // namespace
}  // namespace unfold
