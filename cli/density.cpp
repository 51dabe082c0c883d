#include "app/fields/evaluation/row_densities.h"
#include "app/predict/predict.h"
#include "cli/terminal/console_reporter.h"
#include "cli/verb.h"
#include "model/registry/run_folder.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

class DensityVerb final : public Verb {
 public:
  DensityVerb();
  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> inputs_;
};

DensityVerb::DensityVerb()
    : Verb(CommandOptions("density", "prints the log probability of every row or other example (TSV)",
                          {"unfold density votes new.csv", "unfold density wine new.csv --json",
                           "unfold density digits t10k-images-idx3-ubyte"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "MODEL DATA...",
                       .help = "a run folder or model file of data with fields, then files",
                       .least = 2,
                       .most = std::string::npos,
                       .file = FileUse::model});
  add_key();
  add_unpacking_limit();
  add_threads();
  add_common();
}

ExitCode DensityVerb::run(Console& console) {
  (void)load_model_file(model_file(inputs_.front()));  // throws if the file is not a model
  if (!holds_field_model(inputs_.front()))
    throw UsageError(
        "density requires a model of data with fields (tables, images, music); for running text, `unfold score` prints "
        "the surprisal of every symbol or line");
  ConsoleReporter reporter(console);
  row_densities({.model = inputs_.front(),
                 .data = {inputs_.begin() + 1, inputs_.end()},
                 .json = json_,
                 .threads = threads_,
                 .reporter = &reporter},
                [](std::string_view text) { print_result(text); });
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_density() { return std::make_unique<DensityVerb>(); }

}  // namespace unfold
