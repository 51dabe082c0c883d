#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/data/files/safetensors.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
constexpr const char* kFormat = "unfold-checkpoint-1";

template <class T>
void copy(std::span<const T> from, std::span<T> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}

template <class T>
class Capture final : public StateVisitor<T> {
 public:
  explicit Capture(Snapshot<T>& snapshot) : snapshot_(snapshot) {}
  void operator()(std::string_view name, std::span<T> values) override {
    auto& kept = snapshot_.optimizer;
    if (tensors_ == kept.size()) kept.emplace_back(name, Buffer<T>(static_cast<Index>(values.size())));
    copy<T>(values, kept[tensors_++].second.span());
  }
  void operator()(std::string_view name, double& value) override {
    auto& kept = snapshot_.numbers;
    if (numbers_ == kept.size()) kept.emplace_back(name, 0);
    kept[numbers_++].second = value;
  }

 private:
  Snapshot<T>& snapshot_;
  std::size_t tensors_ = 0, numbers_ = 0;
};

template <class T>
class Restore final : public StateVisitor<T> {
 public:
  explicit Restore(const Snapshot<T>& snapshot) : snapshot_(snapshot) {}
  void operator()(std::string_view, std::span<T> values) override {
    copy<T>(snapshot_.optimizer[tensors_++].second.span(), values);
  }
  void operator()(std::string_view, double& value) override { value = snapshot_.numbers[numbers_++].second; }

 private:
  const Snapshot<T>& snapshot_;
  std::size_t tensors_ = 0, numbers_ = 0;
};

template <class T>
Json counters(const Snapshot<T>& snapshot) {
  Json run = Json::object();
  visit_run_state([&](const char* name, const auto& value) { run[name] = value; }, snapshot.run);
  for (const auto& [name, value] : snapshot.numbers) run["optimizer/" + name] = value;
  return run;
}

template <class T>
void add(SafetensorsWriter& writer, const std::string& prefix, const Snapshot<T>& s) {
  const auto vector = [&](const std::string& name, std::span<const T> values) {
    writer.add<T>(prefix + name, {static_cast<Index>(values.size())}, values);
  };
  vector("parameters", s.parameters.span());
  for (const auto& [name, values] : s.optimizer) vector("optimizer/" + name, values.span());
  if (s.best) vector("best", s.best->flat());
  writer.add<T>(prefix + "carried/values", {s.carried.slots(), s.carried.width()}, s.carried.values());
  if (!s.influences.empty()) vector("influences", s.influences.span());
  const auto flags = s.carried.fresh_flags();
  writer.add<std::uint8_t>(
      prefix + "carried/fresh", {s.carried.slots()},
      std::span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(flags.data()), flags.size()));
}

/// Reads a vector and requires all its elements to be finite, because a resumed run would otherwise end with a model
/// that cannot be loaded.
template <class T>
void read_finite(const SafetensorsFile& file, const std::string& name, std::span<T> out) {
  file.read<T>(name, {static_cast<Index>(out.size())}, out);
  const auto bad = std::find_if(out.begin(), out.end(), [](T x) { return !std::isfinite(x); });
  if (bad != out.end())
    throw ModelError(fmt::format("{}: element {} of tensor {} is not finite; start the run again with --overwrite",
                                 file.name(), bad - out.begin(), name));
}

template <class T>
void read(const SafetensorsFile& file, const std::string& prefix, const Json& run, Snapshot<T>& s) {
  const auto vector = [&](const std::string& name, std::span<T> out) { read_finite(file, prefix + name, out); };
  vector("parameters", s.parameters.span());
  for (auto& [name, values] : s.optimizer) vector("optimizer/" + name, values.span());
  file.read<T>(prefix + "carried/values", {s.carried.slots(), s.carried.width()}, s.carried.values());
  if (!s.influences.empty()) vector("influences", s.influences.span());
  const auto flags = s.carried.fresh_flags();
  file.read<std::uint8_t>(prefix + "carried/fresh", {s.carried.slots()},
                          std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(flags.data()), flags.size()));
  const auto number = [&](const std::string& name, auto& value) {
    const auto found = run.find(name);
    // Earlier versions always read the whole validation part, selected the best model by nats, and did not store
    // whether the optimizer had converged.
    if (found == run.end() && (name == "validation_rows" || name == "best_error" || name == "converged")) return;
    if (found == run.end())
      throw ModelError(
          fmt::format("{}: the counter \"{}\" is missing; start the run again with --overwrite", file.name(), name));
    try {
      using Number = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<Number, Index> || std::is_same_v<Number, int>) {
        const auto whole = whole_number<Number>(*found);
        if (!whole) throw ModelError(fmt::format("{}: the counter \"{}\" is not an integer", file.name(), name));
        value = *whole;
      } else {
        found->get_to(value);
      }
    } catch (const Json::exception&) {
      throw ModelError(fmt::format("{}: the counter \"{}\" is not a number", file.name(), name));
    }
  };
  visit_run_state([&](const char* name, auto& value) { number(name, value); }, s.run);
  for (auto& [name, value] : s.numbers) number("optimizer/" + name, value);
}

