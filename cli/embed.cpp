#include "app/embed/embed.h"

#include "cli/terminal/console_reporter.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Embed final : public Verb {
 public:
  Embed();
  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> inputs_;
  std::string by_ = "example", format_ = "tsv", out_ = "-";
  bool states_ = false;
  EmbedRequest request_;
};

Embed::Embed()
    : Verb(CommandOptions("embed", "writes the state vectors of a network: one per example, or one per position",
                          {"unfold embed run sentences.txt --by line > vectors.tsv",
                           "unfold embed questions new.txt --format npy --out vectors.npy",
                           "unfold embed run book.txt --states --layer 1"})) {
  options_.add_inputs(
      {.name = "inputs",
       .target = &inputs_,
       .placeholder = "MODEL DATA...",
       .help = "a run folder or model file of a network, then files in the format that it was trained on",
       .least = 2,
       .most = std::string::npos,
       .file = FileUse::model});
  options_.add({.name = "by",
                .target = &by_,
                .placeholder = "UNIT",
                .help = "example (the last state of each sequence), position (every state); for text models also line "
                        "(the last state of each line, read from the initial state)",
                .choices = {"example", "line", "position"},
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "states",
                .target = &states_,
                .help = "every state: the same as --by position",
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "layer",
                .target = &request_.layer,
                .placeholder = "N",
                .help = "the layer, counted from the input; 0: the last one",
                .least = 0,
                .most = 1e6,
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "format",
                .target = &format_,
                .placeholder = "FORMAT",
                .help =
                    "output format: tsv, csv, jsonl (one object per vector), or npy (one NumPy array); default tsv, or "
                    "csv if the name of --out ends in .csv",
                .choices = {"tsv", "csv", "jsonl", "npy"},
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "out",
                .target = &out_,
                .placeholder = "FILE",
                .help = "file for the vectors; default standard output",
                .file = FileUse::printed,
                .group = OptionGroup::output,
                .common = true});
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common(/*prints_json=*/false);
}

ExitCode Embed::run(Console& console) {
  if (json_) throw UsageError("--json is not supported here; use --format jsonl for one object per vector");
  if (states_ && options_.is_given(by_) && by_ != "position")
    throw UsageError("--states is the same as --by position; use only one of them");
  request_.model = inputs_.front();
  request_.data = {inputs_.begin() + 1, inputs_.end()};
  request_.every_position = states_ || by_ == "position";
  request_.by_line = by_ == "line";
  request_.format = format_ == "jsonl" ? StateFormat::jsonl : format_ == "npy" ? StateFormat::npy : StateFormat::tsv;
  request_.threads = threads_;
  ConsoleReporter reporter(console);
  request_.reporter = &reporter;
  ResultFile file(out_, separator_of(format_, options_.is_given(format_), out_));
  embed(request_, [&](std::string_view text) { file.write(text); });
  file.commit();
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_embed() { return std::make_unique<Embed>(); }

}  // namespace unfold
