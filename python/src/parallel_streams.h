#pragma once
/// Many streams of a model as one Python object.

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "stream.h"
#include "unfold/model/streams.h"

namespace unfold::python {

/// `Model.streams(count)`: see unfold/model/streams.h. The threads belong to the object.
class ParallelStreams {
 public:
  ParallelStreams(std::shared_ptr<const SymbolModel> model, Index count, int threads)
      : model_(std::move(model)), team_(threads), streams_(model_->streams(count, team_)) {}

  Index count() const { return streams_->count(); }
  /// Returns the next symbol of each stream from an array or a list: indices or texts; -1 or None if none has arrived.
  std::vector<Symbol> symbols_of(nb::handle given) const;
  nb::object log_probabilities();  ///< a new array
  nb::object push(nb::handle symbols);
  nb::object score(nb::handle symbols);
  void reset(nb::handle streams);

 private:
  std::shared_ptr<const SymbolModel> model_;
  Team team_;
  std::unique_ptr<Streams> streams_;
};

void add_parallel_streams(nb::module_& module);

}  // namespace unfold::python
