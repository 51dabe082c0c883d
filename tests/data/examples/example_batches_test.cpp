/// Batches of examples with fields, compared with the columns that they are built from.

#include "unfold/data/examples/example_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using testing::HasSubstr;

/// Examples of the given lengths with words, tags, classes and numbers, some of which are missing.
Examples ragged(const Indices& lengths) {
  Examples examples{
      .source = "data",
      .columns = {{.name = "word"}, {.name = "tag"}, {.name = "class", .once = true}, {.name = "wind", .width = 2}}};
  Random random(3, "examples");
  for (const Index length : lengths) {
    for (Index p = 0; p < length; ++p) {
      examples.columns[0].texts.push_back("w" + std::to_string(random.below(9)));
      examples.columns[1].texts.push_back("t" + std::to_string(random.below(3)));
      for (int i = 0; i < 2; ++i) examples.columns[3].numbers.push_back(random.normal());
      for (const std::size_t c : {0U, 1U, 3U}) examples.columns[c].missing.push_back(random.below(6) == 0);
    }
    examples.columns[2].texts.push_back("c" + std::to_string(random.below(2)));
    examples.columns[2].missing.push_back(random.below(6) == 0);
    examples.ends.push_back(examples.positions() + length);
  }
  return examples;
}

const Indices kLengths = {5, 1, 8, 3, 3, 11, 2};

ExampleSet set_from(const Examples& examples, std::vector<std::string> predicts = {"tag", "class"}) {
  FieldChoice choice{.reads = {"word", "wind"}, .predicts = predicts};
  if (std::ranges::find(predicts, "class") == predicts.end()) choice.reads.emplace_back("class");
  const auto data = std::make_shared<const DataSpecification>(specify(examples, choice, "columns"));
  return {examples, data, predicts};
}

const ExampleBatchOptions kAll{
    .reads = {"word", "wind", "previous(2) word", "previous tag"}, .predicts = {"tag", "class"}, .batch = 3};

/// Trees: "a b" joined, then joined with "c"; and a single node.
Examples two_trees() {
  Examples examples{.source = "data", .columns = {{.name = "word"}, {.name = "label"}}};
  examples.columns[0].texts = {"a", "b", "", "c", "", "d"};
  examples.columns[0].missing = {0, 0, 1, 0, 1, 0};
  examples.columns[1].texts = {"1", "2", "3", "1", "4", "2"};
  examples.parents = {2, 2, 4, 4, -1, -1};
  examples.ends = {5, 6};
  return examples;
}

std::vector<Batch> read_all(BatchReader& reader) {
  std::vector<Batch> batches;
  for (Batch batch; reader.next(batch);) batches.push_back(batch);
  return batches;
}

bool same(const Batch& a, const Batch& b) {
  bool equal = a.structure.sequences() == b.structure.sequences();
  for (Index s = 0; equal && s < a.structure.sequences(); ++s) equal = a.structure.size(s) == b.structure.size(s);
  return equal && a.fields == b.fields && a.carry.slots == b.carry.slots && a.carry.fresh == b.carry.fresh &&
         a.carry.moves == b.carry.moves && a.carry.slots_needed == b.carry.slots_needed && a.passages == b.passages &&
         a.places == b.places && a.predicted == b.predicted && a.symbols == b.symbols && a.whole == b.whole;
}

