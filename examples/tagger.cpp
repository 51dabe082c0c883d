/// A part-of-speech tagger that predicts one tag per word, trained on sentences in this program.
///
///   tagger "the old dog sees a small bird"

#include <algorithm>
#include <array>
#include <iostream>
#include <sstream>

#include "unfold/model/network/network_model.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

using namespace unfold;

namespace {

const std::array kSentences = {
    "the/D dog/N sees/V a/D cat/N",
    "a/D small/A cat/N sleeps/V",
    "the/D old/A man/N walks/V the/D dog/N",
    "dogs/N walk/V",
    "a/D bird/N sings/V",
    "old/A men/N see/V small/A birds/N",
    "the/D man/N sees/V the/D old/A bird/N",
    "the/D walk/N ends/V",
    "cats/N sleep/V",
};

/// Appends a sentence: its words and, if known, their tags.
void append_sentence(Examples& examples, const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t slash = word.find('/');
    examples.columns[0].texts.push_back(word.substr(0, slash));
    if (examples.columns.size() > 1) examples.columns[1].texts.push_back(word.substr(slash + 1));
  }
  examples.ends.push_back(examples.columns[0].entries());
}

}  // namespace

int main(int argc, char** argv) try {
  Examples known{.source = "sentences", .columns = {{.name = "word"}, {.name = "tag"}}};
  for (const char* sentence : kSentences) append_sentence(known, sentence);

  // The input is the word in lower case and its last letter, a derived field. Unseen values become <unk>.
  const FieldChoice choice{.reads = {"word.lower", "word.suffix1"}, .predicts = {"tag"}};
  const auto data = std::make_shared<const DataSpecification>(specify(known, choice, known.source));
  const ExampleBatchOptions batches{
      .reads = choice.reads, .predicts = choice.predicts, .batch = 3, .unknown_rate = 0.5};
  const ExampleSet training(known, data, choice.predicts);

  // The network is bidirectional, because the tag of a word such as "walk" depends on the words around it.
  NetworkModel<float> model("bilstm:16", *data, {.reads = choice.reads, .heads = {{.field = "tag"}}});
  model.initialize(/*seed=*/1);
  Team team(available_threads());
  train(model, example_sources<float>(training, training.subset({}), batches, 1),
        {.optimizer = "adam:rate=0.01,clip=1", .epochs = 60}, /*model_file=*/"", team);

  Examples asked{.source = "the sentence", .columns = {{.name = "word"}}};
  append_sentence(asked, argc > 1 ? argv[1] : "the old dog sees a small bird");
  const ExampleSet sentence(asked, data, choice.predicts);
  const ExampleBatchOptions once{.reads = choice.reads, .predicts = choice.predicts};
  Evaluator<float>(model.network(), team)
      .run(model.parameters(), *example_reader(sentence, once), {},
           [&](const Batch&, std::span<const Matrix<const float>> outputs) {
             for (Index position = 0; position < sentence.positions(); ++position) {
               const float* logits = outputs[0].row(position);
               const Index best = std::max_element(logits, logits + outputs[0].cols) - logits;
               std::cout << asked.columns[0].texts[static_cast<std::size_t>(position)] << "\t"
                         << data->field("tag").alphabet->text(static_cast<Symbol>(best)) << "\n";
             }
           });
} catch (const Error& error) {
  std::cerr << "tagger: " << error.what() << "\n";
  return static_cast<int>(error.code());
}
