#pragma once
/// Comparison of class-conditional prediction with the right and with a wrong class. Internal to app/reproduce/.

#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Files of sequences with class labels, one per line.
struct ClassFiles {
  std::vector<std::string> classes;
  std::string train, valid;
  std::vector<std::string> test = {};  ///< test files, by class
  std::vector<Index> tested = {};      ///< number of sequences by test file
};

/// Writes STEM.train, STEM.valid, STEM.test and STEM-CLASS.test. In each class, every tenth sequence is for testing and
/// the one after it for validation.
ClassFiles write_class_files(const std::string& stem, const std::vector<std::string>& classes,
                             const std::vector<std::vector<std::string>>& sequences);

struct ClassTraining {
  std::string model, ends = "symbol";
  Index epochs = 0;
  bool given = false;
};
/// Trains a network and returns its run folder.
std::string train_class_conditional(const ClassFiles& files, const std::string& out, const ClassTraining& training);

/// Returns the mean bits per test sequence of class `of`, including the end of the sequence. If `told` is not empty,
/// the network is conditioned on the class `told` instead of the right one.
double bits_given_class(const std::string& run, const ClassFiles& files, std::size_t of, const std::string& told = {});

/// A temporary folder, removed by the destructor.
class StudyFolder {
 public:
  explicit StudyFolder(const std::string& name);
  ~StudyFolder();
  StudyFolder(const StudyFolder&) = delete;
  StudyFolder& operator=(const StudyFolder&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace unfold