/// Compares every row of a batch with the columns of the set, by definition.
void expect_rows(const ExampleSet& set, const Batch& batch) {
  Index predicted = 0;
  for (Index c = 0; c < batch.structure.sequences(); ++c) {
    const Index example = batch.passages[at(c)], first = batch.places[at(c)] - set.begin(example);
    for (Index t = 0; t < batch.structure.size(c); ++t) {
      const Index row = batch.structure.row(c, t), position = first + t, entry = set.begin(example) + position;
      const auto symbol = [&](const char* name) { return std::get<SymbolRows>(batch.field(name)).symbols[at(row)]; };
      const auto& words = set.column("word").symbols;
      const auto& tags = set.column("tag").symbols;
      EXPECT_EQ(symbol("word"), words[at(entry)]);
      EXPECT_EQ(symbol("previous(2) word"), position < 2 ? kNoSymbol : words[at(entry - 2)]);
      EXPECT_EQ(symbol("previous tag"), position < 1 ? kNoSymbol : tags[at(entry - 1)]);
      const Symbol tag = position < set.warmup(example) ? kNoSymbol : tags[at(entry)];
      const Symbol label = position + 1 < set.length(example) ? kNoSymbol : set.column("class").symbols[at(example)];
      EXPECT_EQ(symbol("tag"), tag);
      EXPECT_EQ(symbol("class"), label);
      predicted += tag != kNoSymbol || label != kNoSymbol;
      const auto& wind = std::get<ValueRows>(batch.field("wind"));
      EXPECT_EQ(wind.present(row), set.column("wind").present[at(entry)] != 0);
      for (Index i = 0; i < 2; ++i)
        EXPECT_EQ(wind.values<float>(row, 1)(0, i), set.column("wind").values[at(2 * entry + i)]);
    }
  }
  EXPECT_EQ(batch.predicted, predicted);
  EXPECT_EQ(batch.symbols, batch.structure.positions());
}

// -------------------------------------------------------------------------------------------------------------- reader

TEST(ExampleReader, reads_all_examples_in_their_order_row_by_row) {
  const ExampleSet set = set_from(ragged(kLengths));
  const auto batches = read_all(*example_reader(set, kAll));
  ASSERT_EQ(batches.size(), 3U);
  Index next = 0;
  for (const Batch& batch : batches) {
    expect_rows(set, batch);
    EXPECT_TRUE(batch.whole);
    EXPECT_EQ(batch.carry.fresh, batch.carry.slots);
    for (const Index example : batch.passages) EXPECT_EQ(example, next++);
  }
  EXPECT_EQ(next, set.count());
}

TEST(ExampleReader, windows_cover_the_examples) {
  const ExampleSet set = set_from(ragged(kLengths));
  for (const Index window : {1, 2, 4, 11, 100}) {
    ExampleBatchOptions options = kAll;
    options.window = window;
    std::vector<Index> seen(at(set.count()), 0);
    Index predicted = 0, whole_predicted = 0;
    std::map<Index, Index> example_in_slot;
    for (const Batch& batch : read_all(*example_reader(set, options))) {
      expect_rows(set, batch);
      predicted += batch.predicted;
      for (Index c = 0; c < batch.structure.sequences(); ++c) {
        const Index example = batch.passages[at(c)], slot = batch.carry.slots[at(c)];
        EXPECT_LT(slot, batch.carry.slots_needed);
        EXPECT_LE(batch.structure.size(c), window);
        EXPECT_EQ(batch.places[at(c)], set.begin(example) + seen[at(example)]);
        const bool fresh = std::ranges::find(batch.carry.fresh, slot) != batch.carry.fresh.end();
        EXPECT_EQ(fresh, seen[at(example)] == 0);  // the state is that of the preceding window
        if (!fresh) {
          EXPECT_EQ(example_in_slot[slot], example);
        }
        example_in_slot[slot] = example;
        seen[at(example)] += batch.structure.size(c);
        EXPECT_TRUE(!batch.whole || batch.structure.size(c) == set.length(example));
      }
      for (const auto& [from, to] : batch.carry.moves) example_in_slot[to] = example_in_slot[from];
    }
    for (Index e = 0; e < set.count(); ++e) EXPECT_EQ(seen[at(e)], set.length(e)) << "window " << window;
    for (const Batch& batch : read_all(*example_reader(set, kAll))) whole_predicted += batch.predicted;
    EXPECT_EQ(predicted, whole_predicted);
  }
}

TEST(ExampleReader, per_example_fields_are_repeated_at_every_position) {
  const ExampleSet set = set_from(ragged(kLengths), {"tag"});
  for (const Index window : {0, 2})
    for (const Batch& batch :
         read_all(*example_reader(set, {.reads = {"class"}, .predicts = {"tag"}, .batch = 2, .window = window})))
      for (Index c = 0; c < batch.structure.sequences(); ++c)
        for (Index t = 0; t < batch.structure.size(c); ++t)
          EXPECT_EQ(std::get<SymbolRows>(batch.field("class")).symbols[at(batch.structure.row(c, t))],
                    set.column("class").symbols[at(batch.passages[at(c)])]);
}