bool is_on_device(const Json& configuration) {
  const auto found = configuration.find("precision");
  return found != configuration.end() && *found == kOnDevice;
}

/// Throws an error that names the first key in which two configurations differ.
void require_same(const Json& ours, const Json& theirs, const std::string& path) {
  const auto text = [](const Json& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? "nothing" : found->dump();
  };
  const bool any_precision = is_on_device(ours) || is_on_device(theirs);
  const bool any_data = !ours.contains(kDataKey) || !theirs.contains(kDataKey);  // earlier versions did not store it
  for (const Json* keys : {&ours, &theirs})
    for (const auto& [key, value] : keys->items()) {
      const bool may_differ = (any_precision && key == "precision") || (any_data && key == kDataKey);
      if (may_differ || text(ours, key) == text(theirs, key)) continue;
      if (key == kDataKey)
        throw UsageError(
            fmt::format("the data differs from the data that {} was written with; resume with the original data, or "
                        "start a new run in a different folder",
                        path));
      throw UsageError(
          fmt::format("{} was written with {} = {}, but this run has {}; resume with the same settings, or "
                      "start a new run in another folder",
                      path, key, text(theirs, key), text(ours, key)));
    }
}

}  // namespace

template <class T>
void capture_optimizer(Optimizer<T>& optimizer, Snapshot<T>& snapshot) {
  Capture<T> visitor(snapshot);
  optimizer.visit_state(visitor);
}

template <class T>
void restore_optimizer(const Snapshot<T>& snapshot, Optimizer<T>& optimizer) {
  Restore<T> visitor(snapshot);
  optimizer.visit_state(visitor);
}

template <class T>
void write_checkpoint(const std::string& path, const Snapshot<T>& now, const Snapshot<T>* rollback,
                      const Json& configuration) {
  SafetensorsWriter writer;
  add(writer, "", now);
  Json run = {{"now", counters(now)}};
  if (rollback != nullptr) {
    add(writer, "rollback/", *rollback);
    run["rollback"] = counters(*rollback);
  }
  writer.set_metadata("format", kFormat);
  writer.set_metadata("run", run.dump());
  writer.set_metadata("configuration", configuration.dump());
  writer.write(path);
}

std::string model_of_checkpoint(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const Json stored = parse_json(file.metadata("configuration"), path);
  const auto model = stored.find("model");
  return model != stored.end() && model->is_string() ? model->get<std::string>() : std::string();
}

template <class T>
bool read_checkpoint(const std::string& path, const Json& configuration, Snapshot<T>& now, Snapshot<T>& rollback) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  if (file.metadata("format") != kFormat)
    throw ModelError(fmt::format(
        "{} is not a checkpoint of this version (format \"{}\" instead of \"{}\"); start the run again with "
        "--overwrite",
        path, file.metadata("format"), kFormat));
  Json stored = parse_json(file.metadata("configuration"), path);
  if (const auto optimizer = stored.find("optimizer"); optimizer != stored.end() && optimizer->is_string())
    *optimizer = canonical_stored_optimizer(optimizer->get<std::string>());
  require_same(configuration, stored, path);
  const Json run = parse_json(file.metadata("run"), path);
  if (!run.is_object() || !run.contains("now"))
    throw ModelError(fmt::format("{}: the counters are missing; start the run again with --overwrite", path));
  const auto best = [&](const std::string& name, Snapshot<T>& s) {
    if (!s.run.validated) return;
    Parameters<T> values = *s.best;
    read_finite(file, name, values.flat());
    s.best = std::make_shared<const Parameters<T>>(std::move(values));
  };
  read(file, "", run["now"], now);
  best("best", now);
  if (!now.run.validated) now.best = nullptr;
  if (!run.contains("rollback")) return false;
  read(file, "rollback/", run["rollback"], rollback);
  best("rollback/best", rollback);
  if (!rollback.run.validated) rollback.best = nullptr;
  return true;
}

template void capture_optimizer(Optimizer<float>&, Snapshot<float>&);
template void capture_optimizer(Optimizer<double>&, Snapshot<double>&);
template void restore_optimizer(const Snapshot<float>&, Optimizer<float>&);
template void restore_optimizer(const Snapshot<double>&, Optimizer<double>&);
template void write_checkpoint(const std::string&, const Snapshot<float>&, const Snapshot<float>*, const Json&);
template void write_checkpoint(const std::string&, const Snapshot<double>&, const Snapshot<double>*, const Json&);
template bool read_checkpoint(const std::string&, const Json&, Snapshot<float>&, Snapshot<float>&);
template bool read_checkpoint(const std::string&, const Json&, Snapshot<double>&, Snapshot<double>&);

}  // namespace unfold
