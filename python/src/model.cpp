#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/evaluate/evaluate.h"
#include "app/evaluate/reading.h"
#include "app/fasta/fasta_data.h"
#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_score.h"
#include "app/predict/imputation.h"
#include "app/predict/predict.h"
#include "app/predict/predicted_columns.h"
#include "app/sample/density_sampling.h"
#include "app/score/text_score.h"
#include "app/settings/train_settings.h"
#include "arguments.h"
#include "base/options/integer_range.h"
#include "interruption.h"
#include "memory_data.h"
#include "model/finite.h"
#include "model/registry/run_folder.h"
#include "parallel_streams.h"
#include "states.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "unfold/data/text/split.h"
#include "unfold/model/decoding/completion.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/registry/registry.h"
#include "work.h"

namespace unfold::python {
namespace {

/// Returns a text as a Python object: bytes if the symbols are bytes, otherwise str.
nb::object to_text(const Alphabet& alphabet, const std::string& text) {
  if (alphabet.kind() == SymbolKind::bytes) return nb::bytes(text.data(), text.size());
  return nb::str(text.data(), text.size());
}

/// The C++ side of unfold.Model: a model and the name of the file it was loaded from.
class PythonModel {
 public:
  PythonModel(std::shared_ptr<const Model> model, std::string path)
      : model_(std::move(model)), path_(std::move(path)) {}
  static PythonModel load(nb::handle given) {
    const std::string path = path_of(given, "load: path");
    std::shared_ptr<const Model> model;
    with_os_errors({path}, [&] {
      const nb::gil_scoped_release unlocked;
      model = load_model_file(model_file(path));
    });
    return {std::move(model), path};
  }
  static PythonModel from_bytes(const nb::bytes& given) {
    std::string bytes(given.c_str(), given.size());
    const nb::gil_scoped_release unlocked;
    return {model_from_bytes(std::move(bytes), "the model"), ""};
  }

  const Model& model() const { return *model_; }
  /// Throws UsageError for models of data with named fields.
  const SymbolModel& symbols(const char* who) const { return model_->need<SymbolModel>(who); }
  std::shared_ptr<const SymbolModel> shared_symbols(const char* who) const { return {model_, &symbols(who)}; }
  std::string name() const { return path_.empty() ? "the model" : path_; }

