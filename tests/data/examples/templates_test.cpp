#include "data/examples/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Parts = std::vector<TemplatePart>;

const std::vector<std::string> kColumns = {"word", "tag"};

TemplateFile templates_of(const std::string& text) {
  return read_templates(Input::from_bytes("made.txt", text), kColumns);
}

std::string refusal_of(const std::string& text) {
  try {
    templates_of(text);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Templates, template_names_contain_fields_and_offsets) {
  EXPECT_EQ(parse_template("word[-1]"), (Parts{{"word", -1}}));
  EXPECT_EQ(parse_template("word[0]|tag[+1]"), (Parts{{"word", 0}, {"tag", 1}}));
  EXPECT_EQ(parse_template("word.suffix3[2]"), (Parts{{"word.suffix3", 2}}));
  for (const char* other : {"word", "word[x]", "[0]", "word[0", "word[0]|tag", "word[]", "word[1000]", "word[0]x"})
    EXPECT_EQ(parse_template(other), Parts()) << other;
  EXPECT_EQ(template_name(parse_template("word[-1]|tag[+1]")), "word[-1]|tag[1]");
}

TEST(Templates, template_files_by_column_are_equivalent) {
  const TemplateFile file = templates_of("# words\nU00:%x[-2,0]\r\n\nU01:%x[-1,1]/%x[0,0]\nU02:%x[-2,0]\nB\n");
  EXPECT_THAT(file.reads, ElementsAre("word[-2]", "tag[-1]|word[0]"));
  EXPECT_TRUE(file.bigrams);
  EXPECT_FALSE(templates_of("U:%x[0,0]").bigrams);
}

TEST(Templates, template_errors_name_the_line) {
  EXPECT_THAT(refusal_of("U00:%x[0,0]\nU01:%x[0,2]\n"),
              HasSubstr("made.txt, line 2: the template \"U01:%x[0,2]\" refers to column 2"));
  EXPECT_THAT(refusal_of("U00:%x[0]\n"), HasSubstr("%x[0], but rows are from"));
  EXPECT_THAT(refusal_of("U00:%y[0,0]\n"), HasSubstr("does not begin %x[row,column]"));
  EXPECT_THAT(refusal_of("U00\n"), HasSubstr("reads no column"));
  EXPECT_THAT(refusal_of("\nX00:%x[0,0]\n"), HasSubstr("line 2"));
  EXPECT_THAT(refusal_of("B\n"), HasSubstr("no line begins with U"));
}

/// Two examples: a b c, and d without a tag.
Examples two_examples() {
  return {.source = "made",
          .columns = {{.name = "word", .texts = {"a", "b", "c", "d"}},
                      {.name = "tag", .texts = {"x", "y", "x", ""}, .missing = {0, 0, 0, 1}}},
          .ends = {3, 4}};
}

/// Returns the texts of a field at all positions.
std::vector<std::string> texts_of(const std::string& name, Index least = 1) {
  const Examples examples = two_examples();
  const auto data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {name}, .predicts = {"tag"}, .least = least}, "columns"));
  const ExampleSet set(examples, data, {});
  std::vector<std::string> texts;
  for (const Symbol s : set.column(name).symbols)
    texts.emplace_back(s == kNoSymbol ? "-" : data->field(name).alphabet->text(s));
  return texts;
}

TEST(Templates, template_fields_contain_neighbors_within_the_example) {
  EXPECT_THAT(texts_of("word[-1]"), ElementsAre("_B-1", "a", "b", "_B-1"));
  EXPECT_THAT(texts_of("word[2]"), ElementsAre("c", "_B+1", "_B+2", "_B+2"));
  EXPECT_THAT(texts_of("word[-1]|word[0]"), ElementsAre("_B-1|a", "a|b", "b|c", "_B-1|d"));
  EXPECT_THAT(texts_of("tag[0]"), ElementsAre("x", "y", "x", "-"));
}

TEST(Templates, cut_off_rare_texts_are_unknown) {
  EXPECT_THAT(texts_of("word[-1]", 2), ElementsAre("_B-1", "<unk>", "<unk>", "_B-1"));
}

TEST(Templates, non_column_template_part_is_rejected) { EXPECT_THROW(texts_of("word[0]|form[0]"), DataError); }

}  // namespace
}  // namespace unfold
