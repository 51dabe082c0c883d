#pragma once
/// Events of a training run, passed to observers. The library itself prints nothing.
/// Seconds and speeds are wall-clock values for display; no results depend on them.

#include <string>
#include <utility>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/optim/direction/step_control.h"

namespace unfold {

struct ProgressEvent {
  Index step = 0;        ///< completed steps
  double epochs = 0;     ///< completed passes over the training data
  double fraction = 0;   ///< fraction of the budget used, 0..1
  double loss = 0;       ///< nats per predicted symbol in this step
  double mean_loss = 0;  ///< mean since the last log entry
  double gradient_norm = 0, rate = 0;
  Index symbols = 0;              ///< symbols read since the start of the run
  double seconds = 0;             ///< since the start of the run, including earlier parts of a resumed run
  double symbols_per_second = 0;  ///< since the last log entry
  double seconds_left = 0;        ///< estimated from the speed since the start or resumption of the run
};

/// Sent after every step of a curvature-based optimizer (see CurvatureReport in step_control.h).
struct CurvatureEvent {
  Index step = 0;
  double loss = 0;
  CurvatureReport report = {};
};

/// Metrics in addition to the loss in nats, by name: "error_rate", "mean_squared_error".
using Measures = std::vector<std::pair<std::string, double>>;

struct ValidationEvent {
  Index step = 0;
  double epochs = 0;
  double nats_per_symbol = 0;
  Index symbols = 0;  ///< number of predicted symbols
  double share = 1;   ///< approximate share of the validation data that was read
  bool best = false;  ///< the best so far
  double seconds = 0;
  Measures measures = {};
};

struct SampleEvent {
  Index step = 0;
  std::string text = {};
};

struct RollbackEvent {
  Index step = 0, to_step = 0;  ///< the current step, and the step of the state that the run returns to
  std::string reason = {};      ///< "loss is nan; first: layer1/z at position 17 of sequence 3"
  double factor = 1;            ///< factor on the learning rate from now on
  int attempt = 0, attempts = 0;
};

struct CheckpointEvent {
  Index step = 0;
  std::string path = {};
};

struct DoneEvent {
  Index step = 0;
  double epochs = 0;
  std::string reason = {};  ///< "steps", "epochs", "minutes", "patience", "goal", "converged"
  double best_nats_per_symbol = 0;
  Index best_step = 0;
  bool validated = false;
  double seconds = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const ProgressEvent&) {}  ///< after every step
  virtual void curvature(const CurvatureEvent&) {}
  virtual void validation(const ValidationEvent&) {}
  virtual void sample(const SampleEvent&) {}
  virtual void rollback(const RollbackEvent&) {}
  virtual void checkpoint(const CheckpointEvent&) {}
  virtual void done(const DoneEvent&) {}
};

}  // namespace unfold
