#include "unfold/models/sampling.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unfold/capabilities/finite.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/verb.h"

namespace unfold {
namespace {

class Sample final : public Verb {
 public:
  Sample();
  ExitCode run(Console& console) override;

 private:
  /// One sample, as text block by block; how many symbols.
  Index draw(Predictor& predictor, const Alphabet& alphabet, const std::function<void(const std::string&)>& use) const;

  std::vector<std::string> model_;
  SamplingOptions sampling_{.length = 500, .stop = {}, .prime = {}};
  std::string prime_;
  Index seed_ = 1, count_ = 1;
};

Sample::Sample()
    : Verb(VerbOptions("sample", "generates text from a model; the text goes to standard output as it is",
                       {"unfold sample run --length 500 --temperature 0.8",
                        "unfold sample run --prime 'To be' --top-p 0.95 --seed 7"})) {
  options_.add_inputs(
      {.name = "model", .target = &model_, .placeholder = "MODEL", .help = "a run folder or model file"});
  options_.add({.name = "length",
                .target = &sampling_.length,
                .placeholder = "N",
                .help = "symbols to draw",
                .least = 0,
                .most = 1e12});
  options_.add(
      {.name = "prime", .target = &prime_, .placeholder = "TEXT", .help = "read this first; it is not printed"});
  options_.add({.name = "temperature",
                .target = &sampling_.temperature,
                .placeholder = "X",
                .help = "below 1: safer, above: bolder; 0: always the most probable symbol",
                .least = 0});
  options_.add({.name = "top-k",
                .target = &sampling_.top_k,
                .placeholder = "N",
                .help = "only the N most probable symbols; 0: all",
                .least = 0});
  options_.add({.name = "top-p",
                .target = &sampling_.top_p,
                .placeholder = "P",
                .help = "only the most probable symbols that together reach P",
                .least = 0,
                .most = 1});
  options_.add({.name = "min-p",
                .target = &sampling_.min_p,
                .placeholder = "P",
                .help = "only symbols with at least P times the largest probability",
                .least = 0,
                .most = 1});
  options_.add(
      {.name = "stop", .target = &sampling_.stop, .placeholder = "TEXT", .help = "end when the sample ends with this"});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "of the draws", .least = 0});
  options_.add({.name = "count",
                .target = &count_,
                .placeholder = "N",
                .help = "samples; several are separated by line ends",
                .least = 1});
  add_common();
}

/// Decodes symbols block by block and hands the text on, so that a long sample needs no memory and shows at once.
class TextStream {
 public:
  TextStream(const Alphabet& alphabet, Symbol previous, std::function<void(const std::string&)> use)
      : alphabet_(alphabet), previous_(previous), use_(std::move(use)) {}
  void add(Symbol symbol) {
    block_.push_back(symbol);
    if (block_.size() == kBlock) flush();
  }
  void flush() {
    if (block_.empty()) return;
    use_(alphabet_.decode(block_, previous_));
    previous_ = block_.back();
    block_.clear();
  }

 private:
  static constexpr std::size_t kBlock = 256;
  const Alphabet& alphabet_;
  Symbol previous_;
  std::function<void(const std::string&)> use_;
  std::vector<Symbol> block_;
};

Index Sample::draw(Predictor& predictor, const Alphabet& alphabet,
                   const std::function<void(const std::string&)>& use) const {
  TextStream text(alphabet, sampling_.prime.empty() ? kNoSymbol : sampling_.prime.back(), use);
  Index drawn = 0;
  sample(predictor, alphabet, sampling_, [&](Symbol symbol) {
    text.add(symbol);
    ++drawn;
  });
  text.flush();
  return drawn;
}

ExitCode Sample::run(Console&) {
  sampling_.seed = static_cast<std::uint64_t>(seed_);
  validate(sampling_);
  const std::unique_ptr<SymbolModel> loaded = load_model(model_.front());
  const SymbolModel& model = *loaded;
  if (!prime_.empty()) sampling_.prime = model.alphabet().encode(prime_);
  // Of adaptive models, no sample shall know another.
  const std::unique_ptr<Predictor> fresh = finite_predictor(model, model_.front());
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (sampling_.number = 0; sampling_.number < count_; ++sampling_.number) {
    const std::unique_ptr<Predictor> predictor = fresh->clone();
    std::string text;  // with --json all of it, else its last block
    const Index drawn = draw(*predictor, model.alphabet(), [&](const std::string& block) {
      if (json_) {
        text += block;
        return;
      }
      text = block;
      print_result(block);
      flush_results();
    });
    if (json_)
      samples.push_back({{"text", text}, {"symbols", drawn}});
    else if (count_ > 1 && !text.ends_with('\n'))
      print_result("\n");
  }
  if (json_) print_result(one_line({{"samples", std::move(samples)}}));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_sample() { return std::make_unique<Sample>(); }

}  // namespace unfold