TEST(ExampleReader, reads_positions_before_a_part_without_predicting_them) {
  const ExampleSet set = set_from(ragged(kLengths)), part = set.part(5, 4, 9, 3);
  ASSERT_EQ(part.warmup(0), 3);
  for (const Index window : {0, 2}) {
    ExampleBatchOptions options = kAll;
    options.window = window;
    Index rows = 0;
    for (const Batch& batch : read_all(*example_reader(part, options))) {
      expect_rows(part, batch);
      rows += batch.symbols;
    }
    EXPECT_EQ(rows, 8);
  }
}

TEST(ExampleReader, missing_field_gives_no_targets) {
  Examples examples = ragged(kLengths);
  const auto data = set_from(examples).data();
  std::erase_if(examples.columns, [](const ExampleColumn& c) { return c.name == "tag" || c.name == "class"; });
  const ExampleSet set(examples, std::make_shared<const DataSpecification>(data), {});
  for (const Batch& batch : read_all(*example_reader(set, {.reads = {"word"}, .predicts = {"tag", "class"}}))) {
    EXPECT_EQ(batch.predicted, 0);
    for (const char* name : {"tag", "class"})
      for (Index r = 0; r < batch.symbols; ++r) EXPECT_FALSE(is_present(batch.field(name), r));
  }
  EXPECT_THAT(message_of<DataError>([&] { example_reader(set, {.reads = {"previous tag"}}); }),
              HasSubstr("no field \"tag\""));
}

TEST(ExampleReader, reader_without_examples_ends_immediately) {
  const ExampleSet none = set_from(ragged(kLengths)).subset({});
  Batch batch;
  EXPECT_FALSE(example_reader(none, kAll)->next(batch));
}

TEST(ExampleBatches, invalid_batch_options_are_refused) {
  const ExampleSet set = set_from(ragged(kLengths));
  const auto refused = [&](const std::function<void(ExampleBatchOptions&)>& change) {
    ExampleBatchOptions options = kAll;
    change(options);
    return message_of<UsageError>([&] { example_batches(set, options, 1); });
  };
  EXPECT_THAT(refused([](auto& o) { o.batch = 0; }), HasSubstr("batch 0"));
  EXPECT_THAT(refused([](auto& o) { o.window = -1; }), HasSubstr("window -1"));
  for (const double rate : {-0.1, 1.0})
    EXPECT_THAT(refused([=](auto& o) { o.word_dropout = rate; }), HasSubstr("word dropout"));
  EXPECT_THAT(refused([](auto& o) { o.reads = {"words"}; }), HasSubstr("words"));
  EXPECT_THAT(refused([](auto& o) { o.reads = {"tag"}; }),
              HasSubstr("tag is both read and predicted at the same position"));
  const ExampleSet none = set.subset({});
  EXPECT_THAT(message_of<DataError>([&] { example_batches(none, kAll, 1); }), HasSubstr("no training examples"));
}

// -------------------------------------------------------------------------------------------------------------- source

/// The examples of an epoch in the order in which they are read, and its batches.
std::pair<Indices, std::vector<Batch>> epoch_of(BatchSource& source, Index epoch) {
  source.seek(epoch, 0);
  std::pair<Indices, std::vector<Batch>> result;
  for (; source.epoch() == epoch; source.advance()) {
    const Batch& batch = source.batch();
    result.second.push_back(batch);
    for (std::size_t c = 0; c < batch.passages.size(); ++c)
      if (std::ranges::find(batch.carry.fresh, batch.carry.slots[c]) != batch.carry.fresh.end())
        result.first.push_back(batch.passages[c]);
  }
  return result;
}

