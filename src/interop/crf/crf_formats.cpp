#include "interop/crf/crf_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/examples/templates.h"
#include "model/network/linear.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/sparse_lookup.h"
#include "unfold/loss/registry.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr const char* kFeatureWeights = "output/features";
constexpr Index kMostColumns = 100;  // limit for columns without names, which are numbered

template <class T>
std::vector<double> own_numbers(const Parameters<T>& parameters, const std::string& name) {
  for (const ParameterInfo& p : parameters.info())
    if (p.name == name) return {parameters.flat().begin() + p.offset, parameters.flat().begin() + p.offset + p.size()};
  return {};
}

[[noreturn]] void refuse_model(const std::string& name, const Model& model, const std::string& why) {
  throw UsageError(fmt::format("{}: {} cannot be exported to CRFsuite or CRF++: {}", name, model.spec_text(), why));
}

/// Converts a CRF model to the common representation. Throws a UsageError that names the part that the other formats do
/// not support.
template <class T>
CrfWeights texts_of(const std::string& name, const NetworkModel<T>& model) {
  const Network<T>& network = model.network();
  if (!is_linear(model.spec())) refuse_model(name, model, "it has layers; --model crf has none");
  if (network.heads.size() != 1 || network.heads.front().loss->name() != "crf")
    refuse_model(name, model, "it does not predict exactly one field with the loss crf");
  if (network.heads.front().loss->parameter_indices().size() != 3)
    refuse_model(name, model, "it has weights for segment lengths, which these programs do not support");
  const std::shared_ptr<const Listing>& listing = model.layout().heads.front().listing;
  const std::vector<std::string> reads = listed_reads(model.data(), model.layout().reads);
  if (listing == nullptr || reads.size() != model.layout().reads.size()) refuse_model(name, model, "it reads numbers");
  const Alphabet& labels = *model.data().field(network.heads.front().field).alphabet;
  std::vector<std::string> names;
  names.reserve(at(labels.size()));
  for (Symbol y = 0; y < labels.size(); ++y) names.emplace_back(labels.text(y));
  CrfWeights crf(std::move(names));
  const std::vector<double> weights = own_numbers(model.parameters(), kFeatureWeights);
  Index first = 0;
  for (const std::string& read : reads) {
    const Alphabet& alphabet = *model.data().field(parse_read(read).field).alphabet;
    if (alphabet.kind() == SymbolKind::hashed)
      refuse_model(name, model, "its feature values are hashed, so the original strings are not stored");
    for (Symbol x = 0; x < alphabet.size(); ++x)
      for (Index pair = listing->begin[at(first + x)]; pair < listing->begin[at(first + x + 1)]; ++pair)
        crf.add(read, std::string(alphabet.text(x)), listing->outputs_of[at(pair)], weights[at(pair)]);
    first += alphabet.size();
  }
  crf.transitions = own_numbers(model.parameters(), "output/transitions");
  crf.start = own_numbers(model.parameters(), "output/start");
  crf.stop = own_numbers(model.parameters(), "output/stop");
  return crf;
}

std::shared_ptr<const Alphabet> alphabet_of(const std::vector<std::string>& texts) {
  std::vector<std::string> all = {std::string(kUnknownWord)};
  std::ranges::copy_if(texts, std::back_inserter(all), [](const std::string& text) { return text != kUnknownWord; });
  return std::make_shared<const Alphabet>(SymbolKind::entries, std::move(all));
}

/// Builds a model from the common representation of a CRF; sets `features` to the number of weights.
std::unique_ptr<NetworkModel<float>> model_of(const CrfWeights& crf, const std::string& label, Index& features) {
  DataSpecification data{.source = "columns", .fields = {}};
  NetworkLayout layout;
  const auto n = static_cast<Index>(crf.labels.size());
  const std::string loss = crf.has_transition_features() ? "crf:steps=read" : "crf";
  Listing listing{.alphabets = {}, .outputs = choose_loss(loss).signal_size(n), .begin = {0}, .outputs_of = {}};
  std::vector<float> weights;
  std::string read_names;
  for (const CrfWeights::Read& read : crf.reads) {
    if (read.name == label)
      throw UsageError(fmt::format(
          "{} is both a feature column and the label column; choose a different name for the labels (--label NAME)",
          label));
    const auto alphabet = alphabet_of(read.texts);
    data.fields.push_back({.name = read.name, .size = alphabet->size(), .alphabet = alphabet});
    layout.reads.push_back(read.name);
    read_names += (read_names.empty() ? "" : ",") + read.name;
    listing.alphabets.push_back(alphabet->size());
    for (Symbol x = 0; x < alphabet->size(); ++x) {
      const auto found = read.weights.find(alphabet->text(x));
      if (found != read.weights.end() && x != alphabet->unknown())
        for (const auto& [output, weight] : found->second) {
          listing.outputs_of.push_back(static_cast<std::int32_t>(output));
          weights.push_back(static_cast<float>(weight));
        }
      listing.begin.push_back(static_cast<std::int32_t>(listing.outputs_of.size()));
    }
  }
  const auto labels = std::make_shared<const Alphabet>(SymbolKind::entries, crf.labels);
  data.fields.push_back({.name = label, .size = labels->size(), .alphabet = labels});
  layout.heads = {{.field = label, .loss = loss, .listing = std::make_shared<const Listing>(std::move(listing))}};
  features = static_cast<Index>(weights.size());
  auto model = std::make_unique<NetworkModel<float>>("crf", data, layout);
  const auto put = [&](const std::string& name, const auto& values) {
    const Matrix<float> into = model->parameters().at(name);
    for (std::size_t i = 0; i < values.size(); ++i) into.data[i] = static_cast<float>(values[i]);
  };
  put(kFeatureWeights, weights);
  put("output/transitions", crf.transitions);
  put("output/start", crf.start);
  put("output/stop", crf.stop);
  model->configuration() = {{"model", "crf"}, {"read", read_names}, {"predict", label + "=" + loss}};
  return model;
}

