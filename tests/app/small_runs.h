#pragma once
/// Short training runs on tiny data, and the output of predict.

#include <functional>
#include <string>

#include "app/predict/predict.h"
#include "app/train/train.h"

namespace unfold::testing_support {

/// Trains for `steps` steps of eight examples on all of a file and returns the run folder. `more` may change the
/// request.
inline std::string train_small(const std::string& out, const std::string& data, const std::string& model,
                               const std::string& optimizer, Index steps,
                               const std::function<void(TrainRequest&)>& more) {
  TrainRequest request{.out = out};
  request.settings.data = {data};
  request.settings.model = model;
  request.settings.optimizer = optimizer;
  request.settings.steps = steps;
  request.settings.batch = 8;
  request.settings.split = "100/0/0";
  request.run.threads = 1;
  request.given = {"model", "optimizer", "steps", "batch", "split"};
  if (more) more(request);
  train(request);
  return request.out;
}

inline std::string predicted(PredictRequest request) {
  std::string text;
  Reporter silent;
  request.threads = 1;
  predict(
      request, [&](std::string_view piece) { text += piece; }, silent);
  return text;
}

}  // namespace unfold::testing_support
