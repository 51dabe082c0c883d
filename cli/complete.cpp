#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/fields/condition.h"
#include "app/predict/predict.h"
#include "app/sample/constrained_completion.h"
#include "app/sample/density_sampling.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "cli/prime.h"
#include "cli/shared_options.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Complete final : public Verb {
 public:
  Complete();
  ExitCode run(Console& console) override;

 private:
  ExitCode complete_vectors() const;
  void add_matching();
  void check_matching() const;
  bool is_matched() const;
  ExitCode complete_matched(Console& console);

  std::vector<std::string> model_;
  CompleteRequest request_;
  std::optional<std::string> prime_file_, given_, wanted_;
  MatchRequest match_;
  Index samples_ = 1000, seed_ = 1;
};

Complete::Complete()
    : Verb(CommandOptions("complete", "finds the most probable continuations of a text by beam search",
                          {"unfold complete run --prime 'To be' --length 20",
                           "unfold complete run --prime 'Tel. ' --match '[0-9]{3}-[0-9]{4}' --prove",
                           "unfold complete density --given 'x3=1,x7=0' --predict x5",
                           "unfold complete run --prime 'the cat' --stop $'\\n' --beam 32 --json"})) {
  options_.add(model_input(model_));
  options_.add({.name = "prime",
                .target = &request_.prime,
                .placeholder = "TEXT",
                .help = "the text to continue",
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text});
  options_.add(prime_file_row(prime_file_));
  options_.add({.name = "length",
                .target = &request_.beam.length,
                .placeholder = "N",
                .help = "maximum number of symbols",
                .least = 1,
                .most = 1e6,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text});
  options_.add({.name = "beam",
                .target = &request_.beam.beam,
                .placeholder = "N",
                .help = "number of continuations kept at every length",
                .least = 1,
                .most = 1e6,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text});
  options_.add({.name = "count",
                .target = &request_.beam.count,
                .placeholder = "N",
                .help = "number of continuations to print",
                .least = 1,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text});
  options_.add({.name = "normalization",
                .target = &request_.beam.normalization,
                .placeholder = "A",
                .help = "rank by the score log p / length^A: 0 by probability, 1 by probability per symbol",
                .least = 0,
                .group = OptionGroup::search,
                .kinds = Kind::text});
  options_.add({.name = "stop",
                .target = &request_.beam.stop,
                .placeholder = "TEXT",
                .help = "a continuation is finished when it ends with this text",
                .default_text = "for models of lines, the end of the line",
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text});
  add_matching();
  options_.add(
      {.name = "given",
       .target = &given_,
       .placeholder = "NAME=NUMBER",
       .help = "for density models: known numbers of the vector; separate several by commas; x3 is the third number",
       .group = OptionGroup::data,
       .common = true,
       .kinds = Kind::density});
  options_.add({.name = "predict",
                .target = &wanted_,
                .placeholder = "NAME,NAME",
                .help = "for density models: the numbers to compute; default: all that are not given",
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::density});
  options_.add({.name = "samples",
                .target = &samples_,
                .placeholder = "N",
                .help = "number of samples for means and probabilities without a closed form",
                .least = 1,
                .most = 1e9,
                .group = OptionGroup::search});
  options_.add(sampling_seed_row(seed_));
  add_key();
  add_common();
}

void Complete::add_matching() {
  const auto add = [&](const char* name, OptionTarget target, const char* placeholder, const char* help, double least,
                       FileUse file = FileUse::none) {
    options_.add({.name = name,
                  .target = std::move(target),
                  .placeholder = placeholder,
                  .help = help,
                  .least = least,
                  .file = file,
                  .group = OptionGroup::search,
                  .kinds = Kind::text});
  };
  add("match", &match_.allowed.match, "REGEX", "only continuations that match this expression completely", 0);
  add("words", &match_.allowed.words, "FILE", "only words of this file (one per line) and characters between words", 0,
      FileUse::data);
  add("least", &match_.allowed.least, "N", "minimum number of symbols", 1);
  add("prove", &match_.search.prove, "",
      "continue the search until no better result is possible or the limit --expansions is reached", 0);
  add("expansions", &match_.expansions, "N",
      "maximum number of model evaluations (20000); for --probability, per length (1000)", 1);
  add("diverse", &match_.search.groups, "N", "number of beam groups, which are penalized for choosing the same symbols",
      1);
  add("diversity", &match_.search.diversity, "A",
      "penalty in nats of a symbol for each previous group that chose it at the same position", 0);
  add("probability", &match_.wants_probability, "",
      "print the probability that the text continues with a match within --length", 0);
}