TEST(ExampleBatches, read_every_example_once_an_epoch_row_by_row) {
  const ExampleSet set = set_from(ragged(kLengths));
  for (const Index window : {0, 3}) {
    ExampleBatchOptions options = kAll;
    options.window = window;
    const auto source = example_batches(set, options, 7);
    for (Index epoch = 0; epoch < 3; ++epoch) {
      const auto [order, batches] = epoch_of(*source, epoch);
      EXPECT_EQ(std::set<Index>(order.begin(), order.end()).size(), at(set.count()));
      EXPECT_EQ(order.size(), at(set.count()));
      Index rows = 0;
      for (const Batch& batch : batches) {
        expect_rows(set, batch);
        rows += batch.symbols;
      }
      EXPECT_EQ(rows, set.positions());
    }
  }
}

TEST(ExampleBatches, batch_order_depends_only_on_seed_and_epoch) {
  const ExampleSet set = set_from(ragged(Indices(40, 2)));
  const auto one = example_batches(set, kAll, 7), again = example_batches(set, kAll, 7),
             other = example_batches(set, kAll, 8);
  const Indices first = epoch_of(*one, 0).first, second = epoch_of(*one, 1).first;
  EXPECT_NE(first, second);
  EXPECT_EQ(epoch_of(*again, 1).first, second);  // without reading epoch 0 first
  EXPECT_EQ(epoch_of(*again, 0).first, first);   // and back
  EXPECT_NE(epoch_of(*other, 0).first, first);
}

TEST(ExampleBatches, seek_equals_repeated_advance) {
  const ExampleSet set = set_from(ragged(kLengths));
  for (const Index window : {0, 3}) {
    ExampleBatchOptions options = kAll;
    options.window = window;
    options.unknown_rate = 2;
    options.word_dropout = 0.2;
    const auto walked = example_batches(set, options, 7), sought = example_batches(set, options, 7);
    for (int step = 0; step < 20; ++step, walked->advance()) {
      sought->seek(walked->epoch(), walked->position());
      EXPECT_TRUE(same(sought->batch(), walked->batch())) << "step " << step;
      EXPECT_EQ(sought->epochs_done(), walked->epochs_done());
      EXPECT_EQ(sought->position(), walked->position());
    }
    EXPECT_GT(walked->epoch(), 1);
    EXPECT_THROW(sought->seek(0, 1000), UsageError);
    EXPECT_THROW(sought->seek(0, -1), UsageError);
    EXPECT_THROW(sought->seek(-1, 0), UsageError);
  }
}

TEST(ExampleBatches, have_full_windows_with_examples_of_unequal_lengths) {
  Indices lengths(60, 3);
  for (std::size_t i = 0; i < lengths.size(); i += 7) lengths[i] = static_cast<Index>(10 + 3 * i);
  const ExampleSet set = set_from(ragged(lengths));
  ExampleBatchOptions options = kAll;
  options.batch = 4;
  options.window = 10;
  const auto source = example_batches(set, options, 7);
  const auto batches = epoch_of(*source, 0).second;
  EXPECT_LE(batches.size(), at((set.positions() + 39) / 40 + 1));
  for (std::size_t b = 0; b + 2 < batches.size(); ++b) EXPECT_EQ(batches[b].symbols, 40);
}

