#pragma once
/// Runs library work called from Python: releases the GIL, handles Ctrl-C, and reports events to Python callbacks.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"

namespace unfold::python {

namespace nb = nanobind;

/// Translates library exceptions to the classes of unfold/errors.py.
void translate_errors();

/// Replaces the options of the command in a message, such as --whole-sequences, by the names of keyword arguments.
std::string with_keywords(std::string_view message);

/// Converts a JSON value to Python objects.
nb::object to_python(const nlohmann::ordered_json& json);
nb::object to_python(const nlohmann::json& json);

/// Reports events to an optional Python callback as dictionaries: {"event": "progress", "step": 10, ...}. Progress
/// events occur at most ten times per second. An exception in the callback stops the work and is rethrown by `run`.
/// Without a callback, warnings become Python warnings of the class UserWarning.
class PythonReporter final : public Reporter, private Observer {
 public:
  explicit PythonReporter(nb::object callback) : callback_(std::move(callback)) {}

  void remark(std::string_view text) override;
  void warn(std::string_view text) override;
  void progress(const WorkDone& work) override;
  const std::atomic<bool>* stop() override { return &stop_; }
  /// Throws InterruptedError if a signal or a callback has requested a stop.
  void throw_if_stopped() const;
  Observer* observer(Index) override { return this; }

  /// Runs the work on a separate thread, while the calling thread checks for signals. Rethrows exceptions of the work,
  /// of signal handlers and of callbacks.
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
  std::mutex mutex_;
  std::vector<std::string> warnings_;  // guarded by mutex_; those of a reporter without a callback, until the work ends
  std::atomic<bool> stop_ = false;
  std::exception_ptr from_python_ = nullptr;  // guarded by the GIL
  std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace unfold::python
