#include "work.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "app/common/perplexity.h"
#include "unfold/base/error.h"

namespace unfold::python {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
nb::object converted(const Value& json) {
  if (json.is_null()) return nb::none();
  if (json.is_boolean()) return nb::bool_(json.template get<bool>());
  if (json.is_number_integer()) return nb::int_(json.template get<std::int64_t>());
  if (json.is_number_float()) return nb::float_(json.template get<double>());
  if (json.is_string()) {
    const auto text = json.template get<std::string>();
    return nb::str(text.data(), text.size());
  }
  if (json.is_array()) {
    nb::list list;
    for (const auto& value : json) list.append(converted(value));
    return list;
  }
  nb::dict dictionary;
  for (const auto& [key, value] : json.items()) dictionary[nb::str(key.data(), key.size())] = converted(value);
  return dictionary;
}

/// Returns the name of the class in unfold/errors.py.
const char* class_of(ExitCode code) {
  switch (code) {
    case ExitCode::usage: return "UsageError";
    case ExitCode::bad_data: return "DataError";
    case ExitCode::bad_model: return "ModelError";
    case ExitCode::diverged: return "DivergedError";
    case ExitCode::verification: return "VerificationError";
    case ExitCode::interrupted: return "Interrupted";
    default: return "RuntimeFailure";
  }
}

}  // namespace

std::string with_keywords(std::string_view message) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const bool begins = i == 0 || std::string_view(" (`\"'").find(message[i - 1]) != std::string_view::npos;
    if (!begins || !message.substr(i).starts_with("--") || i + 2 == message.size() || !is_letter(message[i + 2])) {
      result += message[i];
      continue;
    }
    for (i += 2; i < message.size() && (is_letter(message[i]) || message[i] == '-'); ++i)
      result += message[i] == '-' ? '_' : message[i];
    --i;
  }
  return result;
}

nb::object to_python(const nlohmann::ordered_json& json) { return converted(json); }
nb::object to_python(const nlohmann::json& json) { return converted(json); }

void translate_errors() {
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          const nb::object made = nb::module_::import_("unfold.errors").attr(class_of(error.code()));
          // A message may contain invalid UTF-8, for example in a file name.
          const std::string what = with_keywords(error.what());
          PyObject* text = PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace");
          PyErr_SetObject(made.ptr(), nb::steal(text).ptr());
        } catch (const std::length_error&) {
          PyErr_SetString(PyExc_MemoryError, "out of memory: the requested size is too large");
        } catch (const std::bad_alloc&) {
          PyErr_SetString(PyExc_MemoryError, "out of memory");
        }
      },
      nullptr);
}

void PythonReporter::throw_if_stopped() const {
  if (stop_.load(std::memory_order_relaxed)) throw InterruptedError("interrupted");
}

bool PythonReporter::due() {
  const auto now = std::chrono::steady_clock::now();
  if (!wanted() || now - last_ < std::chrono::milliseconds(100)) return false;
  last_ = now;
  return true;
}

void PythonReporter::stop_with(std::exception_ptr error) {
  if (from_python_ == nullptr) from_python_ = std::move(error);
  stop_ = true;
}

void PythonReporter::tell(const Json& event) {
  if (!wanted()) return;
  const nb::gil_scoped_acquire locked;
  if (from_python_ != nullptr) return;
  try {
    callback_(to_python(event));
  } catch (const nb::python_error&) {
    stop_with(std::current_exception());
  }
}

void PythonReporter::remark(std::string_view text) { tell({{"event", "remark"}, {"text", text}}); }
void PythonReporter::warn(std::string_view text) {
  if (wanted()) return tell({{"event", "warning"}, {"text", text}});
  const std::lock_guard lock(mutex_);
  warnings_.push_back(with_keywords(text));
}
void PythonReporter::progress(const WorkDone& work) {
  throw_if_stopped();
  if (due())
    tell({{"event", "work"}, {"what", work.what}, {"done", work.done}, {"total", work.total}, {"unit", work.unit}});
}
void PythonReporter::progress(const ProgressEvent& e) {
  if (due())
    tell({{"event", "progress"},
          {"step", e.step},
          {"epochs", e.epochs},
          {"fraction", e.fraction},
          {"loss", e.loss},
          {"mean_loss", e.mean_loss},
          {"gradient_norm", e.gradient_norm},
          {"rate", e.rate},
          {"symbols", e.symbols},
          {"seconds", e.seconds},
          {"symbols_per_second", e.symbols_per_second},
          {"seconds_left", e.seconds_left}});
}
void PythonReporter::validation(const ValidationEvent& e) {
  Json event = {{"event", "validation"},
                {"step", e.step},
                {"epochs", e.epochs},
                {"nats_per_symbol", e.nats_per_symbol},
                {"bits_per_symbol", bits(e.nats_per_symbol)},
                {"symbols", e.symbols},
                {"best", e.best},
                {"seconds", e.seconds}};
  for (const auto& [name, value] : e.measures) event[name] = value;
  tell(event);
}
void PythonReporter::sample(const SampleEvent& e) { tell({{"event", "sample"}, {"step", e.step}, {"text", e.text}}); }
void PythonReporter::rollback(const RollbackEvent& e) {
  tell({{"event", "rollback"}, {"step", e.step}, {"to_step", e.to_step}, {"reason", e.reason}});
}
void PythonReporter::checkpoint(const CheckpointEvent& e) {
  tell({{"event", "checkpoint"}, {"step", e.step}, {"path", e.path}});
}
void PythonReporter::done(const DoneEvent& e) {
  tell({{"event", "done"},
        {"step", e.step},
        {"reason", e.reason},
        {"best_step", e.best_step},
        {"best_nats_per_symbol", e.best_nats_per_symbol},
        {"seconds", e.seconds}});
}

void PythonReporter::run(const std::function<void()>& work) {
  std::exception_ptr failed = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    std::mutex mutex;
    std::condition_variable changed;
    bool finished = false;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        failed = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      finished = true;
      changed.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished; })) {
      lock.unlock();
      {
        const nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) stop_with(std::make_exception_ptr(nb::python_error()));
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (from_python_ != nullptr) std::rethrow_exception(from_python_);
  if (failed != nullptr) std::rethrow_exception(failed);
  for (const std::string& text : std::exchange(warnings_, {}))
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace unfold::python
