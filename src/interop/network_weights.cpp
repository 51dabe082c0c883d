#include "interop/network_weights.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "interop/keras/rtneural.h"
#include "interop/stacks/named_arrays.h"
#include "interop/stacks/stack_self_test.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

constexpr Index kPositions = 64;      // number of positions that the self-test compares
constexpr Index kPairPositions = 16;  // number of positions in the test pair stored with the weights

/// Calls use(model) with the concrete type of the model if it is a network. Adds the name of the model to the message
/// of a UsageError.
template <class Use>
void with_network(Model& model, const std::string& name, const Use& use) {
  try {
    if (auto* one = model.as<LanguageModel<float>>()) return use(*one);
    if (auto* one = model.as<LanguageModel<double>>()) return use(*one);
    if (auto* one = model.as<NetworkModel<float>>()) return use(*one);
    if (auto* one = model.as<NetworkModel<double>>()) return use(*one);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {} cannot be exported or imported: {}", name, model.spec_text(), error.what()));
  }
  throw UsageError(fmt::format("{}: {} cannot be exported: it is not a network", name, model.spec_text()));
}

template <class AnyModel>
struct ModelTraits;
template <class Real>
struct ModelTraits<LanguageModel<Real>> {
  using T = Real;
  static constexpr bool kNext = true;  // predicts the next symbol
};

template <class Real>
struct ModelTraits<NetworkModel<Real>> {
  using T = Real;
  static constexpr bool kNext = false;
};

/// Arrays rounded to T and added to a safetensors writer. The writer refers to `numbers`, so this object must outlive
/// it.
template <class T>
struct RoundedArrays {
  explicit RoundedArrays(const std::vector<NpyArray>& arrays) {
    numbers.reserve(arrays.size());
    for (const NpyArray& array : arrays) {
      numbers.emplace_back(array.values.begin(), array.values.end());
      writer.add(array.name, array.shape, numbers.back());
    }
  }
  std::vector<std::vector<T>> numbers;
  SafetensorsWriter writer;
};

/// Appends a row of zeros, read in place of a symbol before the first one.
void add_row_of_none(StackMatrix& embedding) {
  embedding.rows += 1;
  embedding.numbers.resize(static_cast<std::size_t>(embedding.rows * embedding.cols));
}

template <class AnyModel>
std::string torch_bytes(AnyModel& model) {
  using T = typename ModelTraits<AnyModel>::T;
  constexpr bool next = ModelTraits<AnyModel>::kNext;
  const auto holder = stack_holder(model);
  StackWeights stack = stack_of(holder, model.parameters());
  if (next && stack.embedding.rows > 0) add_row_of_none(stack.embedding);
  RoundedArrays<T> arrays(torch_arrays(stack));
  const TestInput trial = make_test_input(holder, kPairPositions);
  arrays.writer.set_metadata("format", "pt");
  arrays.writer.set_metadata("card", model.card().dump());
  arrays.writer.set_metadata("pair", to_json(trial, outputs_of(holder, model.parameters(), trial, next)).dump());
  return arrays.writer.bytes();
}

void drop_last_row(StackMatrix& embedding) {
  embedding.rows -= 1;
  embedding.numbers.resize(static_cast<std::size_t>(embedding.rows * embedding.cols));
}

template <class T>
std::unique_ptr<Model> model_of_card(const Json& card, bool adopt, StackWeights& stack) {
  const auto data = DataSpecification::from_json(card.at("data"));
  const auto spec = card.at("model").get<std::string>(), kind = card.at("kind").get<std::string>();
  if (adopt) adopt_activation(parse_model_spec(spec), stack);
  require_layers(parse_model_spec(spec), stack);
  std::unique_ptr<Model> model;
  if (kind == LanguageModel<T>::kKind) {
    const auto& alphabet = data.fields.at(0).alphabet;
    if (alphabet == nullptr) throw ModelError("the model card in the file has no alphabet");
    model = std::make_unique<LanguageModel<T>>(spec, *alphabet);
  } else {
    NetworkLayout layout;
    layout.reads = card.at("reads").get<std::vector<std::string>>();
    for (const Json& head : card.at("heads"))
      layout.heads.push_back({.field = head.at("field").get<std::string>(), .loss = head.value("loss", std::string())});
    if (layout.reads.size() != 1 || layout.heads.size() != 1 ||
        data.field(parse_read(layout.reads.front()).field).size != stack.symbols() ||
        data.field(layout.heads.front().field).size != stack.output.rows)
      throw ModelError("the fields of the model card in the file do not match the weights");
    model = std::make_unique<NetworkModel<T>>(spec, data, layout);
  }
  model->configuration() = card.at("configuration");
  model->history() = card.at("history");
  return model;
}

/// Creates a model from the card stored in an exported file.
std::unique_ptr<Model> model_of_card(const std::string& text, const NamedArrays& arrays, bool adopt,
                                     StackWeights& stack) {
  const Json card = parse_json(text, arrays.source());
  try {
    return arrays.wide() ? model_of_card<double>(card, adopt, stack) : model_of_card<float>(card, adopt, stack);
  } catch (const Json::exception&) {
    arrays.fail("the model card in the file is invalid");
  } catch (const std::out_of_range&) {
    arrays.fail("the model card in the file has no fields");
  } catch (const UsageError& error) {
    arrays.fail(fmt::format("the model card in the file: {}", error.what()));
  }
}