std::string first_line_of(const Input& input) {
  const std::string_view bytes = input.bytes();
  return std::string(bytes.substr(0, std::min(bytes.find('\n'), bytes.size())));
}

bool is_crfsuite(const std::string& line) { return line.starts_with("FILEHEADER"); }
bool is_crfpp(const std::string& line) { return line.starts_with("version:"); }

}  // namespace

CrfWeights::CrfWeights(std::vector<std::string> of)
    : labels(std::move(of)), transitions(labels.size() * labels.size()), start(labels.size()), stop(labels.size()) {}

CrfWeights::Read& CrfWeights::read(const std::string& name) {
  const auto found = std::ranges::find(reads, name, &Read::name);
  if (found != reads.end()) return *found;
  return reads.emplace_back(Read{.name = name, .texts = {}, .weights = {}});
}

void CrfWeights::add(const std::string& name, const std::string& text, Index output, double weight) {
  Read& of = read(name);
  const auto [found, fresh] = of.weights.try_emplace(text);
  if (fresh) of.texts.push_back(text);
  found->second[output] += weight;
}

bool CrfWeights::has_transition_features() const {
  const auto n = static_cast<Index>(labels.size());
  return std::ranges::any_of(reads, [&](const Read& read) {
    return std::ranges::any_of(read.weights, [&](const auto& text) { return text.second.rbegin()->first >= n; });
  });
}

std::vector<std::vector<std::string>> cuts(std::string_view text, char separator, std::size_t parts) {
  if (parts == 1) return {{std::string(text)}};
  std::vector<std::vector<std::string>> result;
  for (std::size_t place = text.find(separator); place != std::string_view::npos;
       place = text.find(separator, place + 1))
    for (std::vector<std::string>& rest : cuts(text.substr(place + 1), separator, parts - 1)) {
      rest.insert(rest.begin(), std::string(text.substr(0, place)));
      result.push_back(std::move(rest));
    }
  return result;
}

std::vector<std::string> numbered_columns(Index count) {
  std::vector<std::string> names;
  for (Index i = 1; i <= count; ++i) names.push_back(std::to_string(i));
  return names;
}

std::map<std::string, std::string, std::less<>> named_templates(const std::string& file,
                                                                const std::vector<std::string>& columns) {
  const Input input = Input::open(file);
  std::map<std::string, std::string, std::less<>> result;
  std::string_view rest = input.bytes();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
    if (!line.starts_with('U')) continue;
    const TemplateFile one = read_templates(Input::from_bytes(file, line), columns);
    result[line.substr(0, line.find(':'))] = one.reads.front();
  }
  return result;
}

void export_crf(const ExportCrfRequest& request, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(request.model));
  const auto* single = loaded->as<NetworkModel<float>>();
  const auto* exact = loaded->as<NetworkModel<double>>();
  if (single == nullptr && exact == nullptr)
    refuse_model(request.model, *loaded, "it is not a model of data in columns, such as --model crf");
  const CrfWeights crf = single != nullptr ? texts_of(request.model, *single) : texts_of(request.model, *exact);
  if (!request.crfpp && crf.has_transition_features())
    refuse_model(
        request.model, *loaded,
        "the model has transition weights that depend on features; CRFsuite does not support them, CRF++ does");
  if (request.crfpp)
    write_crfpp(crf, request.columns, write);
  else
    write_crfsuite(crf, write);
}

bool is_crf_file(const std::string& file) {
  const std::string line = first_line_of(Input::open(file));
  return is_crfsuite(line) || is_crfpp(line);
}

ImportCrfOutcome import_crf(const ImportCrfRequest& request) {
  const Input input = Input::open(request.file);
  const bool crfpp = is_crfpp(first_line_of(input));
  if (crfpp && !request.templates.empty())
    throw UsageError("--template applies only to CRFsuite; a CRF++ model contains its templates");
  const std::vector<std::string> columns = request.columns.empty() ? numbered_columns(kMostColumns) : request.columns;
  CrfWeights crf({});
  std::string label = request.label;
  if (crfpp) {
    crf = read_crfpp(input, columns);
    if (label.empty()) {  // the label column follows the feature columns
      if (at(crf.columns) >= columns.size())
        throw UsageError(
            fmt::format("--columns names {} columns, but the model reads {}: name the label column with --label NAME",
                        columns.size(), crf.columns));
      label = columns[at(crf.columns)];
    }
  } else {
    if (label.empty())
      throw UsageError("a CRFsuite model does not contain the name of the label column; use --label NAME");
    crf = read_crfsuite(input, request.templates.empty() ? std::map<std::string, std::string, std::less<>>()
                                                         : named_templates(request.templates, columns));
  }
  ImportCrfOutcome outcome{.labels = static_cast<Index>(crf.labels.size())};
  model_of(crf, label, outcome.features)->save(request.out);
  return outcome;
}

}  // namespace unfold