/// Prints the expected values of the numbers of a vector.
ExitCode Complete::complete_vectors() const {
  VectorRequest request{.model = model_.front(), .count = samples_, .seed = static_cast<std::uint64_t>(seed_)};
  if (given_) request.given = split_given(*given_);
  options_.require_kind(Kind::density, "this is a density model");
  const std::string wanted = wanted_.value_or("");
  for (std::string_view left = wanted; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    request.wanted.emplace_back(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
  if (!json_) print_result("number\tmean\tstandard_error\n");
  for (const CompletedNumber& number : complete_vector(request)) {
    if (json_)
      numbers[number.name] = {{"mean", number.mean}, {"standard_error", number.error}};
    else
      print_result(fmt::format("{}\t{}\t{:.6f}\n", escape_cell(number.name), decimals(number.mean), number.error));
  }
  if (json_) print_result(one_line({{"numbers", std::move(numbers)}}));
  return ExitCode::success;
}

/// Returns whether an option requires the constrained search.
bool Complete::is_matched() const {
  return options_.any_given(match_.allowed.match, match_.allowed.words, match_.allowed.least, match_.search.prove,
                            match_.expansions, match_.search.groups, match_.search.diversity, match_.wants_probability);
}

/// Checks options that apply to only one kind of result.
void Complete::check_matching() const {
  if (options_.is_given(request_.beam.stop))
    throw UsageError(
        "--stop applies only to searches among all continuations; with --match, put it at the end of the expression");
  if (match_.wants_probability)
    options_.refuse("applies only to the search for the best continuations, but --probability sums over all matches",
                    request_.beam.beam, request_.beam.count, request_.beam.normalization, match_.search.prove,
                    match_.search.groups, match_.search.diversity);
  if (options_.is_given(match_.search.diversity) && !options_.is_given(match_.search.groups))
    throw UsageError("--diversity requires --diverse N");
  if (options_.is_given(match_.expansions) && !match_.search.prove && !match_.wants_probability)
    throw UsageError("--expansions requires --prove or --probability");
}

ExitCode Complete::complete_matched(Console& console) {
  check_matching();
  match_.model = request_.model;
  match_.prime = request_.prime;
  match_.beam = request_.beam;
  match_.probability.samples = samples_;
  match_.probability.seed = static_cast<std::uint64_t>(seed_);
  const auto warn = [&](const std::string& text) { console.warn(text); };
  print_result(json_ ? one_line(answer_json(match_, warn)) : answer_text(match_, warn));
  return ExitCode::success;
}

ExitCode Complete::run(Console& console) {
  request_.model = model_.front();
  if (holds_field_model(request_.model) && holds_density(request_.model)) return complete_vectors();
  std::error_code none;
  const bool is_there = std::filesystem::exists(request_.model, none);  // if the file does not exist, loading it
                                                                        // reports the error
  if (is_there) options_.require_kind(Kind::text, "this is a model of running text");
  if (is_there && !match_.wants_probability)
    options_.refuse("applies only to density models and --probability", samples_, seed_);
  take_prime(prime_file_, request_.prime);
  if (is_matched()) return complete_matched(console);
  const std::vector<CompletedText> found = complete(request_);
  print_result(json_ ? one_line(completions_json(found)) : completions_text(found));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_complete() { return std::make_unique<Complete>(); }

}  // namespace unfold