/// Lengths 5, 1, 8, 3, 3, 11 and 2.
TEST(ExampleBatches, curriculum_reads_growing_prefixes) {
  const ExampleSet set = set_from(ragged(kLengths), {"tag"});
  const Indices short_ones = {4, 1, 4, 3, 3, 4, 2}, longer = {5, 1, 8, 3, 3, 8, 2}, all = kLengths;
  const Indices passes = {4, 1, 4, 3, 3, 4, 2, 5, 8, 8, 11};
  for (const bool each_epoch : {false, true})
    for (const Index window : {0, 3}) {
      const ExampleBatchOptions options{.reads = {"word", "previous tag"},
                                        .predicts = {"tag"},
                                        .batch = 2,
                                        .window = window,
                                        .curriculum = {.step = 4, .each_epoch = each_epoch}};
      const auto source = example_batches(set, options, 7);
      for (Index epoch = 0; epoch < 3; ++epoch) {
        const std::vector<Batch> batches = epoch_of(*source, epoch).second;
        Indices lengths;
        std::map<Index, std::size_t> chain_in_slot;
        for (const Batch& batch : batches) {
          for (Index c = 0; c < batch.structure.sequences(); ++c) {
            const Index slot = batch.carry.slots[at(c)], size = batch.structure.size(c);
            const bool fresh = std::ranges::find(batch.carry.fresh, slot) != batch.carry.fresh.end();
            if (fresh) chain_in_slot[slot] = lengths.size(), lengths.push_back(0);
            lengths[chain_in_slot.at(slot)] += size;
            for (Index t = 0; t < size; ++t) {
              const Index row = batch.structure.row(c, t), entry = batch.places[at(c)] + t;
              EXPECT_EQ(std::get<SymbolRows>(batch.field("tag")).symbols[at(row)],
                        set.column("tag").symbols[at(entry)]);
            }
          }
          for (const auto& [from, to] : batch.carry.moves) chain_in_slot[to] = chain_in_slot[from];
        }
        Indices wanted = each_epoch ? passes : epoch == 0 ? short_ones : epoch == 1 ? longer : all;
        if (each_epoch && window == 0) {
          EXPECT_EQ(lengths.back(), 11);
        }
        std::ranges::sort(wanted), std::ranges::sort(lengths);
        EXPECT_EQ(lengths, wanted) << "epoch " << epoch << ", window " << window;
        source->seek(epoch, 0);
        EXPECT_EQ(source->shortened(), each_epoch ? epoch == 0 : epoch < 2);
      }
    }
}

