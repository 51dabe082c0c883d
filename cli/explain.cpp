#include "app/explain/explain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/evaluate/task_evaluation.h"
#include "app/predict/predict.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Explain final : public Verb {
 public:
  Explain();
  ExitCode run(Console& console) override;

 private:
  ExitCode run_on_fields(ExplainRequest request);
  void print(const Explanation& why) const;

  std::vector<std::string> inputs_;
  std::optional<std::string> file_;
  std::optional<Index> at_;
  Index guesses_ = 5, reach_ = 256, example_ = 1;
  std::string unknown_ = "error";
};

Explain::Explain()
    : Verb(CommandOptions("explain", "explains predictions: surprisal, top predictions, influence of earlier symbols",
                          {"unfold explain run 'To be, or not to be'", "unfold explain run --file letter.txt --at 120",
                           "unfold explain chunker test.txt --example 3 --at 7"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "MODEL TEXT|DATA",
                       .help = "a run folder or model file; then a text, or - for standard input; for models of data "
                               "with fields: a data file",
                       .least = 1,
                       .most = 2,
                       .file = FileUse::model});
  options_.add(
      {.name = "file", .target = &file_, .placeholder = "FILE", .help = "the text from a file", .file = FileUse::data});
  options_.add({.name = "at",
                .target = &at_,
                .placeholder = "N",
                .help = "the position, from 1, to explain",
                .least = 1,
                .default_text = "the position with the highest surprisal",
                .group = OptionGroup::output});
  options_.add({.name = "guesses",
                .target = &guesses_,
                .placeholder = "N",
                .help = "number of top predictions per position",
                .least = 0,
                .most = 100,
                .group = OptionGroup::output,
                .kinds = Kind::text});
  options_.add({.name = "reach",
                .target = &reach_,
                .placeholder = "N",
                .help = "maximum number of earlier symbols",
                .least = 1,
                .most = 4096,
                .group = OptionGroup::output,
                .kinds = Kind::text});
  options_.add({.name = "example",
                .target = &example_,
                .placeholder = "N",
                .help = "for data with fields: number of the example, from 1",
                .least = 1,
                .group = OptionGroup::output,
                .kinds = Kind::fields});
  options_.add(unknown_row(unknown_));
  add_threads();
  add_key();
  add_common();
}

/// Colors for standard output, if it is a terminal that supports them.
class Paint {
 public:
  Paint() {
    const char *plain = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    on_ = isatty(STDOUT_FILENO) == 1 && (plain == nullptr || *plain == '\0') && term != nullptr &&
          std::string_view(term) != "dumb";
  }
  bool on() const { return on_; }
  /// Returns the text on a background whose color intensity increases with `share` (0 to 1), from none to red or blue.
  std::string ground(const std::string& text, double share, bool blue = false) const {
    constexpr std::array kReds = {0, 52, 88, 124, 160, 196}, kBlues = {0, 17, 18, 19, 20, 21};
    const double place = std::clamp(share, 0.0, 1.0) * (kReds.size() - 1);
    const auto step = static_cast<std::size_t>(std::lround(place));
    if (!on_ || step == 0) return text;
    return fmt::format("\x1b[97;48;5;{}m{}\x1b[0m", (blue ? kBlues : kReds)[step], text);
  }

 private:
  bool on_ = false;
};

/// Returns a bar in steps of an eighth of a character.
std::string bar_of(double share, std::size_t letters) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 8 * static_cast<double>(letters)));
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string shown_bits(double bits) { return std::isnan(bits) ? std::string() : decimals(bits, 4); }

std::string symbols_tsv(const Explanation& why, Index guesses) {
  std::string text = "position\tsymbol\tbits";
  for (Index i = 1; i <= guesses; ++i) text += fmt::format("\tguess.{0}\tprobability.{0}", i);
  text += '\n';
  for (const ExplainedSymbol& s : why.symbols) {
    text += fmt::format("{}\t{}\t{}", s.position, s.name, shown_bits(s.bits));
    for (const Guess& guess : s.guesses) text += fmt::format("\t{}\t{:.4f}", guess.name, guess.probability);
    text += '\n';
  }
  return text;
}

std::string lags_tsv(const Explanation& why) {
  std::string text = "lag\tposition\tsymbol\tstate\tsurprise\n";
  for (const Lag& lag : why.lags)
    text += fmt::format("{}\t{}\t{}\t{:.4g}\t{:.4g}\n", lag.lag, lag.position, lag.name, lag.state, lag.surprise);
  return text;
}

