#include "app/logs/log_update.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/logs/log_anomaly_score.h"
#include "app/logs/log_data.h"
#include "app/logs/log_sessions.h"
#include "app/settings/train_settings.h"
#include "base/formats/text_encoding.h"
#include "base/options/shell_argument.h"
#include "data/logs/log_time.h"
#include "data/text/labels.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"
#include "model/ngram/ngram.h"
#include "model/registry/run_files.h"
#include "model/selection/baselines.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr const char* kCountsFormat = "unfold log counts 2";
constexpr std::size_t kMostListedUpdates = 100;

std::string counts_path(const RunFolder& folder) { return folder.path() + "/" + kLogCountsFile; }

/// The contents of counts.cbor.
struct LogCounts {
  LogShapeCounts shapes;
  LogDetector detector;
  LearnedLogs learned;
};

LogCounts read_log_counts(const RunFolder& folder, const SymbolModel& model) {
  const std::string path = counts_path(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw UsageError(fmt::format(
        "--update: {} has no {}: it was trained with --split, --valid or an earlier version; train again with all logs",
        folder.path(), kLogCountsFile));
  const nlohmann::json json = nlohmann::json::from_cbor(std::string(FileBytes(path).bytes()), true, false);
  if (json.is_discarded() || !json.is_object() || json.value("format", "") != kCountsFormat)
    throw ModelError(fmt::format("{} is damaged; train again with all logs", path));
  if (log_part(json, "model") != log_fingerprint(model))
    throw ModelError(fmt::format("{} belongs to a different model; train again with all logs", path));
  return {LogShapeCounts::from_json(log_part(json, "shapes")), LogDetector::from_json(log_part(json, "detector")),
          LearnedLogs::from_json(log_part(json, "learned"))};
}

/// Returns the label of the lines that the model was trained on; no value if it was trained on all lines.
std::optional<std::string> trained_label(const SymbolModel& model) {
  const auto found = model.configuration().find(name_of(&TrainSettings::only_label));
  return found != model.configuration().end() && found->is_string() ? std::optional(found->get<std::string>())
                                                                    : std::nullopt;
}

std::string lines_text(Index lines) { return fmt::format("{} line{}", lines, lines == 1 ? "" : "s"); }

/// Returns the part of a log that was not learned before, which may be empty.
Input new_part(Input log, const LearnedLogs& learned, Reporter& reporter) {
  const std::optional<RepeatedLog> repeated = learned.beginning_of(log);
  if (!repeated) return log;
  if (!first_log_time(log.bytes())) {
    reporter.warn(fmt::format(
        "{} begins with the {} that were already learned (as {}). They have no times, so they may be from a different "
        "log, and they are learned again",
        log.name(), lines_text(repeated->lines), repeated->name));
    return log;
  }
  if (repeated->rest.empty())
    throw DataError(fmt::format("--update: the {} of {} were already learned (as {}); leave the file out",
                                lines_text(repeated->lines), log.name(), repeated->name));
  reporter.remark(fmt::format("{}: its first {} were already learned (as {}); only the lines after them are added",
                              log.name(), lines_text(repeated->lines), repeated->name));
  return Input::from_bytes(log.name(), std::string(repeated->rest));
}

/// Notes that a log begins before the last time that was learned.
void note_earlier_time(const Input& log, const LearnedLogs& learned, const LogClock& clock, Reporter& reporter) {
  constexpr double kDay = 86400, kYear = 366 * kDay;
  const std::optional<LogMoment> first = first_log_time(log.bytes(), clock);
  const std::optional<LogMoment>& latest = learned.latest();
  if (!first || !latest || first->seconds >= latest->seconds) return;
  const bool no_date = latest->seconds < kDay, no_year = latest->seconds < kYear;
  if (no_date || (no_year && latest->seconds - first->seconds > kYear / 2)) return;  // a new day, or a new year
  reporter.remark(
      fmt::format("{} begins at {}, before the last line that was learned ({}). If it contains lines that were already "
                  "learned, they count twice; remove them from the file",
                  log.name(), first->text, latest->text));
}

/// Reads the newer logs: calls use(line) for every record with the label of training.
class NewerLogs {
 public:
  /// Adds the logs to `learned`.
  NewerLogs(const LogUpdateRequest& request, LogCard& card, std::optional<std::string> only, LearnedLogs& learned,
            Reporter& reporter)
      : card_(card), only_(std::move(only)) {
    std::vector<Input> inputs;
    for (const std::string& path : request.logs) {
      const Input log = with_line_feeds(Input::open(path));
      reject_utf16(path, log.bytes());
      inputs.push_back(new_part(log, learned, reporter));
      note_earlier_time(inputs.back(), learned, card.clock, reporter);
      learned.add(log, card.clock);
    }
    inputs_ = log_records(card, std::move(inputs));
  }
  /// `begin` is called before the first line of each log.
  void for_each(const std::function<void(std::string_view, const LogLineReader&)>& use,
                const std::function<void()>& begin = nullptr) const {
    for (const Input& input : inputs_) {
      if (begin) begin();
      LogLineReader reader(card_, input.name());
      for_each_log_line(input.bytes(), [&](std::string_view line) {
        reader.read(line);
        if (!reader.label() || !only_ || *reader.label() == *only_) use(line, reader);
      });
      input.require_whole();
    }
  }

 private:
  const LogCard& card_;
  std::optional<std::string> only_;
  std::vector<Input> inputs_;
};

/// The parts of a model that learn line by line.
class LineLearner {
 public:
  LineLearner(const SymbolModel& model, LogDetector& detector, LogCard& card)
      : detector_(detector), card_(card), words_(model), rates_(log_rates(model)) {
    if (!log_session_card(model)) return;
    sessions_.emplace(model, false, "the log");
    sessions_->learn_all();
  }
  /// The next line is the first one of a log.
  void begin_log() {
    rates_.end_log();
    add_span();
  }
  void learn(std::string_view line, const LogLineReader& read) {
    const LogLine& parts = read.parts();
    for (const MaskedValue& value : parts.masked) card_.values.count(value);
    if (sessions_) sessions_->read(line);
    if (card_.session_lines) return;
    detector_.score(parts, words_.score(line).surprisal_bits());
    detector_.learn_scored();
    const std::optional<LogTime> time = read.time();
    if (!time) return;
    constexpr double kNothing = 1e9;
    if (!rates_.empty()) rates_.see(time->seconds, detector_.event().template_id, kNothing);
    if (!first_) first_ = time->seconds;
    last_ = time->seconds;
    ++lines_;
  }
  /// Completes the JSON of the card.
  void finish(nlohmann::json& json) {
    rates_.end_log();
    if (!rates_.empty()) json["rates"] = rates_.to_json();
    if (!sessions_) return;
    sessions_->finish();
    json["sessions"] = to_json(sessions_->learned_card());
  }
  /// Returns the number of lines per day in the earlier and the newer logs together.
  double lines_per_day() {
    constexpr double kSecondsOfDay = 86400;
    add_span();
    if (seconds_ <= 0 || card_.lines_per_day <= 0) return card_.lines_per_day;
    const double before = static_cast<double>(card_.lines) * kSecondsOfDay / card_.lines_per_day;
    return static_cast<double>(card_.lines + timed_) * kSecondsOfDay / (before + seconds_);
  }

 private:
  /// Adds the time that the last log covers.
  void add_span() {
    if (first_ && last_ > *first_) {
      seconds_ += last_ - *first_;
      timed_ += lines_;
    }
    lines_ = 0;
    first_.reset();
  }

  LogDetector& detector_;
  LogCard& card_;
  LogScorer words_;
  LogRateModel rates_;
  std::optional<LogSessionScorer> sessions_;
  std::optional<double> first_;
  double last_ = 0, seconds_ = 0;
  Index lines_ = 0, timed_ = 0;  // number of lines with times: in this log, and in the logs that cover `seconds_`
};

Alphabet alphabet_of_shapes(const LogShapeCounts& shapes, Index vocabulary) {
  std::unordered_map<std::string_view, Index> words;
  for (const auto& [shape, lines] : shapes.sorted()) {
    Index position = 0;
    for (std::string_view word = next_word(shape, position); !word.empty(); word = next_word(shape, position)) {
      if (word == kLineEndWord)
        throw DataError(fmt::format("a line contains the word {}, which marks the end of a line; remove it", word));
      words[word] += lines;
    }
    words[kLineEndWord] += lines;
  }
  return alphabet_of_words(std::move(words),
                           {.kind = SymbolKind::words, .vocabulary = vocabulary, .with_unknown = true});
}

/// Fits a model of the same kind to the shapes.
std::unique_ptr<NgramModel> fitted_to(const LogShapeCounts& shapes, const SymbolModel& model) {
  const auto vocabulary = model.configuration().value(std::string(name_of(&TrainSettings::vocabulary)), Index{0});
  auto fitted = std::make_unique<NgramModel>(model.spec_text(), alphabet_of_shapes(shapes, vocabulary));
  std::vector<CountedSentence> sentences;
  FieldStatistics statistics{.counts = std::vector<Index>(static_cast<std::size_t>(fitted->alphabet().size()))};
  for (const auto& [shape, lines] : shapes.sorted()) {
    sentences.push_back({fitted->alphabet().encode(std::string(shape) + "\n"), lines});
    for (const Symbol symbol : sentences.back().symbols) statistics.counts[static_cast<std::size_t>(symbol)] += lines;
  }
  Team team(1);
  fitted->fit(sentences, {}, team);
  fitted->configuration() = model.configuration();
  fitted->configuration()[kStatisticsKey][kSymbol] = to_json(statistics);
  return fitted;
}

/// Forgets part of the earlier lines.
void forget(LogCounts& counts, double half_life, Index new_lines) {
  const double factor = exp2_of(-static_cast<double>(new_lines) / half_life);
  counts.shapes.decay(factor);
  counts.detector.decay(factor);
}

std::string as_arguments(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : " ") + shell_argument(file);
  return text;
}

