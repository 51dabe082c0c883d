#pragma once
/// Work of the library called from Python: without the interpreter's lock, stopped by Ctrl-C in good order, told to
/// callbacks of Python.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/runs/reporter.h"

namespace unfold::python {

namespace nb = nanobind;

/// The classes of unfold/errors.py for the errors of the library.
void translate_errors();

/// A JSON value as Python has it.
nb::object to_python(const nlohmann::ordered_json& json);
nb::object to_python(const nlohmann::json& json);

/// Calls a function of Python, if there is one, with a dictionary for each event: {"event": "progress", "step": 10,
/// ...}. Progress comes ten times a second at most. What the function throws stops the work and comes out of `run`.
class PythonReporter final : public Reporter, private Observer {
 public:
  explicit PythonReporter(nb::object callback) : callback_(std::move(callback)) {}

  void remark(std::string_view text) override;
  void warn(std::string_view text) override;
  void progress(const WorkDone& work) override;
  const std::atomic<bool>* stop() override { return &stop_; }
  /// Throws InterruptedError once a signal or a callback of Python has stopped the work.
  void stop_here() const;
  Observer* observer(Index) override { return this; }

  /// Runs the work on a thread of its own, while this one, the one that Python called, looks for signals. Throws what
  /// the work throws, or what a handler or a callback of Python has thrown.
  void run(const std::function<void()>& work);

 private:
  void progress(const ProgressEvent& event) override;
  void validation(const ValidationEvent& event) override;
  void sample(const SampleEvent& event) override;
  void rollback(const RollbackEvent& event) override;
  void checkpoint(const CheckpointEvent& event) override;
  void done(const DoneEvent& event) override;

  bool wanted() const { return callback_.is_valid() && !callback_.is_none(); }
  bool due();
  void tell(const nlohmann::ordered_json& event);
  void stop_with(std::exception_ptr error);

  nb::object callback_;
  std::atomic<bool> stop_ = false;
  std::exception_ptr from_python_ = nullptr;  // guarded by the interpreter's lock
  std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace unfold::python