TEST(ExampleBatches, curriculum_needs_prefixes_that_are_examples) {
  const auto refused = [](const Examples& examples, std::vector<std::string> predicts, Curriculum curriculum) {
    const ExampleSet set = set_from(examples, predicts);
    const ExampleBatchOptions options{.reads = {"word"}, .predicts = predicts, .curriculum = curriculum};
    return message_of<UsageError>([&] { example_batches(set, options, 1); });
  };
  EXPECT_THAT(refused(ragged(kLengths), {"tag", "class"}, {.step = 4}), HasSubstr("class is predicted once"));
  EXPECT_THAT(refused(ragged(kLengths), {"tag"}, {.step = -1}), HasSubstr("curriculum -1"));
  EXPECT_THAT(refused(ragged({30'000}), {"tag"}, {.step = 2, .each_epoch = true}), HasSubstr("at least 3"));
}

TEST(ExampleBatches, oversized_batch_holds_all_examples) {
  const ExampleSet set = set_from(ragged(kLengths));
  ExampleBatchOptions options = kAll;
  options.batch = 100;
  const auto source = example_batches(set, options, 7);
  EXPECT_EQ(source->streams(), set.count());
  EXPECT_EQ(source->batch().structure.sequences(), set.count());
  EXPECT_FALSE(source->shortened());
  source->advance();
  EXPECT_EQ(source->epoch(), 1);
}

TEST(ExampleBatches, rare_words_become_unknown_at_the_given_rate) {
  Examples examples = ragged(Indices(300, 10));
  for (std::size_t i = 0; i < examples.columns[0].texts.size(); ++i)
    examples.columns[0].texts.replace(i, i % 100 == 0 ? "seldom" : "often");
  examples.columns[0].missing.clear();
  const ExampleSet set = set_from(examples);
  const Alphabet& alphabet = *set.data().field("word").alphabet;
  ExampleBatchOptions options = kAll;
  options.unknown_rate = 10;  // 1/4 of 30 rare symbols becomes unknown, and 1/298 of 2970 frequent ones
  std::map<std::string, double> unknown, count;
  const auto source = example_batches(set, options, 7);
  constexpr Index kEpochs = 40;
  for (; source->epoch() < kEpochs; source->advance()) {
    const Batch& batch = source->batch();
    const auto& words = std::get<SymbolRows>(batch.field("word")).symbols;
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const Index row = batch.structure.row(c, t), entry = batch.places[at(c)] + t;
        const Symbol word = set.column("word").symbols[at(entry)];
        ++count[std::string(alphabet.text(word))];
        if (words[at(row)] == alphabet.unknown())
          ++unknown[std::string(alphabet.text(word))];
        else
          ASSERT_EQ(words[at(row)], word);
        ASSERT_EQ(std::get<SymbolRows>(batch.field("tag")).symbols[at(row)], set.column("tag").symbols[at(entry)]);
      }
  }
  EXPECT_NEAR(unknown["seldom"] / count["seldom"], 10.0 / 40, 0.05);  // 1200 draws: deviation 0.0125
  EXPECT_NEAR(unknown["often"] / count["often"], 10.0 / 2980, 0.001);
  for (const Batch& batch : read_all(*example_reader(set, options))) expect_rows(set, batch);  // never in evaluation
}

TEST(ExampleBatches, apply_word_dropout_at_its_rate_and_still_predict_dropped_positions) {
  const ExampleSet set = set_from(ragged(Indices(300, 10)));
  ExampleBatchOptions options = kAll;
  const auto plain = example_batches(set, options, 7);
  options.word_dropout = 0.3;
  const auto dropped = example_batches(set, options, 7);
  double unread = 0, rows = 0;
  for (; plain->epoch() == 0; plain->advance(), dropped->advance()) {
    const Batch &all = plain->batch(), &some = dropped->batch();
    ASSERT_EQ(all.passages, some.passages);
    EXPECT_EQ(all.predicted, some.predicted);
    EXPECT_EQ(all.field("tag"), some.field("tag"));
    EXPECT_EQ(all.field("class"), some.field("class"));
    for (Index r = 0; r < all.symbols; ++r) {
      if (!is_present(all.field("word"), r) || !is_present(all.field("wind"), r)) continue;
      ++rows;
      unread += !is_present(some.field("word"), r);
      EXPECT_EQ(is_present(some.field("word"), r), is_present(some.field("wind"), r));  // a position as a whole
      if (is_present(some.field("word"), r)) {
        EXPECT_EQ(std::get<SymbolRows>(all.field("word")).symbols[at(r)],
                  std::get<SymbolRows>(some.field("word")).symbols[at(r)]);
      }
    }
  }
  EXPECT_NEAR(unread / rows, 0.3, 0.05);  // about 2000 draws: deviation 0.01
  for (const Batch& batch : read_all(*example_reader(set, options))) expect_rows(set, batch);  // never in evaluation
}

TEST(ExampleBatches, invalid_fields_of_a_model_card_are_refused) {
  const auto message = [](const char* field, const char* source = "table") {
    const std::string card = std::string(R"({"source": ")") + source + R"(", "fields": [)" + field + "]}";
    try {
      (void)DataSpecification::from_json(nlohmann::json::parse(card));
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message(R"({"name": "x", "type": "symbols", "size": 3})"), HasSubstr("but has no alphabet"));
  EXPECT_EQ(message(R"({"name": "x", "type": "symbols", "size": 3})", "task copy:5"), "");
  EXPECT_EQ(message(R"({"name": "x", "type": "values", "size": 3})"), "");
  EXPECT_THAT(message(R"({"name": "x", "type": "values", "size": 3, "spelt": true})"),
              HasSubstr("is a character-level field"));
}

TEST(ExampleBatches, tree_batches_have_the_structure_of_their_trees) {
  const Examples examples = two_trees();
  const FieldChoice choice{.reads = {"word"}, .predicts = {"label"}};
  const auto data = std::make_shared<const DataSpecification>(specify(examples, choice, "trees"));
  EXPECT_TRUE(data->trees);
  EXPECT_EQ(DataSpecification::from_json(data->to_json()), *data);
  const std::vector<std::string> predicts = {"label"};
  const ExampleSet set(examples, data, predicts);
  EXPECT_EQ(set.tree(0).children, (std::vector<std::vector<Index>>{{}, {}, {0, 1}, {}, {2, 3}}));
  EXPECT_EQ(set.most_children(), 2);
  const auto batches = read_all(*example_reader(set, {.reads = {"word"}, .predicts = {"label"}}));
  ASSERT_EQ(batches.size(), 1U);
  const Structure& s = batches[0].structure;
  EXPECT_EQ(s.kind(), Structure::Kind::trees);
  EXPECT_EQ(s.size(0), 5);
  EXPECT_EQ(s.child_rows(s.row(0, 4))[0], s.row(0, 2));
  const auto& words = std::get<SymbolRows>(batches[0].field("word"));
  EXPECT_FALSE(words.present(s.row(0, 2)));
  EXPECT_EQ(data->field("word").alphabet->text(words.symbols[at(s.row(0, 3))]), "c");
  EXPECT_EQ(batches[0].predicted, 6);
  const Indices second = {1};
  EXPECT_EQ(set.subset(second).tree(0).children.size(), 1U);
  EXPECT_EQ(subset(examples, second).parents, (Indices{-1}));
}

TEST(ExampleBatches, tree_batches_refuse_sequence_options) {
  const Examples examples = two_trees();
  const FieldChoice choice{.reads = {"word"}, .predicts = {"label"}};
  const auto data = std::make_shared<const DataSpecification>(specify(examples, choice, "trees"));
  const std::vector<std::string> predicts = {"label"};
  const ExampleSet set(examples, data, predicts);
  EXPECT_THROW(example_reader(set, {.reads = {"word"}, .predicts = {"label"}, .window = 3}), UsageError);
  EXPECT_THROW(example_reader(set, {.reads = {"previous word"}, .predicts = {"label"}}), UsageError);
  EXPECT_THROW(set.part(0, 0, 2, 0), UsageError);
  Examples chains = examples, both = examples;
  chains.parents.clear();
  EXPECT_THROW(ExampleSet(chains, data, predicts), DataError);
  EXPECT_THROW(append(both, chains), DataError);
  append(both, examples);
  EXPECT_EQ(both.parents.size(), 12U);
}

TEST(ExampleReader, DividedBatchesKeepChainsAndCarriedStates) {
  const ExampleSet set = set_from(ragged({5, 1, 8, 3, 3, 11, 2, 4, 4, 9}));
  for (const Index window : {0, 4, 6, 20})
    for (const Index most : {1, 2, 5, 12, 1000}) {
      SCOPED_TRACE(testing::Message() << "window " << window << ", at most " << most);
      ExampleBatchOptions options = kAll;
      options.window = window;
      const std::vector<Batch> whole = read_all(*example_reader(set, options));
      options.most_positions = most;
      const std::vector<Batch> parts = read_all(*example_reader(set, options));
      // Each chain is read in the same order, from the same slot, and is reset and carried at the same positions.
      const auto events_of = [](const std::vector<Batch>& batches) {
        std::vector<std::tuple<Index, Index, bool>> events;  // position, slot, whether the slot is reset before it
        for (const Batch& batch : batches) {
          std::set<Index> fresh(batch.carry.fresh.begin(), batch.carry.fresh.end());
          for (Index c = 0; c < batch.structure.sequences(); ++c)
            for (Index t = 0; t < batch.structure.size(c); ++t)
              events.emplace_back(batch.places[at(c)] + t, batch.whole ? -1 : batch.carry.slots[at(c)],
                                  batch.whole ? t == 0 : t == 0 && fresh.contains(batch.carry.slots[at(c)]));
          for (const auto& [from, to] : batch.carry.moves) events.emplace_back(-1 - from, to, false);
        }
        return events;
      };
      std::vector<Index> places_whole, places_parts;
      for (const auto& event : events_of(whole)) places_whole.push_back(std::get<0>(event));
      for (const auto& event : events_of(parts)) places_parts.push_back(std::get<0>(event));
      EXPECT_EQ(places_parts, places_whole);
      for (const Batch& batch : parts) {
        expect_rows(set, batch);
        if (window > 0) {
          EXPECT_LE(batch.symbols, most);
        }
      }
      if (most == 1000) {
        EXPECT_EQ(parts.size(), whole.size());
      }
    }
}

}  // namespace
}  // namespace unfold