 private:
  std::shared_ptr<const Model> model_;
  std::string path_;
};

struct ScoredInMemory {
  Evaluation evaluation;
  std::vector<float> nats;
  Index bytes = 0;
};

/// Returns (number, nats) of the characters or words that are not in the alphabet and that no symbol replaces, as the
/// command counts them with --unknown surprise.
nb::tuple unknown_symbols(const PythonModel& self, nb::handle given) {
  const Alphabet& alphabet = self.symbols("score").alphabet();
  const std::string text = text_of(given);
  Index count = 0, characters = 0;
  {
    const nb::gil_scoped_release unlocked;
    (void)alphabet.encode(text, UnknownPolicy::skip);  // throws DataError for invalid UTF-8
    for (Index position = 0; position < static_cast<Index>(text.size());) {
      const Alphabet::Token token = alphabet.next_token(text, position);
      if (token.text.empty()) break;
      if (token.known || token.symbol != kNoSymbol) continue;
      ++count;
      characters += alphabet.kind() == SymbolKind::bytes
                        ? 1
                        : std::ranges::count_if(token.text, [](char c) { return (c & 0xC0) != 0x80; });
    }
  }
  return nb::make_tuple(count, static_cast<double>(characters) * kUnknownNats);
}

/// Reads a text like a file. A model of FASTA data also reads a sequence without a header.
Corpus corpus_of(const SymbolModel& model, std::string text, UnknownPolicy unknown) {
  std::vector<Input> inputs;
  std::optional<std::string> letters;
  if (is_fasta(model)) letters = letters_without_header(text, model.reads_lines());
  inputs.push_back(Input::from_bytes("the text", letters ? *std::move(letters) : std::move(text)));
  if (letters)
    return Corpus::load(std::move(inputs), model.alphabet(), {.unknown = unknown, .lines = model.reads_lines()});
  return load_for(model, std::move(inputs), unknown);
}

/// Scores a text exactly as the command scores a file with the same content.
ScoredInMemory score_text(const PythonModel& self, const SymbolModel& model, std::string text,
                          const std::string& unknown, const ReadingSettings& reading, Index threads) {
  PythonReporter reporter{nb::none()};
  ScoredInMemory result;
  reporter.run([&] {
    const Corpus corpus = corpus_of(model, std::move(text), parse_unknown_policy(unknown));
    const Split part = whole_corpus(corpus, "all");
    result.nats.assign(at(part.symbols()), std::numeric_limits<float>::quiet_NaN());
    SurprisalCheck check;
    result.evaluation = evaluate(model, corpus, part, reading, thread_count(threads), [&](Index place, float nats) {
      reporter.throw_if_stopped();
      check.see(place, nats);
      result.nats[at(place)] = nats;
    });
    check.require(model, self.name(), false);
    result.bytes = part.bytes(corpus);
  });
  return result;
}

Numbers score(const PythonModel& self, nb::handle text, const std::string& unknown, Index segments, Index warmup,
              Index threads) {
  return owned(
      score_text(self, self.symbols("score"), text_of(text), unknown, {.segments = segments, .warmup = warmup}, threads)
          .nats);
}

nb::object eval(const PythonModel& self, nb::handle data, nb::handle text, const std::optional<std::string>& split,
                const std::optional<std::string>& part, const std::string& unknown, Index segments, Index threads,
                nb::object progress) {
  if (data.is_none() == text.is_none()) throw UsageError("eval needs exactly one of data= (files) and text=");
  if (!text.is_none()) {
    if (split || part) throw UsageError("split and part apply to files only; leave them out with text=");
    const ScoredInMemory scored =
        score_text(self, self.symbols("eval"), text_of(text), unknown, {.segments = segments}, threads);
    return to_python(to_json(Figures{.nats_per_symbol = scored.evaluation.nats_per_symbol(),
                                     .symbols = scored.evaluation.predicted,
                                     .bytes = scored.bytes}));
  }
  if (nb::isinstance<nb::bytes>(data))
    return eval(self, nb::none(), data, split, part, unknown, segments, threads, std::move(progress));
  const DataArgument source = data_of(data, "eval: data");
  const auto* symbols = self.model().as<SymbolModel>();
  if (symbols != nullptr && !source.memory.empty())
    throw UsageError("eval: text models are evaluated on files or text=");
  PythonReporter reporter{std::move(progress)};
  nlohmann::ordered_json result;
  const auto evaluate_data = [&] {
    const MemoryFiles in_memory(source.memory);
    if (symbols == nullptr)
      result = to_json(evaluate_on_fields({.model = self.name(),
                                           .data = source.files,
                                           .split = split,
                                           .part = part,
                                           .unknown = unknown,
                                           .threads = threads,
                                           .reporter = &reporter,
                                           .loaded = &self.model()}));
    else
      result = to_json(evaluate({.model = self.name(),
                                 .data = source.files,
                                 .split = split,
                                 .part = part,
                                 .unknown = unknown,
                                 .reading = {.segments = segments},
                                 .threads = threads,
                                 .loaded = symbols},
                                reporter)
                           .figures);
  };
  with_os_errors(source.files, [&] { run_interruptibly(reporter, evaluate_data); });
  return to_python(result);
}

nb::object sample(const PythonModel& self, Index length, nb::handle prime, std::optional<Index> count,
                  double temperature, Index top_k, double top_p, double min_p, nb::handle stop, std::uint64_t seed) {
  const SymbolModel& model = self.symbols("sample");
  SamplingOptions options{.length = length,
                          .temperature = temperature,
                          .top_k = top_k,
                          .top_p = top_p,
                          .min_p = min_p,
                          .stop = text_of(stop),
                          .seed = seed};
  validate(options);
  constexpr Index kMostTexts = 1'000'000'000;
  require_in_range("count", count.value_or(1), 1, kMostTexts);
  options.prime = model.alphabet().encode(text_of(prime));
  const Symbol last = options.prime.empty() ? kNoSymbol : options.prime.back();
  std::vector<std::string> texts;
  PythonReporter reporter{nb::none()};
  reporter.run([&] {
    const std::unique_ptr<Predictor> fresh = finite_predictor(model, self.name());
    for (options.number = 0; options.number < count.value_or(1); ++options.number) {
      std::vector<Symbol> drawn;
      sample(*fresh->clone(), model.alphabet(), options, [&](Symbol symbol) {
        reporter.throw_if_stopped();
        drawn.push_back(symbol);
      });
      texts.push_back(model.alphabet().decode(drawn, last));
    }
  });
  if (!count) return to_text(model.alphabet(), texts.front());
  nb::list list;
  for (const std::string& text : texts) list.append(to_text(model.alphabet(), text));
  return list;
}

nb::list complete(const PythonModel& self, nb::handle prime, Index beam, Index length, Index count,
                  double normalization, nb::handle stop) {
  const SymbolModel& model = self.symbols("complete");
  BeamOptions options{.length = length,
                      .beam = beam,
                      .count = count,
                      .normalization = normalization,
                      .stop = text_of(stop),
                      .prime = model.alphabet().encode(text_of(prime))};
  validate(options);
  std::vector<Completion> found;
  PythonReporter reporter{nb::none()};
  options.before_length = [&] { reporter.throw_if_stopped(); };
  reporter.run([&] { found = complete(*finite_predictor(model, self.name()), model.alphabet(), options); });
  const nb::object made = nb::module_::import_("unfold.results").attr("Completion");
  const Symbol last = options.prime.empty() ? kNoSymbol : options.prime.back();
  nb::list list;
  for (const Completion& one : found)
    list.append(made(to_text(model.alphabet(), model.alphabet().decode(one.symbols, last)), one.log_probability,
                     owned(one.log_probabilities),
                     owned(std::vector<std::int32_t>(one.symbols.begin(), one.symbols.end())), one.stopped));
  return list;
}

/// Converts JSON lines to dictionaries.
nb::list rows_of(const std::string& text) {
  nb::list list;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) list.append(to_python(nlohmann::ordered_json::parse(line)));
  return list;
}

nb::list predict(const PythonModel& self, nb::handle data, Index ahead, Index samples, std::uint64_t seed,
                 bool probabilities, Index best, Index beam, const std::vector<std::string>& given, Index threads,
                 nb::object progress) {
  DataArgument source = data_of(data, "predict: data");
  PredictRequest request{.model = self.name(),
                         .data = std::move(source.files),
                         .format = TableFormat::jsonl,
                         .probabilities = probabilities,
                         .ahead = ahead,
                         .samples = samples,
                         .seed = seed,
                         .threads = threads,
                         .beam = beam,
                         .best = best,
                         .given = given,
                         .loaded = &self.model()};
  std::string text;
  PythonReporter reporter{std::move(progress)};
  with_os_errors(request.data, [&] {
    run_interruptibly(reporter, [&] {
      const MemoryFiles in_memory(source.memory);
      predict(
          request,
          [&](std::string_view piece) {
            reporter.throw_if_stopped();
            text += piece;
          },
          reporter);
    });
  });
  return rows_of(text);
}

/// Returns {column: (once, values)} for the predictions on data, as arrays of numbers and lists of str.
nb::dict columns_predicted(const PythonModel& self, nb::handle data, bool probabilities, Index threads) {
  DataArgument source = data_of(data, "predict: data");
  const PredictRequest request{.model = self.name(),
                               .data = source.files,
                               .probabilities = probabilities,
                               .threads = threads,
                               .loaded = &self.model()};
  std::vector<PredictedColumn> columns;
  PythonReporter reporter{nb::none()};
  with_os_errors(source.files, [&] {
    run_interruptibly(reporter, [&] {
      const MemoryFiles in_memory(source.memory);
      columns = predict_columns(request, reporter);
    });
  });
  nb::dict result;
  for (PredictedColumn& column : columns) {
    nb::object values;
    if (column.texts.empty()) {
      values = nb::cast(owned(std::move(column.numbers)));
    } else {
      nb::list texts;
      for (const std::string& text : column.texts) texts.append(nb::str(text.data(), text.size()));
      values = std::move(texts);
    }
    result[nb::str(column.name.data(), column.name.size())] = nb::make_tuple(column.once, values);
  }
  return result;
}

/// Returns the rows of `unfold score --json`: one dictionary per example or per position.
nb::object score_examples(const PythonModel& self, nb::handle data, const std::string& by, const std::string& unknown,
                          Index threads) {
  if (by != "line" && by != "symbol")
    throw UsageError("by must be \"line\" (one row per example) or \"symbol\" (one row per position), not \"" + by +
                     "\"");
  const DataArgument source = data_of(data, "score_examples: data");
  if (source.files.size() != 1) throw UsageError("score_examples: data must be one file");
  std::string text;
  PythonReporter reporter{nb::none()};
  const auto score_data = [&] {
    const MemoryFiles in_memory(source.memory);
    score_fields({.model = self.name(),
                  .data = source.files.front(),
                  .by_example = by == "line",
                  .json = true,
                  .unknown = unknown,
                  .threads = threads,
                  .reporter = &reporter,
                  .loaded = &self.model()},
                 [&](std::string_view piece) { text += piece; });
  };
  with_os_errors(source.files, [&] { run_interruptibly(reporter, score_data); });
  return to_python(nlohmann::ordered_json::parse(text).at("scores"));
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> sample_rows(const PythonModel& self, Index count,
                                                        const std::vector<std::string>& given, std::uint64_t seed) {
  VectorTable table;
  PythonReporter reporter{nb::none()};
  run_interruptibly(reporter, [&] {
    table =
        sample_vectors({.model = self.name(), .given = given, .count = count, .seed = seed, .loaded = &self.model()});
  });
  auto* numbers = new std::vector<double>();
  nb::capsule owner(numbers, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  for (const std::vector<double>& row : table.rows) numbers->insert(numbers->end(), row.begin(), row.end());
  return {numbers->data(), {table.rows.size(), table.names.size()}, owner};
}

/// Returns table rows with missing values filled in, as dictionaries.
nb::list fill(const PythonModel& self, nb::handle data, const std::string& how, Index samples, std::uint64_t seed) {
  const DataArgument source = data_of(data, "fill: data");
  std::string text;
  PythonReporter reporter{nb::none()};
  const auto fill_data = [&] {
    const MemoryFiles in_memory(source.memory);
    impute_missing({.model = self.name(),
                    .data = source.files,
                    .how = parse_filling(how),
                    .draws = samples,
                    .seed = seed,
                    .jsonl = true,
                    .loaded = &self.model()},
                   [&](std::string_view piece) {
                     reporter.throw_if_stopped();
                     text += piece;
                   });
  };
  with_os_errors(source.files, [&] { run_interruptibly(reporter, fill_data); });
  return rows_of(text);
}

Symbols encode(const PythonModel& self, nb::handle text, const std::string& unknown) {
  const Alphabet& alphabet = self.symbols("encode").alphabet();
  const std::string bytes = text_of(text);
  std::vector<std::int32_t> numbers;
  {
    const nb::gil_scoped_release unlocked;
    const std::vector<Symbol> symbols = alphabet.encode(bytes, parse_unknown_policy(unknown));
    numbers.assign(symbols.begin(), symbols.end());
  }
  return owned(std::move(numbers));
}

nb::object decode(const PythonModel& self, nb::handle given) {
  const Alphabet& alphabet = self.symbols("decode").alphabet();
  const std::vector<Symbol> symbols = symbol_numbers(alphabet, given);
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    text = alphabet.decode(symbols);
  }
  return to_text(alphabet, text);
}

nb::list alphabet(const PythonModel& self) {
  const Alphabet& alphabet = self.symbols("alphabet").alphabet();
  nb::list texts;
  for (Symbol x = 0; x < alphabet.size(); ++x) texts.append(to_text(alphabet, std::string(alphabet.text(x))));
  return texts;
}

nb::bytes bytes_of(const PythonModel& self) {
  std::string bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = self.model().bytes();
  }
  return nb::bytes(bytes.data(), bytes.size());
}

void save(const PythonModel& self, nb::handle given) {
  const std::string path = path_of(given, "save: path");
  const nb::gil_scoped_release unlocked;
  self.model().save(path);
}

}  // namespace

