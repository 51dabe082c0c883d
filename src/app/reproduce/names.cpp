/// First names conditioned on gender: compares class-conditional prediction with the right and with a wrong class.

#include <fmt/format.h>

#include <sstream>

#include "app/reproduce/class_conditional.h"
#include "app/reproduce/reproduction.h"
#include "app/sample/sample.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

const std::vector<std::string> kGenders = {"female", "male"};

ClassFiles write_names(const std::string& data, const std::string& stem) {
  std::vector<std::vector<std::string>> names(kGenders.size());
  for (std::size_t g = 0; g < kGenders.size(); ++g) {
    std::istringstream lines(
        std::string(Input::open(fmt::format("{}/sequences/names/{}.txt", data, kGenders[g])).bytes()));
    for (std::string name; std::getline(lines, name);) {
      while (!name.empty() && (name.back() == ' ' || name.back() == '\r')) name.pop_back();
      if (!name.empty()) names[g].push_back(name);
    }
  }
  return write_class_files(stem, kGenders, names);
}

constexpr const char* kNamesModel = "gru:128,dropout=0.3,embedding=32";
constexpr Index kNamesEpochs = 15;

std::string row_of_names(const char* label, const std::string& alone, const std::string& given,
                         const ClassFiles& files) {
  std::string row = fmt::format("| {} |", label);
  for (std::size_t g = 0; g < kGenders.size(); ++g)
    row += fmt::format(" {:.2f} | **{:.2f}** | {:.2f} |", bits_given_class(alone, files, g),
                       bits_given_class(given, files, g), bits_given_class(given, files, g, kGenders[1 - g]));
  return row + "\n";
}

void make_names_files(const std::string& data, const std::string& stem) { write_names(data, stem); }

std::string samples_of_names(const std::string& run) {
  std::string text;
  for (const std::string& gender : kGenders) {
    text += fmt::format("{}:", gender);
    for (const SampledSequence& name :
         sample_sequences({.model = run, .count = 8, .given = {fmt::format("label={}", gender)}}, 1))
      text += " " + name.text;
    text += "\n";
  }
  return text;
}

std::string names_table() {
  const StudyFolder folder("names");
  const ClassFiles files = write_names(data_folder(), folder.path("names"));
  const auto trained = [&](const std::string& out, const std::string& ends, bool given, const std::string& condition) {
    return train_class_conditional(
        files, folder.path(out),
        {.model = kNamesModel + condition, .ends = ends, .epochs = kNamesEpochs, .given = given});
  };
  std::string text = fmt::format(
      "`{}`, {} epochs, seed 1; every tenth name of each gender is used for testing ({} and {}), the following one for "
      "validation.\nBits per name, including its end, for an unconditional network, for one conditioned on the gender, "
      "and for the latter\nconditioned on the wrong gender.\n\n| last letters; condition | female: none | right | "
      "wrong "
      "| male: none | right | wrong |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      kNamesModel, kNamesEpochs, files.tested[0], files.tested[1]);
  std::string samples;
  for (const std::string ends : {"symbol", "stop", "geometric", "poisson", "negative-binomial", "table"}) {
    const std::string alone = trained("alone-" + ends, ends, false, "");
    const std::string given = trained("given-" + ends, ends, true, "");
    text += row_of_names(fmt::format("{}; initially and at every step", ends).c_str(), alone, given, files);
    if (ends != "symbol") continue;
    for (const char* condition : {"start", "steps"}) {
      const std::string other = trained(condition, ends, true, fmt::format(",condition={}", condition));
      text += row_of_names(
          fmt::format("{}; {}", ends, std::string_view(condition) == "start" ? "as start" : "at every step").c_str(),
          alone, other, files);
    }
    samples = samples_of_names(given);
  }
  return text + "\nSamples from the first of these networks, seed 1:\n\n```\n" + samples + "```\n";
}

}  // namespace

Reproduction names_given_gender() {
  const std::vector<Variant> columns = {
      {.label = "given names",
       .arguments =
           fmt::format("{{made}}.train --valid {{made}}.valid --test {{made}}.test --format labelled --symbols chars "
                       "--unknown skip --predict text --ends symbol --model {}",
                       kNamesModel),
       .prepare = make_names_files,
       .success = 2.1}};
  const std::string budget = fmt::format("--epochs {}", kNamesEpochs);
  return {.name = "names",
          .title = "First names, given gender",
          .source = "Names corpus of M. Kantrowitz and B. Ross",
          .measure = "/test/heads/text/nats_per_position",
          .measure_text = "nats per symbol on the test set",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{"given the gender", "--read label"}, {"unconditional", "--read text"}},
          .small = {.columns = columns, .seeds = 1, .budget = budget},
          .full = {.columns = columns, .seeds = 5, .budget = budget},
          .data = "sequences",
          .appendix = names_table};
}

}  // namespace unfold
