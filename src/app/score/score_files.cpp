#include "app/score/score_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/common/work_distribution.h"
#include "app/evaluate/evaluate.h"
#include "app/train/setup/train_processes.h"
#include "base/decimals.h"
#include "base/formats/trusted_json.h"
#include "base/printable.h"
#include "distributed/consistency.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using FileJson = nlohmann::json;

class FileScoring {
 public:
  FileScoring(const ScoreFilesRequest& request, Reporter& reporter)
      : r_(request), reporter_(reporter), all_(request.processes != nullptr ? *request.processes : single_process()) {}

  std::vector<ScoredFile> run() {
    check();
    if (r_.out.empty()) {
      std::vector<ScoredFile> found;
      for (const std::string& file : r_.data) found.push_back({file, measure(file, reporter_)});
      return found;
    }
    model_ = fingerprint_of_file(model_file(r_.model));
    require_same_settings(all_, {{"the version", UNFOLD_VERSION}, {"the fingerprint of " + r_.model, model_}});
    std::vector<std::optional<Figures>> found(r_.data.size());
    std::vector<WorkPiece> pieces;
    for (std::size_t i = 0; i < r_.data.size(); ++i)
      pieces.push_back({.name = r_.data[i],
                        .claim = result_file(i) + ".claim",
                        .is_done = [&found, i, this] { return found[i] || (found[i] = read(i)); },
                        .do_it = [i, this](Reporter& reporter) { write(i, measure(r_.data[i], reporter)); }});
    do_work(pieces, {.jobs = r_.jobs, .processes = r_.processes}, reporter_);
    std::vector<ScoredFile> files;
    for (std::size_t i = 0; i < r_.data.size(); ++i) files.push_back({r_.data[i], *found[i]});
    return files;
  }

 private:
  void check() const {
    if ((r_.jobs > 1 || !all_.alone()) && r_.out.empty())
      throw UsageError("several processes require a folder for finished results: name it with --out DIR");
    std::vector<std::string> names = r_.data;
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      throw UsageError(fmt::format("{} is given twice; name it once", *twice));
    if (std::ranges::find(names, "-") != names.end() && !r_.out.empty())
      throw UsageError("standard input can be read only once, by one process: leave out --out, or name files");
  }

  Figures measure(const std::string& file, Reporter& reporter) const {
    const int threads = std::max(
        1, threads_of_process(r_.threads, all_) / static_cast<int>(r_.threads > 0 ? 1 : std::max<Index>(1, r_.jobs)));
    return evaluate(
               {.model = r_.model, .data = {file}, .unknown = r_.unknown, .reading = r_.reading, .threads = threads},
               reporter)
        .figures;
  }

  std::string result_file(std::size_t i) const { return fmt::format("{}/file-{}.json", r_.out, i + 1); }
  /// Identifies the input of a result, to distinguish it from a different file with the same name and from changed
  /// contents.
  std::string description(std::size_t i) const {
    std::error_code none;
    const auto size = std::filesystem::file_size(r_.data[i], none);
    const auto changed = std::filesystem::last_write_time(r_.data[i], none).time_since_epoch().count();
    return fmt::format("{} of {} bytes, changed at {}; model {}, unknown {}, segments {}, warmup {}", r_.data[i],
                       none ? 0 : size, none ? 0 : changed, model_, r_.unknown, r_.reading.segments, r_.reading.warmup);
  }
  std::optional<Figures> read(std::size_t i) const {
    const nlohmann::ordered_json kept = try_parse_trusted_json_file(result_file(i));
    if (!kept.is_object() || text_under(kept, "of") != description(i)) return std::nullopt;
    return Figures{
        .nats_per_symbol = kept.at("nats_per_symbol"), .symbols = kept.at("symbols"), .bytes = kept.at("bytes")};
  }
  void write(std::size_t i, const Figures& figures) const {
    const FileJson kept = {{"of", description(i)},
                           {"nats_per_symbol", figures.nats_per_symbol},
                           {"symbols", figures.symbols},
                           {"bytes", figures.bytes}};
    write_file_atomically(result_file(i), kept.dump(2) + "\n");
  }

  const ScoreFilesRequest& r_;
  Reporter& reporter_;
  Processes& all_;
  std::string model_;
};

ScoredFile all_of(const std::vector<ScoredFile>& files) {
  ScoredFile all{"all", {}};
  double nats = 0;
  for (const ScoredFile& file : files) {
    nats += file.figures.nats_per_symbol * static_cast<double>(file.figures.symbols);
    all.figures.symbols += file.figures.symbols;
    all.figures.bytes += file.figures.bytes;
  }
  all.figures.nats_per_symbol = nats / static_cast<double>(all.figures.symbols);
  return all;
}

double bits_of(const Figures& figures) { return figures.bits_per_symbol() * static_cast<double>(figures.symbols); }

std::string file_line(const ScoredFile& file) {
  const Figures& f = file.figures;
  return fmt::format("{}\t{}\t{}\t{}\t{}\n", escape_cell(file.name), f.symbols, decimals(bits_of(f)),
                     decimals(f.bits_per_symbol()), decimals(f.bits_per_byte()));
}

nlohmann::ordered_json file_json(const Figures& f) {
  return {{"symbols", f.symbols},
          {"bits", bits_of(f)},
          {"bits_per_symbol", f.bits_per_symbol()},
          {"bits_per_byte", f.bits_per_byte()}};
}

}  // namespace

std::string to_text(const std::vector<ScoredFile>& files) {
  std::string text = "file\tsymbols\tbits\tbits_per_symbol\tbits_per_byte\n";
  for (const ScoredFile& file : files) text += file_line(file);
  return text + file_line(all_of(files));
}

nlohmann::ordered_json to_json(const std::vector<ScoredFile>& files) {
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  for (const ScoredFile& file : files) {
    scores.push_back({{"file", file.name}});
    scores.back().update(file_json(file.figures));
  }
  return {{"by", "file"}, {"scores", std::move(scores)}, {"all", file_json(all_of(files).figures)}};
}

std::vector<ScoredFile> score_files(const ScoreFilesRequest& request, Reporter& reporter) {
  return FileScoring(request, reporter).run();
}

}  // namespace unfold
