#include "model/adaptive/learning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "model/context_mixing/context_mixing.h"
#include "model/context_mixing/mixture.h"
#include "model/context_mixing/nucleotide_mixing.h"
#include "model/ctw/ctw.h"
#include "model/fitted_spec.h"
#include "model/network/online_predictor.h"
#include "model/ppm/packed_ppm.h"
#include "model/ppm/ppm.h"
#include "model/sequence_predictor.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

struct CmOptions {
  Index memory = 64;
  MixingContexts level = MixingContexts::full;
  Index row = 0;
};

template <class Visitor>
void describe(Visitor& v, CmOptions& o) {
  v("memory", o.memory, "MiB, or a size such as 64M", range(1, 16384));
  v("level", o.level, "number of context models; text, binary: those for such files",
    {{MixingContexts::full, "full"},
     {MixingContexts::binary, "binary"},
     {MixingContexts::text, "text"},
     {MixingContexts::few, "fast"}});
  v("row", o.row, "bytes per record or per row of a bitmap, for contexts of the bytes above; 0: none", range(0, 65535));
}

struct DnaOptions {
  Index size = 22;
};

template <class Visitor>
void describe(Visitor& v, DnaOptions& o) {
  v("size", o.size, "binary logarithm of the counters of a long context",
    range(NucleotideMixing::kLeastSize, NucleotideMixing::kMostSize));
}

/// Returns the byte that represents each symbol in text models: its byte, its code point if that is at most 127, and
/// otherwise 128.
std::vector<std::uint8_t> looks(const Alphabet& alphabet) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(alphabet.size()));
  for (Symbol x = 0; x < alphabet.size(); ++x) bytes.push_back(static_cast<std::uint8_t>(alphabet.text(x).front()));
  return bytes;
}

/// Bytes of the parts whose size does not depend on the options.
constexpr double kSmall = 4 << 20;

/// Returns the memory of a network that learns: weights, gradients, optimizer state, and the initial weights.
double network_memory(const ModelSpec& spec, Index alphabet) {
  constexpr double kCopies = 8;
  Circuit circuit;
  build_model(spec, alphabet, circuit);
  double parameters = 0;
  for (const ParameterInfo& p : circuit.parameters())
    parameters += static_cast<double>(p.rows) * static_cast<double>(p.cols);
  return kCopies * sizeof(float) * parameters + kSmall;
}

struct LearnerEntry : Entry {
  std::string main;  ///< the option that a bare number sets
  std::unique_ptr<Predictor> (*make)(const AnyOptions&, const Alphabet&);
  double (*memory)(const AnyOptions&);  ///< approximate initial size in bytes
};

std::unique_ptr<Predictor> make_cm(const AnyOptions& options, const Alphabet& alphabet) {
  const auto& o = options.as<CmOptions>();
  return std::make_unique<ContextMixing>(
      alphabet.size(), ContextMixingOptions{.contexts = o.level, .memory = o.memory << 20, .row = o.row},
      looks(alphabet));
}

/// Returns the memory for the counters of all contexts and the table of matches.
double cm_memory(const AnyOptions& options) {
  return 1.15 * static_cast<double>(options.as<CmOptions>().memory << 20) + 2 * kSmall;
}

std::unique_ptr<Predictor> make_dna(const AnyOptions& options, const Alphabet& alphabet) {
  return std::make_unique<NucleotideMixing>(alphabet.size(), static_cast<int>(options.as<DnaOptions>().size));
}

/// Returns the memory of a `dna` model in bytes. Counters take 2 bytes each, with four times as many for order 12; the
/// tables for finding copies take 3 bytes per counter, and the short contexts take 11 MB.
double dna_memory(const AnyOptions& options) {
  return 19 * std::exp2(static_cast<double>(options.as<DnaOptions>().size)) + 5 * kSmall;
}

double small_memory(const AnyOptions&) { return kSmall; }

/// Creates a predictor that needs only the size of the alphabet and the options.
template <class Model, class Options>
std::unique_ptr<Predictor> make_plain(const AnyOptions& options, const Alphabet& alphabet) {
  return std::make_unique<Model>(alphabet.size(), options.as<Options>());
}

std::unique_ptr<Predictor> make_ppm(const AnyOptions& options, const Alphabet& alphabet) {
  const auto& o = options.as<PpmOptions>();
  if (o.memory == 0) return std::make_unique<PpmPredictor>(alphabet.size(), o);
  return std::make_unique<PackedPpm>(alphabet.size(), o.order, o.memory << 20);
}

double ppm_memory(const AnyOptions& options) {
  return static_cast<double>(options.as<PpmOptions>().memory << 20) + kSmall;
}

/// Returns the learners other than networks; their descriptions are in the registry of models.
const Registry<LearnerEntry>& learners() {
  static const Registry<LearnerEntry> list(
      "learner", {{{"cm", "", CmOptions()}, "memory", make_cm, cm_memory},
                  {{"dna", "", DnaOptions()}, "size", make_dna, dna_memory},
                  {{"ppm", "", PpmOptions()}, "order", make_ppm, ppm_memory},
                  {{"ctw", "", CtwOptions()}, "depth", make_plain<CtwPredictor, CtwOptions>, small_memory}});
  return list;
}

/// Converts `64M` and `1G` to MiB; anything else is returned unchanged and left to the number parser.
std::string in_mebibytes(const std::string& size) {
  const std::string_view digits = std::string_view(size).substr(0, size.find_last_not_of("kKmMgG") + 1);
  Index number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (size.size() != digits.size() + 1 || error != std::errc() || end != digits.data() + digits.size()) return size;
  switch (size.back()) {
    case 'm':
    case 'M': return std::to_string(number);
    case 'g':
    case 'G': return number <= 1024 ? std::to_string(number << 10) : size;
    default:  // sizes are in whole MiB
      return number % 1024 == 0 ? std::to_string(number >> 10) : size;
  }
}

