/// First names given gender: whether a network that is told the class of a sequence predicts it better, and worse when
/// it is told another.

#include <fmt/format.h>

#include <stdlib.h>

#include <array>
#include <filesystem>
#include <sstream>

#include "unfold/app/sample.h"
#include "unfold/app/train.h"
#include "unfold/base/error.h"
#include "unfold/base/file.h"
#include "unfold/fields/predict.h"
#include "unfold/studies/reproduction.h"

namespace unfold {
namespace {

constexpr std::array<const char*, 2> kGenders = {"female", "male"};

/// Every tenth name of a class is tested, the one after it is validated on.
struct NameFiles {
  std::string train, valid;
  std::array<std::string, 2> test;  // of each gender
  std::array<Index, 2> tested{};
};

NameFiles write_names(const std::string& data, const std::string& stem) {
  NameFiles files{.train = stem + ".train", .valid = stem + ".valid", .test = {}};
  std::string train, valid, tests;
  for (std::size_t g = 0; g < kGenders.size(); ++g) {
    std::istringstream lines(
        std::string(Input::open(fmt::format("{}/sequences/names/{}.txt", data, kGenders[g])).bytes()));
    std::string test;
    Index number = 0;
    for (std::string name; std::getline(lines, name);) {
      while (!name.empty() && (name.back() == ' ' || name.back() == '\r')) name.pop_back();
      if (name.empty()) continue;
      const Index tenth = number++ % 10;
      (tenth == 0 ? test : tenth == 1 ? valid : train) += fmt::format("{}\t{}\n", kGenders[g], name);
      files.tested[g] += tenth == 0 ? 1 : 0;
    }
    files.test[g] = fmt::format("{}-{}.test", stem, kGenders[g]);
    write_file_atomically(files.test[g], test);
    tests += test;
  }
  write_file_atomically(stem + ".test", tests);
  write_file_atomically(files.train, train);
  write_file_atomically(files.valid, valid);
  return files;
}

constexpr const char* kNamesModel = "gru:128,dropout=0.3,embedding=32";
constexpr Index kNamesEpochs = 15;

std::string train_names(const NameFiles& files, const std::string& out, const std::string& ends, bool given,
                        const std::string& condition) {
  TrainRequest request{.out = out, .overwrite = true};
  TrainSettings& s = request.settings;
  s.data = {files.train};
  s.valid = files.valid;
  s.format = "labelled";
  s.symbols = "chars";
  s.predict = "text";
  s.unknown = "skip";
  s.ends = ends;
  s.model = kNamesModel + condition;
  s.epochs = kNamesEpochs;
  request.run.threads = 1;
  request.given = {"valid", "format", "symbols", "predict", "unknown", "ends", "model", "epochs"};
  if (given) {
    s.read = "label";
    request.given.insert("read");
  }
  return train(request).run;
}

/// Bits of a name in the mean, its end too, of one gender's part; `told`: what the network is told in its place.
double bits_of_names(const std::string& run, const NameFiles& files, std::size_t gender, const char* told) {
  FieldEvaluation request{.model = run, .data = {files.test[gender]}, .unknown = "skip", .threads = 1};
  if (told != nullptr) request.given = {fmt::format("label={}", told)};
  double nats = 0;
  for (const HeadFigures& head : evaluate_on_fields(request).heads) nats += head.nats;
  return bits(nats) / static_cast<double>(files.tested[gender]);
}

std::string row_of_names(const char* label, const std::string& alone, const std::string& given,
                         const NameFiles& files) {
  std::string row = fmt::format("| {} |", label);
  for (std::size_t g = 0; g < kGenders.size(); ++g)
    row += fmt::format(" {:.2f} | **{:.2f}** | {:.2f} |", bits_of_names(alone, files, g, nullptr),
                       bits_of_names(given, files, g, nullptr), bits_of_names(given, files, g, kGenders[1 - g]));
  return row + "\n";
}

void make_names_files(const std::string& data, const std::string& stem) { write_names(data, stem); }

std::string samples_of_names(const std::string& run) {
  std::string text;
  for (const char* gender : kGenders) {
    text += fmt::format("{}:", gender);
    for (const SampledSequence& name :
         sample_sequences({.model = run, .count = 8, .given = {fmt::format("label={}", gender)}}, 1))
      text += " " + name.text;
    text += "\n";
  }
  return text;
}

std::string names_table() {
  std::string folder = (std::filesystem::temp_directory_path() / "unfold-names-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw RuntimeFailure(fmt::format("no folder can be made in {}", std::filesystem::temp_directory_path().string()));
  const NameFiles files = write_names(data_folder(), folder + "/names");
  std::string text = fmt::format(
      "`{}`, {} epochs, seed 1; every tenth name of each gender is tested ({} and {}), the one after it validated on. "
      "Bits of a\nname with its end: of a network that is told nothing, of one that is told the gender, and of that "
      "one told the other.\n\n"
      "| ends, and how the gender is known | female: told nothing | told | told the other | male: told nothing | told "
      "| "
      "told the other |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      kNamesModel, kNamesEpochs, files.tested[0], files.tested[1]);
  std::string samples;
  for (const std::string ends : {"symbol", "stop", "geometric", "poisson", "negative-binomial", "table"}) {
    const std::string alone = train_names(files, folder + "/alone-" + ends, ends, false, "");
    const std::string given = train_names(files, folder + "/given-" + ends, ends, true, "");
    text += row_of_names(fmt::format("{}; as start and at every step", ends).c_str(), alone, given, files);
    if (ends != "symbol") continue;
    for (const char* condition : {"start", "steps"}) {
      const std::string other =
          train_names(files, folder + "/" + condition, ends, true, fmt::format(",condition={}", condition));
      text += row_of_names(
          fmt::format("{}; {}", ends, std::string_view(condition) == "start" ? "as start" : "at every step").c_str(),
          alone, other, files);
    }
    samples = samples_of_names(given);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return text + "\nDrawn from the first of them, seed 1:\n\n```\n" + samples + "```\n";
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
          .measure_text = "nats a symbol on test",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{"told the gender", "--read label"}, {"told nothing", "--read text"}},
          .small = {.columns = columns, .seeds = 1, .budget = budget},
          .full = {.columns = columns, .seeds = 5, .budget = budget},
          .data = "sequences",
          .appendix = names_table};
}

}  // namespace unfold
