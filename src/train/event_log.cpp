#include "train/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Returns a number for the log. JSON has no NaN, so a number that is not finite is written as a string.
OrderedJson number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

OrderedJson start(const char* event, Index step) { return {{"event", event}, {"step", step}}; }

}  // namespace

EventLog::EventLog(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("open", errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("inspect", errno);
  length_ = static_cast<std::uint64_t>(status.st_size);
}

EventLog::~EventLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EventLog::fail(const char* action, int error) const {
  throw RuntimeFailure(fmt::format("cannot {} the log {}: {}; check the folder and the space left on the disk", action,
                                   path_, std::strerror(error)));
}

void EventLog::cut_back(std::uint64_t length, Index step) {
  if (length_ > length) {
    if (::ftruncate(descriptor_, static_cast<off_t>(length)) != 0) fail("cut back", errno);
    length_ = length;
  } else if (length_ < length) {
    OrderedJson gap = start("gap", step);
    gap["text"] = fmt::format("{} bytes recorded in the checkpoint are missing here", length - length_);
    write(gap.dump());
  }
}

void EventLog::write(const std::string& line) {
  std::string bytes = line + '\n';
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", errno);
    written += static_cast<std::size_t>(n);
  }
  length_ += bytes.size();
}

void EventLog::progress(const ProgressEvent& e) {
  OrderedJson line = start("progress", e.step);
  line["epochs"] = e.epochs;
  line["nats_per_symbol"] = number(e.mean_loss);
  line["gradient_norm"] = number(e.gradient_norm);
  line["rate"] = e.rate;
  line["symbols"] = e.symbols;
  line["seconds"] = e.seconds;
  line["symbols_per_second"] = e.symbols_per_second;
  write(line.dump());
}

void EventLog::curvature(const CurvatureEvent& e) {
  OrderedJson line = start("curvature", e.step);
  line["nats_per_symbol"] = number(e.loss);
  line["after"] = number(e.report.loss_after);
  line["lambda"] = e.report.damping;
  line["rho"] = number(e.report.ratio);
  line["iterations"] = e.report.iterations;
  line["kept"] = e.report.kept;
  line["length"] = e.report.length;
  write(line.dump());
}

void EventLog::validation(const ValidationEvent& e) {
  OrderedJson line = start("validation", e.step);
  line["epochs"] = e.epochs;
  line["nats_per_symbol"] = number(e.nats_per_symbol);
  line["symbols"] = e.symbols;
  for (const auto& [name, value] : e.measures) line[name] = number(value);
  line["best"] = e.best;
  line["seconds"] = e.seconds;
  write(line.dump());
}

void EventLog::sample(const SampleEvent& e) {
  OrderedJson line = start("sample", e.step);
  line["text"] = e.text;
  write(line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

void EventLog::rollback(const RollbackEvent& e) {
  OrderedJson line = start("rollback", e.step);
  line["to_step"] = e.to_step;
  line["reason"] = e.reason;
  line["factor"] = e.factor;
  line["attempt"] = e.attempt;
  write(line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

void EventLog::done(const DoneEvent& e) {
  OrderedJson line = start("done", e.step);
  line["epochs"] = e.epochs;
  line["reason"] = e.reason;
  if (e.validated) {
    line["best_nats_per_symbol"] = number(e.best_nats_per_symbol);
    line["best_step"] = e.best_step;
  }
  line["seconds"] = e.seconds;
  write(line.dump());
}

}  // namespace unfold