void add_models(nb::module_& module) {
  nb::class_<PythonModel>(module, "Model", "A sequence model loaded from a run folder or a model file.")
      .def_static("load", &PythonModel::load, nb::arg("path").none(), "Load a model from a run folder or model file.")
      .def_static("from_bytes", &PythonModel::from_bytes, nb::arg("bytes"),
                  "Load a model from the bytes of a model file.")
      .def("to_bytes", &bytes_of, "Return the bytes of the model file.")
      .def("save", &save, nb::arg("path").none(), "Write the model file atomically.")
      .def("__reduce__",
           [](const PythonModel& self) {
             return nb::make_tuple(nb::module_::import_("unfold").attr("_model_from_bytes"),
                                   nb::make_tuple(bytes_of(self)));
           })
      .def_prop_ro(
          "spec", [](const PythonModel& self) { return self.model().spec_text(); }, "\"lstm:64\".")
      .def_prop_ro("kind", [](const PythonModel& self) { return self.model().kind(); })
      .def_prop_ro("parameter_count", [](const PythonModel& self) { return self.model().parameter_count(); })
      .def_prop_ro(
          "card", [](const PythonModel& self) { return to_python(self.model().card()); },
          "The model card: data, training and history, as a dictionary.")
      .def_prop_ro("alphabet", &alphabet, "The texts of all symbols, by symbol index.")
      .def(
          "stream",
          [](const PythonModel& self) {
            auto model = self.shared_symbols("stream");
            auto predictor = model->predictor();
            return new Stream(std::move(model), std::move(predictor));
          },
          nb::rv_policy::take_ownership, "Return a new stream at the beginning of a sequence.")
      .def(
          "streams",
          [](const PythonModel& self, Index count, Index threads) {
            return new ParallelStreams(self.shared_symbols("streams"), count, thread_count(threads));
          },
          nb::rv_policy::take_ownership, nb::arg("count"), nb::kw_only(), nb::arg("threads") = 0,
          "Return `count` streams at the beginning of a sequence, which are read side by side.")
      .def("score", &score, nb::arg("text").none(), nb::kw_only(), nb::arg("unknown") = "error",
           nb::arg("segments") = 0, nb::arg("warmup") = EvaluateOptions().warmup, nb::arg("threads") = 0,
           "Return the surprisal of every symbol of a text in nats, as an array; NaN where nothing is predicted.")
      .def("_unknown_symbols", &unknown_symbols, nb::arg("text").none())
      .def("eval", &eval, nb::arg("data").none() = nb::none(), nb::kw_only(), nb::arg("text").none() = nb::none(),
           nb::arg("split").none() = nb::none(), nb::arg("part").none() = nb::none(), nb::arg("unknown") = "error",
           nb::arg("segments") = 0, nb::arg("threads") = 0, nb::arg("progress").none() = nb::none(),
           "Evaluate the model on files or a text. Returns bits per symbol and the other results of `unfold eval "
           "--json`.")
      .def("sample", &sample, nb::arg("length") = SamplingOptions().length, nb::kw_only(), nb::arg("prime").none() = "",
           nb::arg("count").none() = nb::none(), nb::arg("temperature") = 1.0, nb::arg("top_k") = 0,
           nb::arg("top_p") = 1.0, nb::arg("min_p") = 0.0, nb::arg("stop").none() = "", nb::arg("seed") = 1,
           "Draw a text from the model, or a list of texts if `count` is set. Equal to the output of `unfold sample`.")
      .def("complete", &complete, nb::arg("prime").none() = "", nb::kw_only(), nb::arg("beam") = BeamOptions().beam,
           nb::arg("length") = BeamOptions().length, nb::arg("count") = BeamOptions().count,
           nb::arg("normalization") = 1.0, nb::arg("stop").none() = "",
           "Return the most probable continuations of a text, best first.")
      .def("predict", &predict, nb::arg("data").none() = nb::make_tuple(), nb::kw_only(), nb::arg("ahead") = 0,
           nb::arg("samples") = 200, nb::arg("seed") = 1, nb::arg("probabilities") = false, nb::arg("best") = 1,
           nb::arg("beam") = 1, nb::arg("given") = std::vector<std::string>(), nb::arg("threads") = 0,
           nb::arg("progress").none() = nb::none(),
           "Predict files of data with fields. Returns one dictionary per example, with its fields and the "
           "predictions, as written by `unfold predict --format jsonl`.")
      .def("_predict_columns", &columns_predicted, nb::arg("data").none(), nb::arg("probabilities") = false,
           nb::arg("threads") = 0)
      .def("score_examples", &score_examples, nb::arg("data").none(), nb::kw_only(), nb::arg("by") = "line",
           nb::arg("unknown") = "error", nb::arg("threads") = 0,
           "Return the surprisal of each example of a file of data with fields, or of each position with "
           "by=\"symbol\", as dictionaries: the rows of `unfold score --json`.")
      .def("sample_rows", &sample_rows, nb::arg("count") = 1, nb::kw_only(),
           nb::arg("given") = std::vector<std::string>(), nb::arg("seed") = 1,
           "Draw vectors from a density model, as an array [count x columns]; given=[\"NAME=NUMBER\"]: numbers that "
           "are known.")
      .def("fill", &fill, nb::arg("data").none(), nb::kw_only(), nb::arg("how") = "mean", nb::arg("samples") = 200,
           nb::arg("seed") = 1,
           "Fill missing values in tables. Returns the rows as dictionaries; missing values are replaced by the "
           "conditional mean, best or sample, and named under \"filled\".")
      .def(
          "states",
          [](const PythonModel& self, nb::handle data, nb::handle text, bool gates) {
            return states_of(self.model(), self.name(), data, text, gates);
          },
          nb::arg("data").none() = nb::none(), nb::kw_only(), nb::arg("text").none() = nb::none(),
          nb::arg("gates") = false,
          "Return the outputs of the layers of a network, {\"layer1\": [positions, units], ...}: for a text, after "
          "each "
          "symbol; for data with fields, as a list with one dictionary per example. gates=True adds the gates. For a "
          "text and a hidden Markov model: {\"state\": [positions], \"probabilities\": [positions, states]}.")
      .def(
          "parameters",
          [](const PythonModel& self) {
            return nb::module_::import_("unfold._tensors").attr("arrays")(bytes_of(self));
          },
          "Return the parameters by name, as read-only arrays.")
      .def("_repr_html_", [](nb::handle self) { return nb::module_::import_("unfold._tensors").attr("table")(self); })
      .def("encode", &encode, nb::arg("text").none(), nb::kw_only(), nb::arg("unknown") = "error",
           "Encode a text as symbol indices.")
      .def("decode", &decode, nb::arg("symbols").none(), "Decode symbol indices to a text.")
      .def("__repr__", [](const PythonModel& self) {
        return "<unfold.Model " + self.model().spec_text() + " from " + self.name() + ">";
      });
}

}  // namespace unfold::python