/// Creates the model that the weights are imported into, without setting them.
std::unique_ptr<Model> empty_model(const ImportNetworkRequest& request, const NamedArrays& arrays,
                                   StackWeights& stack) {
  if (!request.like.empty()) {
    std::unique_ptr<Model> model = load_model_file(model_file(request.like));
    model->history() = Json::array();  // the history belongs to other weights
    if (const auto* holder = model->as<NetworkHolder>(); holder != nullptr && request.activation.empty())
      adopt_activation(holder->spec(), stack);
    return model;
  }
  if (!request.alphabet.empty()) {
    const Alphabet alphabet = Alphabet::from_json(parse_json(read_file(request.alphabet), request.alphabet));
    if (arrays.wide()) return std::make_unique<LanguageModel<double>>(spec_of(stack), alphabet);
    return std::make_unique<LanguageModel<float>>(spec_of(stack), alphabet);
  }
  const std::string* card = arrays.metadata("card");
  if (card == nullptr)
    throw UsageError(
        fmt::format("{} contains no model card: use --alphabet FILE with the alphabet of a language model, or --like "
                    "MODEL with a model of the same data",
                    request.file));
  return model_of_card(*card, arrays, request.activation.empty(), stack);
}

/// Returns the symbol that the other program reads before the first one; kNoSymbol stands for zeros.
Symbol first_symbol(const ImportNetworkRequest& request, const StackWeights& stack, const Alphabet& alphabet) {
  const Index symbols = stack.symbols();
  if (symbols == alphabet.size() + 1 && stack.embedding.rows > 0 && request.begin.empty())
    return static_cast<Symbol>(alphabet.size());
  if (symbols != alphabet.size())
    throw UsageError(fmt::format("the alphabet has {} symbols, but the network in {} reads {}", alphabet.size(),
                                 request.file, symbols));
  if (!request.begin.empty()) return alphabet.parse(request.begin);
  if (stack.embedding.rows == 0) return kNoSymbol;
  throw UsageError(
      fmt::format("{} has an embedding without a row for the start of a sequence: use --begin SYMBOL with the start "
                  "symbol that your program reads first",
                  request.file));
}

void require_small(double difference, const std::string& file, const char* from) {
  if (!(difference <= kMostDifference))
    throw ModelError(fmt::format("{}: the model differs from {} by {:.3g}, more than {:.0e}; it was not written", file,
                                 from, difference, kMostDifference));
}

template <class AnyModel>
void fill_and_test(AnyModel& model, const ImportNetworkRequest& request, const NamedArrays& arrays,
                   const StackWeights& theirs, ImportNetworkOutcome& outcome) {
  constexpr bool next = ModelTraits<AnyModel>::kNext;
  const auto holder = stack_holder(model);
  StackWeights changed;
  const StackWeights* ours = &theirs;
  Symbol first = kNoSymbol;
  if constexpr (next) {
    first = first_symbol(request, theirs, model.alphabet());
    changed = theirs;
    if (first != kNoSymbol) fold_symbol(changed, first);
    if (first == model.alphabet().size()) drop_last_row(changed.embedding);
    ours = &changed;
  } else if (!request.begin.empty()) {
    throw UsageError("--begin applies only to models that predict the next symbol");
  }
  if (const Index reads = holder.input().size(); !next && holder.reads_symbols() && theirs.symbols() != reads)
    throw UsageError(fmt::format("{} reads {} symbols, but the model reads {}", request.file, theirs.symbols(), reads));
  set_weights(holder, *ours, model.parameters());
  const TestInput trial = make_test_input(holder, kPositions);
  outcome = {.model = model.spec_text(),
             .outputs = holder.output().size(),
             .of_symbols = holder.gives_symbols,
             .positions = kPositions};
  outcome.difference =
      largest_difference(outputs_of(holder, model.parameters(), trial, next),
                         outputs_of(theirs, trial, next, first, holder.gives_symbols), holder.gives_symbols);
  require_small(outcome.difference, request.file, "PyTorch's equations");
  if (const std::string* pair = arrays.metadata("pair")) {
    outcome.pair_difference = difference_from(parse_json(*pair, request.file), holder, model.parameters(), next);
    require_small(outcome.pair_difference, request.file, "the outputs stored in the file");
  }
}

}  // namespace

void export_torch(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  with_network(*loaded, model, [&](auto& network) { write(torch_bytes(network)); });
}

void export_rtneural(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  with_network(*loaded, model,
               [&](auto& network) { write(rtneural_json(stack_of(stack_holder(network), network.parameters()))); });
}

ImportNetworkOutcome import_network(const ImportNetworkRequest& request) {
  if (!request.activation.empty() && request.activation != "relu" && request.activation != "tanh")
    throw UsageError(fmt::format("--activation must be tanh or relu, not \"{}\"", request.activation));
  if (!request.like.empty() && !request.alphabet.empty())
    throw UsageError("--like cannot be combined with --alphabet: both define the symbols; leave one of them out");
  const NamedArrays arrays = NamedArrays::open(request.file);
  const bool torch = has_torch_names(arrays), relu = request.activation == "relu";
  if (!torch && !has_keras_names(arrays))
    arrays.fail(
        "it has neither PyTorch's names, weight_ih_l0, nor Keras', recurrent_kernel; a model written by Unfold needs "
        "no import");
  StackWeights stack = torch ? stack_from_torch(arrays, relu) : stack_from_keras(arrays, relu);
  const std::unique_ptr<Model> model = empty_model(request, arrays, stack);
  ImportNetworkOutcome outcome;
  with_network(*model, request.file, [&](auto& network) { fill_and_test(network, request, arrays, stack, outcome); });
  model->save(request.out);
  return outcome;
}

bool is_weight_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string head(16, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  return head.starts_with("PK") || head.starts_with("\x89HDF") || head.starts_with("\x80") ||
         (head.size() > 8 && head[8] == '{');
}

}  // namespace unfold