/// The surprisal in bits that is shown in the darkest red.
constexpr double kRedBits = 10;

std::string symbols_painted(const Explanation& why, const Paint& paint) {
  std::string text = "text (redder: higher surprisal)\n  ";
  for (const ExplainedSymbol& s : why.symbols) text += paint.ground(s.name == "\\s" ? " " : s.name, s.bits / kRedBits);
  text += "\n\n  position  symbol      bits  top predictions\n";
  for (const ExplainedSymbol& s : why.symbols) {
    const std::string bits = fmt::format("{:>7}", shown_bits(s.bits));
    text += fmt::format("  {:>8}  {:<8} {}  ", s.position, s.name, paint.ground(bits, s.bits / kRedBits));
    for (const Guess& guess : s.guesses) {
      const std::string shown = fmt::format("{} {:.0f}%", guess.name, 100 * guess.probability);
      text += (guess.name == s.name ? "\x1b[1m" + shown + "\x1b[0m" : shown) + "  ";
    }
    text += '\n';
  }
  return text;
}

std::string lags_painted(const Explanation& why, const Paint& paint) {
  constexpr std::size_t kBar = 24, kShown = 24;
  double most_state = 1e-300, most_surprise = 1e-300;
  for (const Lag& lag : why.lags) {
    most_state = std::max(most_state, lag.state);
    most_surprise = std::max(most_surprise, lag.surprise);
  }
  std::string text = "  ";
  for (auto lag = why.lags.rbegin(); lag != why.lags.rend(); ++lag)
    text += paint.ground(lag->name == "\\s" ? " " : lag->name, lag->state / most_state, true);
  text += fmt::format("\x1b[4m{}\x1b[0m\n\n  {:>4}  {:<8}  {:<{}}  surprise\n", why.symbols[at(why.at - 1)].name, "lag",
                      "symbol", "state", kBar + 9);
  for (std::size_t i = 0; i < std::min(kShown, why.lags.size()); ++i) {
    const Lag& lag = why.lags[i];
    const auto cell = [&](double value, double most) {
      const std::string bar = bar_of(value / most, kBar);
      const auto letters =
          static_cast<std::size_t>(std::ceil(std::clamp(value / most, 0.0, 1.0) * 8 * kBar / 8 - 1e-9));
      return fmt::format("{:>8.3g} {}{}", value, bar, std::string(kBar - std::min(kBar, letters), ' '));
    };
    text += fmt::format("  {:>4}  {:<8}  {}  {}\n", lag.lag, lag.name, cell(lag.state, most_state),
                        cell(lag.surprise, most_surprise));
  }
  if (why.lags.size() > kShown) text += fmt::format("  ... and {} symbols before\n", why.lags.size() - kShown);
  return text;
}

nlohmann::ordered_json explained_json(const Explanation& why) {
  nlohmann::ordered_json json = {{"model", why.model}, {"symbols", nlohmann::ordered_json::array()}};
  for (const ExplainedSymbol& s : why.symbols) {
    nlohmann::ordered_json guesses = nlohmann::ordered_json::array();
    for (const Guess& guess : s.guesses)
      guesses.push_back({{"symbol", guess.name}, {"probability", guess.probability}});
    json["symbols"].push_back({{"position", s.position},
                               {"symbol", s.name},
                               {"bits", std::isnan(s.bits) ? nlohmann::ordered_json() : nlohmann::ordered_json(s.bits)},
                               {"guesses", std::move(guesses)}});
  }
  json["at"] = why.at;
  json["estimated"] = why.estimated;
  json["lags"] = nlohmann::ordered_json::array();
  for (const Lag& lag : why.lags)
    json["lags"].push_back({{"lag", lag.lag},
                            {"position", lag.position},
                            {"symbol", lag.name},
                            {"state", lag.state},
                            {"surprise", lag.surprise}});
  if (!why.no_lags.empty()) json["no_lags"] = why.no_lags;
  return json;
}

void Explain::print(const Explanation& why) const {
  const Paint paint;
  const auto print = [&](const std::string& text) { paint.on() ? print_styled_result(text) : print_result(text); };
  print(paint.on() ? symbols_painted(why, paint) : symbols_tsv(why, guesses_));
  if (!why.no_lags.empty()) return print_result(fmt::format("\n# influence on position {}: {}\n", why.at, why.no_lags));
  const std::string heading = fmt::format("\n# influence on the state before position {}: gradient{} by lag\n", why.at,
                                          why.estimated ? ", estimated," : "");
  print(heading + (paint.on() ? lags_painted(why, paint) : lags_tsv(why)));
}

