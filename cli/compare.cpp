#include "app/compare/compare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/plots/table.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Compare final : public Verb {
 public:
  Compare();
  ExitCode run(Console& console) override;

 private:
  void print(const Comparison& found) const;

  CompareRequest request_;
  Index seed_ = 1;
};

Compare::Compare()
    : Verb(CommandOptions("compare", "tests whether one model is better than another, with a confidence interval",
                          {"unfold compare run-a run-b", "unfold compare lstm gru ngram --data other.txt",
                           "unfold compare run-a run-b --level 0.99 --json"})) {
  options_.add_inputs({.name = "models",
                       .target = &request_.models,
                       .placeholder = "MODEL MODEL...",
                       .help = "two or more run folders or model files",
                       .least = 2,
                       .most = std::string::npos,
                       .file = FileUse::model});
  options_.add({.name = "data",
                .target = &request_.data,
                .placeholder = "FILE",
                .help = "data to compare on; may be repeated",
                .default_text = "the test part of the runs, otherwise their validation part",
                .file = FileUse::data});
  options_.add({.name = "unknown",
                .target = &request_.unknown,
                .placeholder = "error|skip",
                .help = "for symbols that are not in an alphabet: stop, or skip them",
                .choices = {"error", "skip"}});
  options_.add({.name = "level",
                .target = &request_.level,
                .placeholder = "P",
                .help = "confidence level of the interval: equal models are found to differ with probability 1 - P",
                .least = 0.5,
                .most = 0.9999});
  options_.add({.name = "block",
                .target = &request_.block,
                .placeholder = "N",
                .help = "symbols per bootstrap block",
                .least = 0,
                .default_text = "one sequence if there are at least 50, otherwise 1/400 of the symbols, at least 32"});
  options_.add({.name = "samples",
                .target = &request_.samples,
                .placeholder = "N",
                .help = "number of bootstrap samples",
                .least = 100,
                .most = 1e7});
  options_.add(
      {.name = "seed", .target = &seed_, .placeholder = "N", .help = "random seed of the bootstrap", .least = 0});
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common();
}

nlohmann::ordered_json compared_json(const Comparison& found) {
  nlohmann::ordered_json json = {{"unit", found.unit},       {"data", found.data},
                                 {"symbols", found.symbols}, {"validation", found.validation},
                                 {"block", found.block},     {"level", found.level}};
  for (const ComparedModel& m : found.models)
    json["models"].push_back({{"name", m.name}, {"model", m.model}, {"bits_per_symbol", m.bits}});
  for (const ComparedPair& pair : found.pairs) {
    const PairedDifference& d = pair.difference;
    json["pairs"].push_back({{"a", found.models[pair.a].name},
                             {"b", found.models[pair.b].name},
                             {"difference", d.mean},
                             {"low", d.low},
                             {"high", d.high},
                             {"p", d.probability},
                             {"blocks", d.blocks},
                             {"samples", d.samples},
                             {"differs", d.differs()},
                             {"verdict", pair.verdict(found.models)}});
  }
  return json;
}

void Compare::print(const Comparison& found) const {
  print_result(fmt::format("data    {}\ncounts  {} predicted {}\n\n", found.data, found.symbols, found.units()));
  TextTable models{.heading = {"model", fmt::format("bits per {}", found.unit), "SPEC"}, .rows = {}};
  for (const ComparedModel& m : found.models) models.rows.push_back({m.name, fmt::format("{:.5f}", m.bits), m.model});
  print_result(to_text(models) + "\n");
  TextTable pairs{.heading = {"pair", "difference", fmt::format("{:g} % interval", 100 * found.level), "p", "verdict"},
                  .rows = {}};
  for (const ComparedPair& pair : found.pairs) {
    const PairedDifference& d = pair.difference;
    pairs.rows.push_back({fmt::format("{} - {}", found.models[pair.a].name, found.models[pair.b].name),
                          fmt::format("{:+.5f}", d.mean), fmt::format("{:+.5f} to {:+.5f}", d.low, d.high),
                          fmt::format("{:.3g}", d.probability), pair.verdict(found.models)});
  }
  print_result(to_text(pairs));
  const Index blocks = found.pairs.front().difference.blocks;
  print_result(fmt::format(
      "\nBits of the first model minus bits of the second, over {} {}, {} samples.\n", blocks,
      found.block > 0 ? fmt::format("blocks of {} {}", found.block, found.entries()) : std::string("sequences"),
      found.pairs.front().difference.samples));
  if (found.pairs.size() > 1)
    print_result(fmt::format("With {} pairs of equal models, about {:.2g} would differ significantly by chance.\n",
                             found.pairs.size(), (1 - found.level) * static_cast<double>(found.pairs.size())));
}

ExitCode Compare::run(Console& console) {
  request_.seed = static_cast<std::uint64_t>(seed_);
  request_.threads = threads_;
  ConsoleReporter reporter(console);
  const Comparison found = compare(request_, reporter);
  if (found.validation)
    console.remark("the runs have no test part; they are compared on the validation part that selected their models");
  if (json_)
    print_result(one_line(compared_json(found)));
  else
    print(found);
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_compare() { return std::make_unique<Compare>(); }

}  // namespace unfold
