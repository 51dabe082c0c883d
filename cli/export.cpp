#include <fmt/format.h>

#include <optional>

#include "app/train/setup/initial_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"
#include "interop/arpa/arpa_file.h"
#include "interop/c/export_c.h"
#include "interop/crf/crf_formats.h"
#include "interop/network_weights.h"
#include "interop/onnx/export_onnx.h"

namespace unfold {
namespace {

std::vector<std::string> names_in_list(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

class Export final : public Verb {
 public:
  Export()
      : Verb(CommandOptions(
            "export", "writes a model in the format of other programs",
            {"unfold export run --to c --out model.c", "unfold export run --to safetensors --out model.safetensors"})) {
    options_.add(model_input(model_));
    options_.add(
        {.name = "to",
         .target = &to_,
         .placeholder = "FORMAT",
         .help = "arpa: n-grams for SRILM and KenLM; c: a network as a C99 file with bit-identical results; "
                 "safetensors: rnn, lstm, gru with PyTorch's names; rtneural: lstm, gru as RTNeural's JSON; onnx: a "
                 "network as an ONNX graph; crfsuite: a crf in the format of `crfsuite dump`; crfpp: a crf as a CRF++ "
                 "text model; network: an hmm as a linear-gnn, in an Unfold model file; hmm: a linear-gnn as an hmm",
         .choices = {"arpa", "c", "safetensors", "rtneural", "onnx", "crfsuite", "crfpp", "network", "hmm"},
         .common = true});
    options_.add({.name = "columns",
                  .target = &columns_,
                  .placeholder = "NAME,...",
                  .help = "crfpp: names of the data columns, if they are not numbers",
                  .group = OptionGroup::data});
    options_.add({.name = "name",
                  .target = &name_,
                  .placeholder = "NAME",
                  .help = "c: prefix of the names in the file (default model)",
                  .common = true});
    options_.add({.name = "out",
                  .target = &out_,
                  .placeholder = "FILE",
                  .help = "output file; - is standard output",
                  .letter = "o",
                  .file = FileUse::printed,
                  .group = OptionGroup::output,
                  .common = true});
    add_key();
    add_common();
  }

  ExitCode run(Console&) override {
    if (!to_)
      throw UsageError(
          "export needs --to: arpa for n-grams, hmm or network for hidden Markov models, crfsuite or crfpp "
          "for a crf, and c, safetensors, onnx or rtneural for networks");
    if (json_ && out_ == "-") throw UsageError("--json and --out - both use standard output; name a file");
    if (name_ && to_ != "c") throw UsageError("--name requires --to c");
    if (!columns_.empty() && to_ != "crfpp") throw UsageError("--columns requires --to crfpp");
    ResultFile file(out_);
    const auto write = [&](std::string_view text) { file.write(text); };
    if (to_ == "c")
      export_c({.model = model_.front(), .name = name_.value_or("model")}, write);
    else if (to_ == "safetensors")
      export_torch(model_.front(), write);
    else if (to_ == "onnx")
      export_onnx(model_.front(), write);
    else if (to_ == "crfsuite" || to_ == "crfpp")
      export_crf({.model = model_.front(), .crfpp = to_ == "crfpp", .columns = names_in_list(columns_)}, write);
    else if (to_ == "network")
      export_hmm_as_network(model_.front(), write);
    else if (to_ == "hmm")
      export_network_as_hmm(model_.front(), write);
    else if (to_ == "rtneural")
      export_rtneural(model_.front(), write);
    else
      export_arpa(model_.front(), write);
    file.commit();
    if (json_) print_result(fmt::format("{{\"format\":\"{}\"}}\n", *to_));
    return ExitCode::success;
  }

 private:
  std::vector<std::string> model_;
  std::string out_ = "-", columns_;
  std::optional<std::string> to_, name_;
};

class Import final : public Verb {
 public:
  Import()
      : Verb(CommandOptions(
            "import", "imports a model from another program: n-grams, CRFs, PyTorch or Keras layers",
            {"unfold import model.arpa --out model.safetensors", "unfold import model.txt --out model.safetensors",
             "unfold import weights.safetensors --alphabet symbols.json --out model.safetensors"})) {
    options_.add_inputs({.name = "file",
                         .target = &file_,
                         .placeholder = "FILE",
                         .help = "an ARPA file (also .gz, .xz, .zst), safetensors from PyTorch, .npz from Keras, the "
                                 "output of `crfsuite dump`, or a CRF++ text model",
                         .file = FileUse::data});
    options_.add({.name = "symbols",
                  .target = &symbols_,
                  .placeholder = "KIND",
                  .help = "ARPA: the unit of its tokens: words, chars or bytes",
                  .group = OptionGroup::data,
                  .common = true});
    options_.add({.name = "alphabet",
                  .target = &network_.alphabet,
                  .placeholder = "FILE",
                  .help = "layers: a JSON file with the symbols, for a model that predicts the next symbol",
                  .file = FileUse::data,
                  .group = OptionGroup::data});
    options_.add({.name = "like",
                  .target = &network_.like,
                  .placeholder = "MODEL",
                  .help = "layers: a run folder or model file for the same data, whose weights are replaced",
                  .file = FileUse::model});
    options_.add({.name = "begin",
                  .target = &network_.begin,
                  .placeholder = "SYMBOL",
                  .help = "layers: the start symbol that the model reads first"});
    options_.add({.name = "activation",
                  .target = &activation_,
                  .placeholder = "NAME",
                  .help = "activation function of an RNN: tanh or relu (default tanh)",
                  .choices = {"tanh", "relu"}});
    options_.add({.name = "label",
                  .target = &crf_.label,
                  .placeholder = "NAME",
                  .help = "CRFsuite, CRF++: name of the label field; required for CRFsuite",
                  .group = OptionGroup::data});
    options_.add({.name = "template",
                  .target = &crf_.templates,
                  .placeholder = "FILE",
                  .help = "CRFsuite: the templates, in CRF++ syntax, that produced attributes like U05:a/b",
                  .file = FileUse::data,
                  .group = OptionGroup::data});
    options_.add({.name = "columns",
                  .target = &columns_,
                  .placeholder = "NAME,...",
                  .help = "CRFsuite, CRF++: names of the template columns (default 1, 2, ...)",
                  .group = OptionGroup::data});
    options_.add({.name = "out",
                  .target = &out_,
                  .placeholder = "FILE",
                  .help = "the model file (required)",
                  .letter = "o",
                  .file = FileUse::written,
                  .group = OptionGroup::output,
                  .common = true});
    add_unpacking_limit();
    add_key();
    add_common();
  }

  ExitCode run(Console&) override {
    if (out_.empty()) throw UsageError("import needs --out FILE, the model file to write");
    const bool crf = is_crf_file(file_.front());
    if (!crf && (!crf_.label.empty() || !crf_.templates.empty() || !columns_.empty()))
      throw UsageError("--label, --template and --columns apply only to CRFsuite and CRF++, but " + file_.front() +
                       " is not a model from these programs");
    if (!crf && is_weight_file(file_.front())) return import_layers();
    for (const std::string* option : {&network_.alphabet, &network_.like, &network_.begin})
      if (!option->empty() || activation_)
        throw UsageError("--alphabet, --like, --begin and --activation apply only to PyTorch and Keras layers, but " +
                         file_.front() + " is not a weight file");
    if (crf) return import_features();
    const ImportOutcome made = import_arpa(file_.front(), symbols_.value_or("words"), out_);
    if (json_)
      print_result(fmt::format("{{\"model\":\"{}\",\"symbols\":{}}}\n", made.model, made.symbols));
    else
      print_result(fmt::format("{}: {} over {} {}\n", out_, made.model, made.symbols, symbols_.value_or("words")));
    return ExitCode::success;
  }

 private:
  ExitCode import_features() {
    if (symbols_) throw UsageError("--symbols applies only to ARPA files; leave it out");
    crf_.file = file_.front();
    crf_.out = out_;
    crf_.columns = names_in_list(columns_);
    const ImportCrfOutcome made = import_crf(crf_);
    if (json_)
      print_result(fmt::format("{{\"model\":\"crf\",\"labels\":{},\"features\":{}}}\n", made.labels, made.features));
    else
      print_result(fmt::format("{}: crf of {} labels, {} features\n", out_, made.labels, made.features));
    return ExitCode::success;
  }

  ExitCode import_layers() {
    if (symbols_) throw UsageError("--symbols applies only to ARPA files; for layers, use --alphabet FILE");
    network_.file = file_.front();
    network_.out = out_;
    network_.activation = activation_.value_or("");
    const ImportNetworkOutcome made = import_network(network_);
    if (json_) {
      print_result(fmt::format(
          "{{\"model\":\"{}\",\"outputs\":{},\"positions\":{},\"difference\":{:.3g}{}}}\n", made.model, made.outputs,
          made.positions, made.difference,
          made.pair_difference < 0 ? "" : fmt::format(",\"pair_difference\":{:.3g}", made.pair_difference)));
      return ExitCode::success;
    }
    print_result(fmt::format("{}: {}, which predicts {} {}\n", out_, made.model, made.outputs,
                             made.of_symbols ? "symbols" : "numbers"));
    print_result(fmt::format("tested over {} positions: {} differ by at most {:.1e} from the equations{}\n",
                             made.positions, made.of_symbols ? "log-probabilities" : "numbers", made.difference,
                             made.pair_difference < 0
                                 ? ""
                                 : fmt::format(", and by {:.1e} from the supplied outputs", made.pair_difference)));
    return ExitCode::success;
  }

  std::vector<std::string> file_;
  std::optional<std::string> symbols_, activation_;
  std::string out_, columns_;
  ImportNetworkRequest network_;
  ImportCrfRequest crf_;
};

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<Export>(); }
std::unique_ptr<Verb> make_import() { return std::make_unique<Import>(); }

}  // namespace unfold