/// Returns the data files of a run as they were given; "EARLIER" if they are not known.
std::string earlier_data(const RunFolder& run) {
  constexpr std::size_t kMost = 3;
  if (!run.has_config()) return "EARLIER";
  const Config config = read_config(run.config());
  const ConfigEntry* data = config.find(name_of(&TrainSettings::data));
  const auto* files = data == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&data->value);
  if (files == nullptr || files->empty() || files->size() > kMost) return "EARLIER";
  return as_arguments(*files);
}

[[noreturn]] void refuse_update(const Model& model, const LogUpdateRequest& request) {
  throw UsageError(
      fmt::format("--update: only n-gram models of logs (train LOG --format log) can be updated; the model in {} is {} "
                  "for data of the "
                  "kind \"{}\". Train again with the earlier and the new data: unfold train {} {} --out NEW",
                  request.run, model.spec_text(), model.data().source, earlier_data(RunFolder(request.run)),
                  as_arguments(request.logs)));
}

}  // namespace

bool supports_log_update(const SymbolModel& model) {
  const auto* const ngram = dynamic_cast<const NgramModel*>(&model);
  return ngram != nullptr && ngram->sentence_end() != kNoSymbol;
}

void write_log_counts(const RunFolder& folder, const SymbolModel& model, const LogShapeCounts& shapes,
                      const LogDetector& detector, const LearnedLogs& learned) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor({{"format", kCountsFormat},
                                                                   {"model", log_fingerprint(model)},
                                                                   {"shapes", shapes.to_json()},
                                                                   {"detector", detector.to_json(true)},
                                                                   {"learned", learned.to_json()}});
  write_file_atomically(counts_path(folder),
                        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

LogUpdate update_log_model(const LogUpdateRequest& request, Reporter& reporter) {
  const RunFolder folder(request.run);
  folder.lock();
  const std::unique_ptr<Model> loaded = load_model_file(model_file(request.run));
  const auto* const model = loaded->as<SymbolModel>();
  std::optional<LogCard> card = model == nullptr ? std::nullopt : log_card(*model);
  if (!card || !supports_log_update(*model)) refuse_update(*loaded, request);
  LogCounts counts = read_log_counts(folder, *model);
  const NewerLogs newer(request, *card, trained_label(*model), counts.learned, reporter);
  LogUpdate update{.model_file = folder.model()};
  newer.for_each([&](std::string_view, const LogLineReader&) { ++update.new_lines; });
  if (update.new_lines == 0) throw DataError("--update: the newer logs contain no lines to learn");
  if (request.half_life) forget(counts, *request.half_life, update.new_lines);
  LineLearner learner(*model, counts.detector, *card);
  const Index before = counts.shapes.different();
  newer.for_each(
      [&](std::string_view line, const LogLineReader& read) {
        learner.learn(line, read);
        counts.shapes.add(read.parts().shape);
      },
      [&] { learner.begin_log(); });
  card->lines_per_day = learner.lines_per_day();
  card->lines = update.lines = counts.shapes.lines();
  card->shapes = update.templates = counts.shapes.different();
  update.new_templates = update.templates - before;
  card->templates = {};
  for (const auto& [shape, lines] : counts.shapes.sorted()) card->templates.count(shape, lines);
  if (counts.shapes.removed() > 0)
    reporter.remark(fmt::format("more than {} templates: {} lines of rare templates were left out",
                                LogShapeCounts::kMost, counts.shapes.removed()));
  const std::unique_ptr<NgramModel> fitted = fitted_to(counts.shapes, *model);
  nlohmann::json& log = fitted->configuration()["log"];
  nlohmann::json updates = log.value("updates", nlohmann::json::array());
  updates.push_back({{"data", request.logs}, {"lines", update.new_lines}});
  if (request.half_life) updates.back()["halving-lines"] = *request.half_life;
  if (updates.size() > kMostListedUpdates) {
    updates.erase(updates.begin());
    log["earlier-updates"] = log.value("earlier-updates", Index{0}) + 1;
  }
  log.update(to_json(*card));
  log["detector"] = counts.detector.to_json(false);
  log["updates"] = std::move(updates);
  learner.finish(log);
  fitted->save(folder.model());
  write_log_counts(folder, *fitted, counts.shapes, counts.detector, counts.learned);
  return update;
}

}  // namespace unfold
