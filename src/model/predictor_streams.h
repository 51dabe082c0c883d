#pragma once
/// Streams with a predictor for each, for models that gain nothing from batches. The predictors themselves begin a new
/// sequence after the symbol that ends one.

#include <memory>
#include <vector>

#include "unfold/model/predictor.h"
#include "unfold/model/streams.h"

namespace unfold {

class PredictorStreams final : public Streams {
 public:
  explicit PredictorStreams(std::vector<std::unique_ptr<Predictor>> predictors);

  Matrix<const float> log_probabilities() override;

 private:
  void surprisals_of(std::span<const Symbol> symbols, std::span<double> nats) override;
  void update(std::span<const Symbol> symbols) override;
  void restart(Index stream) override;

  std::vector<std::unique_ptr<Predictor>> predictors_;
  Buffer<float> rows_;  // [count x alphabet]
};

}  // namespace unfold
