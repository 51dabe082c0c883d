#pragma once
/// A reader for several passes over the same batches. At the end of a pass `next` returns false, and the following call
/// begins the next pass:
///
///   RepeatedReader reader([&] { return example_reader(examples, options); });
///   while (again) for (Batch batch; reader.next(batch);) ...

#include <functional>
#include <memory>
#include <utility>

#include "unfold/data/text/batch.h"

namespace unfold {

class RepeatedReader final : public BatchReader {
 public:
  using Make = std::function<std::unique_ptr<BatchReader>()>;
  explicit RepeatedReader(Make make) : make_(std::move(make)) {}

  bool next(Batch& batch) override {
    if (reader_ == nullptr) {
      reader_ = make_();
      ++passes_;
    }
    if (reader_->next(batch)) return true;
    reader_.reset();
    return false;
  }
  Index passes() const { return passes_; }  ///< number of passes begun

 private:
  Make make_;
  std::unique_ptr<BatchReader> reader_ = {};
  Index passes_ = 0;
};

}  // namespace unfold
