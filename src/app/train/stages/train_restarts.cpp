#include "app/train/stages/train_restarts.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/common/perplexity.h"
#include "app/common/work_distribution.h"
#include "base/formats/trusted_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// The stored result of a candidate, or the message if it diverged.
struct CandidateResult {
  TrainingResult result = {};
  std::string diverged = {};
};

class Candidates {
 public:
  Candidates(std::string folder, Index count) : folder_(std::move(folder)), count_(count) {}

  std::string checkpoint(Index k) const { return fmt::format("{}/candidate-{}.safetensors", folder_, k); }
  std::string claim(Index k) const { return fmt::format("{}/candidate-{}.claim", folder_, k); }

  std::optional<CandidateResult> read(Index k) const {
    if (!std::filesystem::exists(result_file(k))) return std::nullopt;
    const nlohmann::ordered_json kept = parse_trusted_json(read_file(result_file(k)), result_file(k));
    CandidateResult found;
    found.diverged = kept.value("diverged", "");
    if (!found.diverged.empty()) return found;
    const auto number = [&](const char* key) {
      return kept.at(key).is_number() ? kept.at(key).get<double>() : std::numeric_limits<double>::quiet_NaN();
    };
    found.result.validated = kept.at("validated");
    found.result.best_nats_per_symbol = number("best");
    found.result.last_loss = number("loss");
    found.result.steps = kept.at("steps");
    return found;
  }
  void write(Index k, const CandidateResult& found) const {
    const nlohmann::json kept = found.diverged.empty() ? nlohmann::json{{"validated", found.result.validated},
                                                                        {"best", found.result.best_nats_per_symbol},
                                                                        {"loss", found.result.last_loss},
                                                                        {"steps", found.result.steps}}
                                                       : nlohmann::json{{"diverged", found.diverged}};
    write_file_atomically(result_file(k), kept.dump() + "\n");
  }
  void remove() const {
    std::error_code ignored;
    for (Index k = 0; k < count_; ++k)
      for (const std::string& file : {checkpoint(k), result_file(k), claim(k)}) std::filesystem::remove(file, ignored);
  }

 private:
  std::string result_file(Index k) const { return fmt::format("{}/candidate-{}.json", folder_, k); }
  std::string folder_;
  Index count_;
};

void tell(Index k, const TrainingResult& result, Reporter& reporter) {
  const std::string validation =
      result.validated ? fmt::format("{:.5f} in validation, ", bits(result.best_nats_per_symbol)) : "";
  reporter.remark(fmt::format("restart {}: {}{:.5f} bits per predicted symbol in training, after {} steps", k + 1,
                              validation, bits(result.last_loss), result.steps));
}

}  // namespace

template <class T>
Index choose_restart(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                     const RestartOptions& restarts, const RestartWork& work, Reporter& reporter) {
  Processes& all = work.processes != nullptr ? *work.processes : single_process();
  const Candidates candidates(work.folder, restarts.count);
  if (!work.can_resume && all.first()) candidates.remove();
  all.any(false);
  std::vector<WorkPiece> pieces;
  for (Index k = 0; k < restarts.count; ++k)
    pieces.push_back({.name = fmt::format("restart {}", k + 1),
                      .claim = candidates.claim(k),
                      .is_done = [&candidates, k] { return candidates.read(k).has_value(); },
                      .do_it =
                          [&, k](Reporter&) {
                            try {
                              candidates.write(
                                  k, {train_candidate<T>(spec, data, options, restarts, k, candidates.checkpoint(k))});
                            } catch (const DivergedError& error) {
                              candidates.write(k, {.diverged = error.what()});
                            }
                          }});
  do_work(pieces, {.threads = work.threads, .processes = work.processes}, reporter);
  Index best = -1;
  double least = 0;
  std::string diverged;
  for (Index k = 0; k < restarts.count; ++k) {
    const std::optional<CandidateResult> found = candidates.read(k);
    if (!found->diverged.empty()) {
      diverged = found->diverged;
      continue;
    }
    tell(k, found->result, reporter);
    const double loss = loss_to_compare(found->result);
    if (best < 0 || loss < least) best = k, least = loss;
  }
  all.any(false);  // barrier: every process has read the results
  if (all.first()) {
    if (best >= 0) std::filesystem::rename(candidates.checkpoint(best), options.checkpoint);
    candidates.remove();
  }
  all.any(false);
  if (best < 0) throw DivergedError(diverged);
  return best;
}

template Index choose_restart<float>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                     const RestartOptions&, const RestartWork&, Reporter&);
template Index choose_restart<double>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                      const RestartOptions&, const RestartWork&, Reporter&);

}  // namespace unfold
