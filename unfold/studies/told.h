#pragma once
/// Internal: whether a network that is told the class of a sequence predicts it better, and worse when it is told
/// another.

#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Sequences of some classes, a line each.
struct ToldFiles {
  std::vector<std::string> classes;
  std::string train, valid;
  std::vector<std::string> test = {};  ///< of each class
  std::vector<Index> tested = {};      ///< sequences in these
};

/// Every tenth sequence of a class is tested, the one after it is validated on: STEM.train, .valid, .test and
/// STEM-CLASS.test.
ToldFiles write_told(const std::string& stem, const std::vector<std::string>& classes,
                     const std::vector<std::vector<std::string>>& sequences);

struct ToldTraining {
  std::string model, ends = "symbol";
  Index epochs = 0;
  bool given = false;
};
/// Returns the run.
std::string train_told(const ToldFiles& files, const std::string& out, const ToldTraining& training);

/// Bits of a sequence in the mean, its end too, of one class's part; `told`: what the network is told in its place.
double bits_told(const std::string& run, const ToldFiles& files, std::size_t of, const std::string& told = {});

/// A folder of its own, which goes when it is done.
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
