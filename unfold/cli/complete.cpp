#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/app/sample.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/prime.h"
#include "unfold/cli/verb.h"
#include "unfold/fields/given.h"
#include "unfold/fields/predict.h"
#include "unfold/fields/vectors.h"

namespace unfold {
namespace {

class Complete final : public Verb {
 public:
  Complete();
  ExitCode run(Console& console) override;

 private:
  ExitCode complete_vectors() const;

  std::vector<std::string> model_;
  CompleteRequest request_;
  std::optional<std::string> prime_file_, given_, wanted_;
  Index samples_ = 1000, seed_ = 1;
};

Complete::Complete()
    : Verb(VerbOptions("complete", "finds the most probable continuations of a text by beam search",
                       {"unfold complete run --prime 'To be' --length 20",
                        "unfold complete density --given 'x3=1,x7=0' --predict x5",
                        "unfold complete run --prime 'the cat' --stop $'\\n' --beam 32 --json"})) {
  options_.add_inputs(
      {.name = "model", .target = &model_, .placeholder = "MODEL", .help = "a run folder or model file"});
  options_.add({.name = "prime", .target = &request_.prime, .placeholder = "TEXT", .help = "what is continued"});
  options_.add({.name = "prime-file",
                .target = &prime_file_,
                .placeholder = "FILE",
                .help = "the same from a file; - is standard input"});
  options_.add({.name = "length",
                .target = &request_.beam.length,
                .placeholder = "N",
                .help = "symbols at most",
                .least = 1,
                .most = 1e6});
  options_.add({.name = "beam",
                .target = &request_.beam.beam,
                .placeholder = "N",
                .help = "continuations kept at every length",
                .least = 1,
                .most = 1e6});
  options_.add(
      {.name = "count", .target = &request_.beam.count, .placeholder = "N", .help = "continuations shown", .least = 1});
  options_.add({.name = "normalisation",
                .target = &request_.beam.normalisation,
                .placeholder = "A",
                .help = "rank by the score log p / length^A: 0 by probability, 1 by probability per symbol",
                .least = 0});
  options_.add({.name = "stop",
                .target = &request_.beam.stop,
                .placeholder = "TEXT",
                .help = "a continuation is finished when it ends with this"});
  options_.add(
      {.name = "given",
       .target = &given_,
       .placeholder = "NAME=NUMBER",
       .help = "of distributions of vectors: what is known of one, several with commas; x3 is its third number"});
  options_.add({.name = "predict",
                .target = &wanted_,
                .placeholder = "NAME,NAME",
                .help = "which numbers of it are wanted; without it all that are not given"});
  options_.add({.name = "samples",
                .target = &samples_,
                .placeholder = "N",
                .help = "draws for means that have no closed form",
                .least = 1,
                .most = 1e9});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "of the draws", .least = 0});
  add_key();
  add_common();
}

/// What numbers of a vector are expected to be.
ExitCode Complete::complete_vectors() const {
  VectorRequest request{.model = model_.front(), .count = samples_, .seed = static_cast<std::uint64_t>(seed_)};
  if (given_) request.given = split_given(*given_);
  for (const char* name : {"prime", "prime-file", "length", "beam", "count", "normalisation", "stop"})
    if (options_.given(name)) throw UsageError(fmt::format("--{} is for models of running text", name));
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
      print_result(fmt::format("{}\t{:.6f}\t{:.6f}\n", number.name, number.mean, number.error));
  }
  if (json_) print_result(one_line({{"numbers", std::move(numbers)}}));
  return ExitCode::success;
}

nlohmann::ordered_json to_json(const CompletedText& text) {
  const Completion& completion = text.completion;
  nlohmann::ordered_json symbols = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < text.names.size(); ++i)
    symbols.push_back(
        {{"symbol", text.names[i]}, {"bits", bits(-static_cast<double>(completion.log_probabilities[i]))}});
  return {{"text", text.text},         {"probability", text.probability()}, {"bits", text.bits()},
          {"score", completion.score}, {"stopped", completion.stopped},     {"symbols", std::move(symbols)}};
}

/// On one line.
std::string line_of(const CompletedText& text) {
  std::string shown;
  for (const char c : text.text)
    shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
  return fmt::format("{:.6f}\t{}\t{:.6f}\t{}\n", text.bits(), text.names.size(), text.completion.score, shown);
}

ExitCode Complete::run(Console&) {
  request_.model = model_.front();
  if (holds_field_model(request_.model) && holds_density(request_.model)) return complete_vectors();
  for (const char* name : {"given", "predict", "samples", "seed"})
    if (options_.given(name))
      throw UsageError(fmt::format("--{} is for distributions of vectors (nade and others)", name));
  take_prime(prime_file_, request_.prime);
  const std::vector<CompletedText> found = complete(request_);
  nlohmann::ordered_json completions = nlohmann::ordered_json::array();
  if (!json_) print_result("bits\tsymbols\tscore\ttext\n");
  for (const CompletedText& text : found) {
    if (json_)
      completions.push_back(to_json(text));
    else
      print_result(line_of(text));
  }
  if (json_) print_result(one_line({{"completions", std::move(completions)}}));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_complete() { return std::make_unique<Complete>(); }

}  // namespace unfold
