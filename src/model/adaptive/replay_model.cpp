#include "model/adaptive/replay_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {

ReplayModel::ReplayModel(std::string_view spec, const Alphabet& alphabet)
    : FittedModel(alphabet), spec_(canonical_learner(spec)), prototype_(make_learner(spec_, this->alphabet())) {}

ReplayModel::ReplayModel(const ModelFile& file, std::string_view name)
    : FittedModel(file), spec_(file.value<std::string>("model")) {
  if (spec_.substr(0, spec_.find(':')) != name) file.fail("\"" + spec_ + "\" is not of the file's format");
  file.expect_tensors({"symbols", "lengths"});
  const auto size_of = [&](const char* tensor) { return file.tensors().tensor(tensor).elements(); };
  symbols_.resize(static_cast<std::size_t>(size_of("symbols")));
  lengths_.resize(static_cast<std::size_t>(size_of("lengths")));
  file.tensors().read<std::int32_t>("symbols", {static_cast<Index>(symbols_.size())}, std::span(symbols_));
  file.tensors().read<std::int64_t>("lengths", {static_cast<Index>(lengths_.size())}, std::span(lengths_));
  for (const Symbol x : symbols_)
    if (x < 0 || x >= alphabet().size()) file.fail("tensor \"symbols\" contains a number that is not a symbol");
  Index left = static_cast<Index>(symbols_.size());
  for (const Index length : lengths_)
    if (length < 0 || (left -= length) < 0) break;
  if (left != 0) file.fail("the sum of tensor \"lengths\" is not the number of symbols");
  try {
    prototype_ = make_learner(spec_, alphabet());
  } catch (const UsageError& error) {
    file.fail(std::string("the model in the card cannot be built: ") + error.what());
  }
  replay({});
}

void ReplayModel::replay(const FitOptions& options) {
  std::size_t at = 0;
  for (const Index length : lengths_) {
    prototype_->reset();
    for (Index i = 0; i < length; ++i, ++at) {
      prototype_->observe(symbols_[at]);
      if (at % 4096 == 0)
        options.tick("learning",
                     static_cast<double>(at) / static_cast<double>(std::max<std::size_t>(symbols_.size(), 1)));
    }
  }
}

nlohmann::json ReplayModel::fit(const TrainingData& data, const FitOptions& options, Team&) {
  check_alphabet(data.corpus);
  symbols_.clear();
  lengths_.clear();
  const auto symbols = static_cast<std::size_t>(data.training.symbols());
  symbols_.reserve(symbols);
  for (const Piece& piece : data.training.pieces) {
    lengths_.push_back(piece.range.size());
    for_each_symbol(data.corpus, piece, [&](Symbol x) {
      options.tick("reading", symbols_.size(), symbols);
      symbols_.push_back(x);
    });
  }
  prototype_ = make_learner(spec_, alphabet());
  replay(options);
  return {{"symbols", static_cast<Index>(symbols_.size())}};
}

void ReplayModel::add_tensors(SafetensorsWriter& writer) const {
  writer.add<std::int32_t>("symbols", {static_cast<Index>(symbols_.size())}, std::span<const std::int32_t>(symbols_));
  writer.add<std::int64_t>("lengths", {static_cast<Index>(lengths_.size())}, std::span<const std::int64_t>(lengths_));
}

}  // namespace unfold
