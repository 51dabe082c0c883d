#include "model/ngram/arpa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/model/fitted.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using test::fitted;

std::string arpa_of(const SymbolModel& model) {
  std::string text;
  write_arpa(dynamic_cast<const NgramModel&>(model), [&](std::string_view piece) { text += piece; });
  return text;
}

std::unique_ptr<FittedModel> of_words(const char* spec, const std::string& text) {
  std::vector<Input> inputs = {Input::from_bytes("words", text)};
  const Alphabet alphabet = build_alphabet(inputs, {.kind = SymbolKind::words});
  const Corpus corpus = Corpus::load(std::move(inputs), alphabet);
  auto model = make_fitted_model(spec, alphabet);
  Team team(1);
  model->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
  return model;
}

constexpr const char* kWords = "the cat sat on the mat\nthe dog sat\non the mat the cat sat\n";

TEST(Arpa, arpa_export_and_import_keep_every_bit) {
  for (const char* spec : {"ngram:1", "ngram:2", "ngram:4", "ngram:3,sentences=no"}) {
    const auto model = of_words(spec, kWords);
    const NgramModel back = read_arpa(Input::from_bytes("m.arpa", arpa_of(*model)), SymbolKind::words);
    EXPECT_EQ(back.alphabet(), model->alphabet());
    EXPECT_EQ(back.spec_text(), spec);
    const auto a = model->predictor(), b = back.predictor();
    for (const Symbol x : model->alphabet().encode("the cat on the dog\nsat mat\nthe the mat\n")) {
      const auto p = a->log_probabilities(), q = b->log_probabilities();
      ASSERT_TRUE(std::equal(p.begin(), p.end(), q.begin())) << spec;
      a->observe(x);
      b->observe(x);
    }
  }
}

TEST(Arpa, arpa_characters_keep_their_names) {
  const std::string text = "a b\\c\n\xC2\xA0ü a\tb";
  for (const char* spec : {"ngram:3", "ngram:3,sentences=yes"}) {
    const auto model = fitted(spec, text);
    const NgramModel back = read_arpa(Input::from_bytes("m.arpa", arpa_of(*model)), SymbolKind::chars);
    EXPECT_EQ(back.alphabet(), model->alphabet());
    EXPECT_EQ(back.spec_text(), spec);
    EXPECT_EQ(arpa_of(back), arpa_of(*model));
  }
}

/// Each line is a sentence in the file and keeps its probability.
TEST(Arpa, EachLineIsASentence) {
  const std::string text = "xab0\nxab1\nxab1\nxba\n";
  for (const char* spec : {"ngram:3", "ngram:2", "ngram:3,smoothing=witten-bell"}) {
    const Corpus corpus = Corpus::load({Input::from_bytes("lines", text)}, Alphabet::chars_of(text), {.lines = true});
    const auto model = make_fitted_model(spec, corpus.alphabet());
    Team team(1);
    model->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
    model->configuration()["lines"] = true;
    const std::string arpa = arpa_of(*model);
    EXPECT_NE(arpa.find("\t</s>\t"), std::string::npos);
    const NgramModel back = read_arpa(Input::from_bytes("m.arpa", arpa), SymbolKind::chars);
    EXPECT_EQ(back.alphabet(), model->alphabet());
    const auto a = model->predictor(), b = back.predictor();
    for (const Symbol x : model->alphabet().encode("xab1\nxba\nab\n\nx")) {
      const auto p = a->log_probabilities(), q = b->log_probabilities();
      ASSERT_TRUE(std::equal(p.begin(), p.end(), q.begin())) << spec;
      a->observe(x);
      b->observe(x);
    }
    const Corpus whole = Corpus::from_text(text, back.alphabet());
    EXPECT_NEAR(back.evaluate(whole, whole_corpus(whole, "all"), team).nats,
                model->evaluate(corpus, whole_corpus(corpus, "all"), team).nats, 1e-9);
  }
}

