/// Words read character by character: chains of characters at the positions of words, read by a separate network.

#include <gtest/gtest.h>

#include "unfold/data/examples/example_batches.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/model/network/network_body.h"

namespace unfold {
namespace {

/// Sentences of words with tags; "-" is a missing word.
Examples sentences(const std::vector<std::vector<std::string>>& all) {
  Examples examples{.source = "sentences"};
  ExampleColumn word{.name = "word"}, tag{.name = "tag"};
  for (const auto& words : all) {
    for (const std::string& text : words) {
      word.texts.push_back(text);
      word.missing.push_back(text == "-" ? 1 : 0);
      tag.texts.emplace_back(text.ends_with("s") ? "plural" : "other");
    }
    examples.ends.push_back(word.entries());
  }
  examples.columns = {word, tag};
  return examples;
}

struct Spelt {
  explicit Spelt(const std::string& spec, std::vector<std::string> reads_ = {"word", "word.chars"})
      : reads(std::move(reads_)),
        examples(sentences({{"cats", "see", "cats"}, {"a"}, {"-", "dogs"}, {"see"}})),
        data(std::make_shared<const DataSpecification>(specify(examples, {.reads = reads, .predicts = {"tag"}}, "x"))),
        set(examples, data, {}),
        body(parse_model_spec(spec), *data, {.reads = reads, .heads = {{"tag"}}}) {
    body.parameters().initialize(3);
  }
  Batch batch(const ExampleSet& of, Index window = 0) const {
    Batch result;
    example_reader(of, {.reads = reads, .predicts = {"tag"}, .batch = 9, .window = window})->next(result);
    return result;
  }
  /// Returns the logits at a position of an example.
  std::vector<double> logits(const ExampleSet& of, Index example, Index position) {
    const Batch given = batch(of);
    Unfolding<double> unfolding(body.plan(), team);
    unfolding.set_parameters(body.parameters());
    unfolding.lay(given.structure);
    upload_inputs(given, 0, given.structure.positions(), body.network(), unfolding);
    unfolding.forward();
    const Matrix<const double> all = unfolding.value(body.network().heads.front().signal);
    const double* row = all.row(given.structure.row(example, position));
    return {row, row + all.cols};
  }

  std::vector<std::string> reads;
  Examples examples;
  std::shared_ptr<const DataSpecification> data;
  ExampleSet set;
  NetworkBody<double> body;
  Team team{1};
};

TEST(Spelling, spelling_network_has_correct_derivatives) {
  for (const char* spec : {"rnn:3", "bilstm:2", "gru:2,embedding=3"})
    for (const std::vector<std::string>& reads :
         {std::vector<std::string>{"word", "word.chars"}, {"word.lower.chars"}}) {
      Spelt model(spec, reads);
      const CheckReport report = check_derivatives(model.body.network(), model.batch(model.set).structure);
      EXPECT_TRUE(report.passed()) << spec << "\n" << report.text();
    }
}

TEST(Spelling, equal_words_share_one_spelling_chain) {
  Spelt model("rnn:3");
  const Batch batch = model.batch(model.set);
  const Structure& characters = batch.structure.part(kSpellingPart);
  EXPECT_EQ(characters.sequences(), 5);  // cats, see, a, dogs, and one for missing words
  EXPECT_EQ(characters.positions(), 4 + 3 + 1 + 4 + 1);
  const std::vector<Index> seen = batch.structure.source_chains(kSpellingPart);
  const auto at_word = [&](Index s, Index t) { return seen[static_cast<std::size_t>(batch.structure.row(s, t))]; };
  EXPECT_EQ(at_word(0, 0), at_word(0, 2));
  EXPECT_EQ(at_word(0, 1), at_word(3, 0));
  EXPECT_NE(at_word(0, 0), at_word(0, 1));
  const auto& rows = std::get<SymbolRows>(batch.field("word.chars")).symbols;
  std::string text;
  for (Index t = 0; t < 4; ++t)
    text += model.data->field("word.chars")
                .alphabet->text(rows[static_cast<std::size_t>(characters.row(at_word(2, 1), t))]);
  EXPECT_EQ(text, "dogs");
}

TEST(Spelling, spelling_bits_are_the_same_alone_and_in_a_batch) {
  Spelt model("lstm:4");
  for (Index e = 0; e < model.set.count(); ++e) {
    const Index one[] = {e};
    const ExampleSet alone = model.set.subset(one);
    for (Index t = 0; t < model.set.length(e); ++t)
      EXPECT_EQ(model.logits(alone, 0, t), model.logits(model.set, e, t)) << e << " " << t;
  }
}

TEST(Spelling, unseen_words_are_distinguished) {
  Spelt model("rnn:4");
  const ExampleSet others(sentences({{"cows"}, {"oxen"}, {"cows"}}), model.data, {});
  EXPECT_EQ(others.column("word").symbols[0], others.column("word").symbols[1]);  // both unknown
  EXPECT_NE(model.logits(others, 0, 0), model.logits(others, 1, 0));
  EXPECT_EQ(model.logits(others, 0, 0), model.logits(others, 2, 0));
}

TEST(Spelling, invalid_spelling_options_are_rejected) {
  const Examples examples = sentences({{"cats", "see"}, {"a"}});
  EXPECT_THROW(specify(examples, {.reads = {"word"}, .predicts = {"tag.chars"}}, "x"), UsageError);
  EXPECT_THROW(specify(examples, {.reads = {"word.chars.lower"}, .predicts = {"tag"}}, "x"), DataError);
  const auto two = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"word.chars", "word.lower.chars"}, .predicts = {"tag"}}, "x"));
  const ExampleSet set(examples, two, {});
  EXPECT_THROW(example_reader(set, {.reads = {"word.chars", "word.lower.chars"}, .predicts = {"tag"}}), UsageError);
}

}  // namespace
}  // namespace unfold
