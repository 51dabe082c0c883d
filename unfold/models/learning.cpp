#include "unfold/models/learning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"
#include "unfold/classical/context_mixing.h"
#include "unfold/classical/ctw.h"
#include "unfold/classical/fitted_spec.h"
#include "unfold/classical/mixture.h"
#include "unfold/classical/ppm.h"
#include "unfold/models/online_predictor.h"

namespace unfold {
namespace {

struct CmOptions {
  Index size = 18;
  MixingLevel level = MixingLevel::full;
};
template <class Visitor>
void describe(Visitor& v, CmOptions& o) {
  v("size", o.size, "binary logarithm of the slots per context model", range(10, 24));
  v("level", o.level, "how many context models", {{MixingLevel::full, "full"}, {MixingLevel::fast, "fast"}});
}

/// What each symbol looks like to models of text: its byte, or its code point up to 127, 128 for the others.
std::vector<std::uint8_t> looks(const Alphabet& alphabet) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(alphabet.size()));
  for (Symbol x = 0; x < alphabet.size(); ++x) bytes.push_back(static_cast<std::uint8_t>(alphabet.text(x).front()));
  return bytes;
}

/// Bytes of what does not grow with the options.
constexpr double kSmall = 4 << 20;

/// Of a network that learns: its weights, the gradient, what the optimiser remembers, what it came with.
double network_memory(const ModelSpec& spec, Index alphabet) {
  constexpr double kCopies = 8;
  Circuit circuit;
  build_model(spec, alphabet, circuit);
  double parameters = 0;
  for (const ParameterInfo& p : circuit.parameters())
    parameters += static_cast<double>(p.rows) * static_cast<double>(p.cols);
  return kCopies * sizeof(float) * parameters + kSmall;
}

// One entry per model: its name, its options, its main number, how it is made, and what memory it begins with.

struct CmEntry {
  using Options = CmOptions;
  static constexpr const char *kName = "cm", *kMain = "size";
  static std::unique_ptr<Predictor> make(const CmOptions& o, const Alphabet& alphabet) {
    return std::make_unique<ContextMixing>(
        alphabet.size(), ContextMixingOptions{.level = o.level, .size = static_cast<int>(o.size)}, looks(alphabet));
  }
  static double memory(const CmOptions& o) {
    const double contexts = o.level == MixingLevel::full ? 16 : 6;
    return (32 * contexts + 72) * std::exp2(static_cast<double>(o.size)) + kSmall;  // slots; what matches are found by
  }
};

struct PpmEntry {
  using Options = PpmOptions;
  static constexpr const char *kName = "ppm", *kMain = "order";
  static std::unique_ptr<Predictor> make(const PpmOptions& o, const Alphabet& alphabet) {
    return std::make_unique<PpmPredictor>(alphabet.size(), o);
  }
  static double memory(const PpmOptions&) { return kSmall; }
};

struct CtwEntry {
  using Options = CtwOptions;
  static constexpr const char *kName = "ctw", *kMain = "depth";
  static std::unique_ptr<Predictor> make(const CtwOptions& o, const Alphabet& alphabet) {
    return std::make_unique<CtwPredictor>(alphabet.size(), o);
  }
  static double memory(const CtwOptions&) { return kSmall; }
};

template <class Visit>
void for_each_entry(Visit&& visit) {
  visit(CmEntry{});
  visit(PpmEntry{});
  visit(CtwEntry{});
}

constexpr std::string_view kMix = "mix";

std::string_view name_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }

/// The parts of `mix:A+B`; empty for other SPECs.
std::vector<std::string> parts_of(std::string_view spec) {
  std::vector<std::string> parts;
  if (name_of(spec) != kMix) return parts;
  std::string_view rest = spec.substr(std::min(spec.size(), kMix.size() + 1));
  while (!rest.empty()) {
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    parts.emplace_back(rest.substr(0, plus));
    rest.remove_prefix(std::min(rest.size(), plus + 1));
    if (rest.empty() && spec.ends_with('+')) parts.emplace_back();
  }
  if (parts.empty()) throw UsageError("mix: of what? Write for example mix:lstm:128+ppm:5");
  return parts;
}

