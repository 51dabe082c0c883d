#include "app/report/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/compare/evaluation_data.h"
#include "cli/own_inputs.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

class Report final : public Verb {
 public:
  Report();
  ExitCode run(Console& console) override;

 private:
  ReportRequest request_;
  std::string out_;
  bool no_baselines_ = false;
};

Report::Report()
    : Verb(CommandOptions(
          "report", "writes an HTML report about runs: curves, surprisal of the text, units and more, in one file",
          {"unfold report run -o page.html", "unfold report seed-1 seed-2 seed-3 -o page.html --floor 1.25",
           "unfold report run --data other.txt -o page.html"})) {
  options_.add_inputs({.name = "runs",
                       .target = &request_.runs,
                       .placeholder = "RUN...",
                       .help = "run folders, or one model file; inspection plots show the first one",
                       .least = 1,
                       .most = std::string::npos,
                       .file = FileUse::model});
  options_.add({.name = "out",
                .target = &out_,
                .placeholder = "FILE",
                .help = "the report, which works offline; - is standard output",
                .letter = "o",
                .file = FileUse::printed,
                .group = OptionGroup::output});
  options_.add({.name = "data",
                .target = &request_.data,
                .placeholder = "FILE",
                .help = "data for the plots; may be repeated",
                .default_text = "the test part of the run, otherwise its validation part",
                .file = FileUse::data,
                .group = OptionGroup::data});
  options_.add({.name = "floor",
                .target = &request_.floor,
                .placeholder = "BITS",
                .help = "entropy of the source in bits per symbol, drawn as a lower bound",
                .least = 0,
                .group = OptionGroup::output});
  options_.add({.name = "no-baselines",
                .target = &no_baselines_,
                .help = "do not evaluate baseline models on the same data",
                .group = OptionGroup::output});
  options_.add({.name = "look",
                .target = &request_.symbols,
                .placeholder = "N",
                .help = "number of symbols or positions to inspect",
                .least = 100,
                .most = 1e7,
                .group = OptionGroup::output});
  options_.add(unknown_row(request_.unknown));
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common();
}

ExitCode Report::run(Console& console) {
  if (out_.empty()) throw UsageError("report needs -o FILE, for example unfold report run -o page.html");
  if (json_ && out_ == "-") throw UsageError("--json and -o - both use standard output; name a file");
  request_.threads = threads_;
  request_.baselines = !no_baselines_;
  ConsoleReporter reporter(console);
  // The training data, on which the report is computed unless --data is set.
  const TrainSettings trained = settings_of_run(request_.runs.front());
  for (const std::string& file : trained.data) check_output_differs_from_input("--out", out_, file);
  for (const auto& file : {trained.valid, trained.test})
    if (file) check_output_differs_from_input("--out", out_, *file);
  const std::string page = report_page(request_, reporter);
  ResultFile file(out_);
  file.write(page);
  file.commit();
  if (json_)
    print_result(one_line({{"page", out_}, {"bytes", page.size()}, {"plots", plotting_library()}}));
  else if (out_ != "-")
    console.remark(
        fmt::format("{}: {:.0f} KiB{}", out_, static_cast<double>(page.size()) / 1024,
                    plotting_library().empty() ? "; plots are static, because this build has no Chart.js" : ""));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_report() { return std::make_unique<Report>(); }

}  // namespace unfold