std::string cell(const std::string& text) { return text.empty() ? "-" : escape_cell(text); }

std::string labels_tsv(const FieldExplanation& why) {
  std::string text = "position\tread\tobserved\tbest\tprobability\tbits\n";
  for (const ExplainedLabel& l : why.labels)
    text += fmt::format("{}\t{}\t{}\t{}\t{:.4f}\t{}\n", l.position, cell(l.read), cell(l.observed), escape_cell(l.best),
                        l.probability, shown_bits(l.bits));
  return text;
}

std::string votes_text(const FieldExplanation& why, const Paint& paint) {
  double most = 1e-300;
  for (const Vote& vote : why.votes) most = std::max(most, std::abs(vote.weight));
  std::string text = why.features ? "feature\tweight\n" : "position\tread\tgradient\n";
  for (const Vote& vote : why.votes) {
    if (!why.features) text += fmt::format("{}\t", vote.position);
    const std::string bar = paint.on() ? "\t" + bar_of(std::abs(vote.weight) / most, 24) : std::string();
    text += fmt::format("{}\t{:.4g}{}\n", cell(vote.what), vote.weight, bar);
  }
  return text;
}

nlohmann::ordered_json labels_json(const FieldExplanation& why) {
  nlohmann::ordered_json json = {{"model", why.model}, {"field", why.field}};
  for (const ExplainedLabel& l : why.labels)
    json["labels"].push_back(
        {{"position", l.position},
         {"read", l.read},
         {"observed", l.observed},
         {"best", l.best},
         {"probability", l.probability},
         {"bits", std::isnan(l.bits) ? nlohmann::ordered_json() : nlohmann::ordered_json(l.bits)}});
  json["at"] = why.at;
  json["label"] = why.label;
  json["features"] = why.features;
  json["votes"] = nlohmann::ordered_json::array();
  for (const Vote& vote : why.votes)
    json["votes"].push_back({{"position", vote.position}, {"what", vote.what}, {"weight", vote.weight}});
  return json;
}

ExitCode Explain::run_on_fields(ExplainRequest request) {
  options_.require_kind(Kind::fields, "for data with fields, all labels and contributions are shown");
  if (file_) inputs_.push_back(*file_);
  if (inputs_.size() < 2) throw options_.missing_inputs();
  request.data = {inputs_[1]};
  const FieldExplanation why = explain_fields(request);
  if (at_ && *at_ != why.at)  // with one label per example, --at has no effect
    throw UsageError(fmt::format(
        "--at applies only to labels at every position, but {} is one label per example; omit --at", why.field));
  if (json_) {
    print_result(one_line(labels_json(why)));
    return ExitCode::success;
  }
  print_result(labels_tsv(why));
  print_result(fmt::format("\n# contributions to {} = {} at position {}: {}\n", escape_value(why.field),
                           escape_value(why.label), why.at,
                           why.features ? "weights of features, excluding neighboring labels"
                                        : "gradient of its log odds with respect to the input of each position"));
  print_result(votes_text(why, Paint()));
  return ExitCode::success;
}

ExitCode Explain::run(Console& console) {
  ConsoleReporter reporter(console);
  ExplainRequest request{.model = inputs_.front(),
                         .unknown = unknown_,
                         .guesses = guesses_,
                         .at = at_,
                         .example = example_,
                         .reach = reach_,
                         .threads = threads_,
                         .reporter = &reporter};
  if (holds_task_model(request.model))
    throw UsageError("explain supports text models and models of data with fields, not task models");
  if (holds_field_model(request.model)) return run_on_fields(std::move(request));
  options_.require_kind(Kind::text, "this is a text model");
  if (file_ && inputs_.size() > 1) throw UsageError("TEXT and --file cannot be combined; leave one of them out");
  if (!file_ && inputs_.size() < 2) throw options_.missing_inputs();
  const bool from_file = file_ || inputs_[1] == "-";
  request.text = from_file ? std::string(Input::open(file_.value_or("-")).bytes()) : inputs_[1];
  const Explanation why = explain_text(request);
  const bool followed = why.no_lags.empty() || why.at == 1;  // nothing precedes the first position
  if (options_.is_given(reach_) && !followed)
    throw UsageError(
        fmt::format("--reach limits the number of earlier symbols, which {} does not support: {}; omit --reach",
                    why.model, why.no_lags));
  if (json_)
    print_result(one_line(explained_json(why)));
  else
    print(why);
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_explain() { return std::make_unique<Explain>(); }

}  // namespace unfold