std::vector<std::string> names() {
  std::vector<std::string> result = {std::string(kMix)};
  for_each_entry([&]<class Entry>(Entry) { result.emplace_back(Entry::kName); });
  return result;
}

/// A network that knows nothing must learn faster than one that was trained.
const OnlineOptions kFromNothing = {.optimizer = "adam:rate=0.006,clip=1", .window = 8, .recall = 0};

OnlineOptions online(const LearningOptions& options, OnlineOptions result) {
  if (!options.optimizer.empty()) result.optimizer = options.optimizer;
  if (options.window > 0) result.window = options.window;
  return result;
}

/// Learning online is in float, whatever a model was trained in.
LanguageModel<float> in_float(const LanguageModel<double>& model) {
  LanguageModel<float> result(model.spec_text(), model.alphabet());
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
  std::unique_ptr<Predictor> result;
  for_each_entry([&]<class Entry>(Entry) {
    if (name_of(spec) == Entry::kName)
      result = Entry::make(parse_fitted_spec<typename Entry::Options>(spec, Entry::kMain), alphabet);
  });
  if (result) return result;
  LanguageModel<float> network(canonical_learner(spec), alphabet);
  network.initialise(1);
  return std::make_unique<OnlinePredictor>(network, online(options, kFromNothing));
}

double learner_memory(std::string_view spec, const Alphabet& alphabet) {
  double memory = 0;
  for (const std::string& part : parts_of(spec)) memory += learner_memory(part, alphabet);
  if (memory > 0) return memory;
  for_each_entry([&]<class Entry>(Entry) {
    if (name_of(spec) == Entry::kName)
      memory = Entry::memory(parse_fitted_spec<typename Entry::Options>(spec, Entry::kMain));
  });
  return memory > 0 ? memory : network_memory(parse_model_spec(spec, names()), alphabet.size());
}

std::string canonical_learner(std::string_view spec) {
  if (const std::vector<std::string> parts = parts_of(spec); !parts.empty()) {
    std::vector<std::string> canonical;
    canonical.reserve(parts.size());
    for (const std::string& part : parts) canonical.push_back(canonical_learner(part));
    return fmt::format("{}:{}", kMix, fmt::join(canonical, "+"));
  }
  std::string result;
  for_each_entry([&]<class Entry>(Entry) {
    if (name_of(spec) == Entry::kName)
      result = fitted_spec(Entry::kName, parse_fitted_spec<typename Entry::Options>(spec, Entry::kMain), Entry::kMain);
  });
  return result.empty() ? to_string(parse_model_spec(spec, names())) : result;
}

bool has_network(std::string_view spec) {
  if (const std::vector<std::string> parts = parts_of(spec); !parts.empty())
    return std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return has_network(part); });
  bool entry = false;
  for_each_entry([&]<class Entry>(Entry) { entry = entry || name_of(spec) == Entry::kName; });
  return !entry;
}

std::vector<OptionHelp> learner_options(std::string_view name) {
  std::vector<OptionHelp> result;
  for_each_entry([&]<class Entry>(Entry) {
    if (name == Entry::kName) result = help_of(typename Entry::Options());
  });
  return result;
}

std::unique_ptr<Predictor> learning_predictor(const SymbolModel& model, const LearningOptions& options) {
  if (const auto* network = dynamic_cast<const LanguageModel<float>*>(&model))
    return std::make_unique<OnlinePredictor>(*network, online(options, {}));
  if (const auto* network = dynamic_cast<const LanguageModel<double>*>(&model))
    return std::make_unique<OnlinePredictor>(in_float(*network), online(options, {}));
  std::unique_ptr<Predictor> predictor = model.predictor();
  predictor->set_learning(true);
  return predictor;
}

}  // namespace unfold
