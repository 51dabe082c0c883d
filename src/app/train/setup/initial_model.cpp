#include "app/train/setup/initial_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "data/readers/memory_data.h"
#include "model/hmm/hmm.h"
#include "model/stored_cell/register_stored_cell.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr std::string_view kLinear = "linear-gnn";

std::unique_ptr<LanguageModel<double>> as_network(const HmmModel& hmm) {
  auto network =
      std::make_unique<LanguageModel<double>>(fmt::format("{}:{}", kLinear, hmm.parameters().states), hmm.alphabet());
  set_hmm(hmm.parameters(), network->parameters());
  network->configuration() = hmm.configuration();
  network->history() = hmm.history();
  return network;
}

/// Calls use(model) if the model is a language model, of either precision; otherwise returns false.
template <class Use>
bool with_language_model(const SymbolModel& model, const Use& use) {
  if (const auto* wide = model.as<LanguageModel<double>>()) return use(*wide), true;
  if (const auto* narrow = model.as<LanguageModel<float>>()) return use(*narrow), true;
  return false;
}

std::unique_ptr<SymbolModel> loaded(const std::string& model) {
  const MemoryData* memory = MemoryFiles::find(model);
  return memory == nullptr ? load_symbol_model(model)
                           : symbol_model_from_bytes(std::string(memory->texts.front().bytes()), model);
}

template <class To, class From>
void copy_parameters(const LanguageModel<From>& from, Parameters<To>& to) {
  const auto source = from.parameters().flat();
  for (std::size_t i = 0; i < source.size(); ++i) to.flat()[i] = static_cast<To>(source[i]);
}

}  // namespace

void export_hmm_as_network(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<SymbolModel> loaded = load_symbol_model(model);
  const auto* hmm = loaded->as<HmmModel>();
  if (hmm == nullptr)
    throw ModelError(fmt::format("{}: --to network requires a hidden Markov model of symbols, but this is {}", model,
                                 loaded->spec_text()));
  write(as_network(*hmm)->bytes());
}

void export_network_as_hmm(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<SymbolModel> loaded = load_symbol_model(model);
  const bool found = with_language_model(*loaded, [&](const auto& network) {
    using T = std::remove_const_t<typename decltype(network.parameters().flat())::element_type>;
    if (network.spec().cell->name != kLinear)
      throw ModelError(fmt::format("{}: --to hmm requires a {}, but this is {}", model, kLinear, loaded->spec_text()));
    Parameters<double> parameters(network.circuit());
    copy_parameters(network, parameters);
    constexpr double kTolerance = std::is_same_v<T, double> ? 1e-9 : 1e-5;
    try {
      HmmModel hmm(hmm_of(parameters, kTolerance), loaded->alphabet());
      hmm.configuration() = loaded->configuration();
      hmm.history() = loaded->history();
      write(hmm.bytes());
    } catch (const ModelError& error) {
      throw ModelError(fmt::format("{}: {}", model, error.what()));
    }
  });
  if (!found)
    throw ModelError(fmt::format("{}: --to hmm requires a {}, but this is {}", model, kLinear, loaded->spec_text()));
}

InitialModel::InitialModel(const std::string& model, TrainSettings& s, const Given& given)
    : name_(model), network_(loaded(model)) {
  if (const auto* hmm = network_->as<HmmModel>()) network_ = as_network(*hmm);
  const bool found = with_language_model(*network_, [&](const auto& network) {
    using T = std::remove_const_t<typename decltype(network.parameters().flat())::element_type>;
    if (!s.precision && std::is_same_v<T, double>) s.precision = "double";
  });
  if (!found)
    throw UsageError(
        fmt::format("--start-from {}: {} has no parameters that are trained by gradients; start from a network", model,
                    network_->spec_text()));
  if (const auto* holder = network_->as<NetworkHolder>()) register_stored_cell(stored_cell_of(holder->spec().options));
  if (!given.contains(&TrainSettings::model)) s.model = network_->spec_text();
  if (!given.contains(&TrainSettings::symbols)) s.symbols = to_string(alphabet().kind());
}

template <class T>
void InitialModel::copy_parameters_to(LanguageModel<T>& model) const {
  if (model.spec_text() != network_->spec_text())
    throw UsageError(fmt::format("--start-from {}: the model is {}, not {}; leave out --model", name_,
                                 network_->spec_text(), model.spec_text()));
  with_language_model(*network_, [&](const auto& network) { copy_parameters(network, model.parameters()); });
}

template void InitialModel::copy_parameters_to(LanguageModel<float>&) const;
template void InitialModel::copy_parameters_to(LanguageModel<double>&) const;

}  // namespace unfold