// By hand: p(b | a) is stored, p(a | a) = backoff(a) p(a), and after the unknown context b, p(x | b) = p(x).
constexpr const char* kByHand =
    "some remark\n\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.1\n-0.5\ta\t-0.25\n-0.75\tb\n-1\t</s>\n\n"
    "\\2-grams:\n-0.125\ta b\n-0.0625 <s> a\n\n\\end\\\n";

TEST(Arpa, handwritten_arpa_file_is_read) {
  const NgramModel model = read_arpa(Input::from_bytes("m.arpa", kByHand), SymbolKind::words);
  const auto predictor = model.predictor();
  const Symbol a = model.alphabet().find("a"), b = model.alphabet().find("b");
  const double ln10 = std::log(10.0);
  EXPECT_NEAR(predictor->log_probability(a), -0.0625 * ln10, 1e-6);
  EXPECT_NEAR(predictor->log_probability(b), (-0.1 - 0.75) * ln10, 1e-6);
  predictor->observe(a);
  EXPECT_NEAR(predictor->log_probability(b), -0.125 * ln10, 1e-6);
  EXPECT_NEAR(predictor->log_probability(a), (-0.25 - 0.5) * ln10, 1e-6);
  predictor->observe(b);
  EXPECT_NEAR(predictor->log_probability(a), -0.5 * ln10, 1e-6);
}

TEST(Arpa, arpa_file_ends_after_the_last_ngram) {
  std::string text = kByHand;
  text.erase(text.find("\n\n\\end") + 1, 1);
  for (const char* end : {"", "\n", "\n\n"})
    EXPECT_EQ(read_arpa(Input::from_bytes("m.arpa", text + end), SymbolKind::words).alphabet().size(),
              read_arpa(Input::from_bytes("m.arpa", kByHand), SymbolKind::words).alphabet().size());
}

TEST(Arpa, arpa_words_outside_the_symbol_kind_are_data_errors) {
  std::string without_end = kByHand;
  for (std::size_t at = 0; (at = without_end.find("</s>")) != std::string::npos;) without_end.replace(at, 4, "end!");
  const auto read = [](const std::string& text, SymbolKind kind) {
    read_arpa(Input::from_bytes("m.arpa", text), kind);
  };
  EXPECT_THROW(read(without_end, SymbolKind::words), DataError);
  for (const SymbolKind kind : {SymbolKind::bytes, SymbolKind::chars}) EXPECT_THROW(read(without_end, kind), DataError);
}

TEST(Arpa, damaged_arpa_file_is_rejected_with_its_line) {
  const std::string whole = kByHand;
  const auto error = [](const std::string& text) -> std::string {
    try {
      read_arpa(Input::from_bytes("m.arpa", text), SymbolKind::words);
    } catch (const DataError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(error(whole), "");
  for (std::size_t cut = 1; cut + 2 < whole.size(); ++cut) EXPECT_NE(error(whole.substr(0, cut)), "") << cut;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return error(text);
  };
  EXPECT_NE(changed("ngram 2=2", "ngram 2=3").find("line"), std::string::npos);
  EXPECT_NE(changed("-0.125\ta b", "-0.125\ta c").find("\"c\""), std::string::npos);
  EXPECT_NE(changed("-0.125\ta b", "x\ta b").find("logarithm"), std::string::npos);
  EXPECT_NE(changed("-0.125\ta b", "2\ta b").find("above 1"), std::string::npos);
  EXPECT_NE(changed("-0.0625 <s> a", "-0.0625 a b").find("is repeated"), std::string::npos);
  EXPECT_NE(changed("-0.0625 <s> a", "-0.0625 a <s>").find("<s>"), std::string::npos);
  EXPECT_NE(changed("\tb\n", "\ta\n").find("is repeated"), std::string::npos);
}

}  // namespace
}  // namespace unfold