AnyOptions options_of(const LearnerEntry& entry, std::string_view spec) {
  AnyOptions options = entry.options;
  Spec parsed = parse_spec(spec);
  for (auto& [key, value] : parsed.values)
    if (key == "memory") value = in_mebibytes(value);
  if (entry.main == "memory") parsed.size = in_mebibytes(parsed.size);
  parse_options(parsed, options, entry.main);
  return options;
}

constexpr std::string_view kMix = "mix";

/// Returns the components of `mix:A+B`; empty for other SPECs.
std::vector<std::string> parts_of(std::string_view spec) {
  std::vector<std::string> parts;
  if (spec_name(spec) != kMix) return parts;
  std::string_view rest = spec.substr(std::min(spec.size(), kMix.size() + 1));
  while (!rest.empty()) {
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    parts.emplace_back(rest.substr(0, plus));
    rest.remove_prefix(std::min(rest.size(), plus + 1));
    if (rest.empty() && spec.ends_with('+')) parts.emplace_back();
  }
  if (parts.empty()) throw UsageError("mix: the components are missing; use for example mix:lstm:128+ppm:5");
  return parts;
}

/// Parses a SPEC that is neither a learner nor a mixture of learners.
ModelSpec network_spec(std::string_view spec) {
  std::vector<std::string> names = learners().names();
  names.insert(names.begin(), std::string(kMix));
  return parse_model_spec(spec, names);
}

/// An untrained network needs a higher learning rate than a trained network.
const OnlineOptions kUntrainedOptions = {.optimizer = "adam:rate=0.006,clip=1", .window = 8, .recall = 0};

OnlineOptions online(const LearningOptions& options, OnlineOptions result) {
  if (!options.optimizer.empty()) result.optimizer = options.optimizer;
  if (options.window > 0) result.window = options.window;
  result.ends = options.ends;
  return result;
}

/// Online learning uses float, even if the model was trained in double precision.
LanguageModel<float> in_float(const LanguageModel<double>& model) {
  LanguageModel<float> result(model.spec(), model.alphabet());
  const auto from = model.parameters().flat();
  std::transform(from.begin(), from.end(), result.parameters().flat().begin(),
                 [](double x) { return static_cast<float>(x); });
  return result;
}

}  // namespace

std::unique_ptr<Predictor> make_learner(std::string_view spec, const Alphabet& alphabet,
                                        const LearningOptions& options) {
  if (const std::vector<std::string> parts = parts_of(spec); !parts.empty()) {
    std::vector<std::unique_ptr<Predictor>> predictors;
    predictors.reserve(parts.size());
    for (const std::string& part : parts) predictors.push_back(make_learner(part, alphabet, options));
    return std::make_unique<MixturePredictor>(std::move(predictors));
  }
  if (const LearnerEntry* entry = learners().find(spec_name(spec)))
    return entry->make(options_of(*entry, spec), alphabet);
  LanguageModel<float> network(canonical_learner(spec), alphabet);
  network.initialize(1);
  return std::make_unique<OnlinePredictor>(network, online(options, kUntrainedOptions));
}

double learner_memory(std::string_view spec, const Alphabet& alphabet) {
  double memory = 0;
  for (const std::string& part : parts_of(spec)) memory += learner_memory(part, alphabet);
  if (memory > 0) return memory;
  if (const LearnerEntry* entry = learners().find(spec_name(spec))) return entry->memory(options_of(*entry, spec));
  return network_memory(network_spec(spec), alphabet.size());
}

std::string canonical_learner(std::string_view spec) {
  if (const std::vector<std::string> parts = parts_of(spec); !parts.empty()) {
    std::vector<std::string> canonical;
    canonical.reserve(parts.size());
    for (const std::string& part : parts) canonical.push_back(canonical_learner(part));
    return fmt::format("{}:{}", kMix, fmt::join(canonical, "+"));
  }
  if (const LearnerEntry* entry = learners().find(spec_name(spec)))
    return fitted_spec(entry->name, options_of(*entry, spec), entry->options, entry->main);
  return to_string(network_spec(spec));
}

bool has_network(std::string_view spec) {
  if (const std::vector<std::string> parts = parts_of(spec); !parts.empty())
    return std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return has_network(part); });
  return learners().find(spec_name(spec)) == nullptr;
}

bool is_learner(std::string_view name) { return name == kMix || learners().find(name) != nullptr; }

std::vector<OptionHelp> learner_options(std::string_view name) {
  const LearnerEntry* entry = learners().find(name);
  return entry == nullptr ? std::vector<OptionHelp>() : help_of(entry->options);
}

std::unique_ptr<Predictor> learning_predictor(const SymbolModel& model, const LearningOptions& options) {
  const Symbol end = options.ends ? model.sequence_end() : kNoSymbol;
  if (const auto* network = dynamic_cast<const LanguageModel<float>*>(&model))
    return restart_after(end, std::make_unique<OnlinePredictor>(*network, online(options, {})));
  if (const auto* network = dynamic_cast<const LanguageModel<double>*>(&model))
    return restart_after(end, std::make_unique<OnlinePredictor>(in_float(*network), online(options, {})));
  std::unique_ptr<Predictor> predictor = restart_after(end, model.archive_predictor());
  predictor->set_learning(true);
  return predictor;
}

}  // namespace unfold
