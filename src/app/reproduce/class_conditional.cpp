#include "app/reproduce/class_conditional.h"

#include <fmt/format.h>

#include <stdlib.h>

#include <filesystem>

#include "app/common/perplexity.h"
#include "app/fields/evaluation/field_evaluation.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {

ClassFiles write_class_files(const std::string& stem, const std::vector<std::string>& classes,
                             const std::vector<std::vector<std::string>>& sequences) {
  ClassFiles files{.classes = classes, .train = stem + ".train", .valid = stem + ".valid"};
  std::string train, valid, tests;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    std::string test;
    Index number = 0;
    files.tested.push_back(0);
    for (const std::string& sequence : sequences[c]) {
      const Index tenth = number++ % 10;
      (tenth == 0 ? test : tenth == 1 ? valid : train) += fmt::format("{}\t{}\n", classes[c], sequence);
      files.tested.back() += tenth == 0 ? 1 : 0;
    }
    files.test.push_back(fmt::format("{}-{}.test", stem, classes[c]));
    write_file_atomically(files.test.back(), test);
    tests += test;
  }
  write_file_atomically(stem + ".test", tests);
  write_file_atomically(files.train, train);
  write_file_atomically(files.valid, valid);
  return files;
}

std::string train_class_conditional(const ClassFiles& files, const std::string& out, const ClassTraining& training) {
  TrainRequest request{.out = out, .overwrite = true};
  TrainSettings& s = request.settings;
  s.data = {files.train};
  s.valid = files.valid;
  s.format = "labelled";
  s.symbols = "chars";
  s.predict = "text";
  s.unknown = "skip";
  s.ends = training.ends;
  s.model = training.model;
  s.epochs = training.epochs;
  request.run.threads = 1;
  using S = TrainSettings;
  request.given.add(&S::valid, &S::format, &S::symbols, &S::predict, &S::unknown, &S::ends, &S::model, &S::epochs);
  if (training.given) {
    s.read = "label";
    request.given.add(&S::read);
  }
  return train(request).run;
}

double bits_given_class(const std::string& run, const ClassFiles& files, std::size_t of, const std::string& told) {
  FieldEvaluation request{.model = run, .data = {files.test[of]}, .unknown = "skip", .threads = 1};
  if (!told.empty()) request.given = {fmt::format("label={}", told)};
  double nats = 0;
  for (const HeadFigures& head : evaluate_on_fields(request).heads) nats += head.nats;
  return bits(nats) / static_cast<double>(files.tested[of]);
}

StudyFolder::StudyFolder(const std::string& name)
    : folder_((std::filesystem::temp_directory_path() / ("unfold-" + name + "-XXXXXX")).string()) {
  if (::mkdtemp(folder_.data()) == nullptr)
    throw RuntimeFailure(
        fmt::format("cannot create a folder in {}; set TMPDIR to a folder that you have permission to write",
                    std::filesystem::temp_directory_path().string()));
}

StudyFolder::~StudyFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace unfold
