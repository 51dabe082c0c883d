#include <fmt/format.h>

#include <optional>

#include "unfold/app/exchange.h"
#include "unfold/app/export_c.h"
#include "unfold/cli/result_file.h"
#include "unfold/cli/verb.h"

namespace unfold {
namespace {

class Export final : public Verb {
 public:
  Export()
      : Verb(VerbOptions("export", "writes a model in the format of other programs",
                         {"unfold export run --to arpa --out model.arpa", "unfold export run --to c --out model.c"})) {
    options_.add_inputs(
        {.name = "model", .target = &model_, .placeholder = "MODEL", .help = "a run folder or model file"});
    options_.add({.name = "to",
                  .target = &to_,
                  .placeholder = "FORMAT",
                  .help = "arpa: n-grams as SRILM and KenLM read them; c: a network as one C99 file with the same bits",
                  .choices = {"arpa", "c"}});
    options_.add({.name = "name",
                  .target = &name_,
                  .placeholder = "NAME",
                  .help = "c: what the names in the file begin with (default model)"});
    options_.add({.name = "out",
                  .target = &out_,
                  .placeholder = "FILE",
                  .help = "where to; - is standard output",
                  .letter = "o"});
    add_key();
    add_common();
  }

  ExitCode run(Console&) override {
    if (json_ && out_ == "-") throw UsageError("--json and --out - both want standard output; name a file");
    if (name_ && to_ != "c") throw UsageError("--name is of --to c");
    ResultFile file(out_);
    const auto write = [&](std::string_view text) { file.write(text); };
    if (to_ == "c")
      export_c({.model = model_.front(), .name = name_.value_or("model")}, write);
    else
      export_arpa(model_.front(), write);
    file.commit();
    if (json_) print_result(fmt::format("{{\"format\":\"{}\"}}\n", to_));
    return ExitCode::success;
  }

 private:
  std::vector<std::string> model_;
  std::string to_ = "arpa", out_ = "-";
  std::optional<std::string> name_;
};

class Import final : public Verb {
 public:
  Import()
      : Verb(VerbOptions("import", "reads an ARPA file as an n-gram model",
                         {"unfold import model.arpa --out model.safetensors"})) {
    options_.add_inputs(
        {.name = "file", .target = &file_, .placeholder = "FILE", .help = "an ARPA file (also .gz, .xz, .zst)"});
    options_.add({.name = "symbols",
                  .target = &symbols_,
                  .placeholder = "KIND",
                  .help = "what its words are: words, chars or bytes"});
    options_.add({.name = "out", .target = &out_, .placeholder = "FILE", .help = "the model file, needed"});
    add_unpacking_limit();
    add_key();
    add_common();
  }

  ExitCode run(Console&) override {
    if (out_.empty()) throw UsageError("import needs --out FILE, the model file to be written");
    const ImportOutcome made = import_arpa(file_.front(), symbols_, out_);
    if (json_)
      print_result(fmt::format("{{\"model\":\"{}\",\"symbols\":{}}}\n", made.model, made.symbols));
    else
      print_result(fmt::format("{}: {} over {} {}\n", out_, made.model, made.symbols, symbols_));
    return ExitCode::success;
  }

 private:
  std::vector<std::string> file_;
  std::string symbols_ = "words", out_;
};

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<Export>(); }
std::unique_ptr<Verb> make_import() { return std::make_unique<Import>(); }

}  // namespace unfold
