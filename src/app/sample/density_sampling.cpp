#include "app/sample/density_sampling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "app/fields/conditional_density.h"
#include "base/options/integer_range.h"
#include "base/options/suggestions.h"
#include "model/network/fitting/hmm_fit.h"

namespace unfold {
namespace {

constexpr Index kMostDraws = 1'000'000'000;

/// Lists the first few names.
std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  const std::span first(names.data(), std::min(kShown, names.size()));
  return fmt::format("{}{}", fmt::join(first, ", "), names.size() > kShown ? ", ..." : "");
}

/// Returns the index of a column, given by its name or as "x3".
std::size_t position_in_total(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  Index place = 0;
  const char *begin = name.data() + 1, *end = name.data() + name.size();
  if (name.starts_with('x') && std::from_chars(begin, end, place).ptr == end && place >= 1 &&
      place <= static_cast<Index>(names.size()))
    return at(place - 1);
  throw UsageError(fmt::format("there is no column {}; the model has {} columns, x1 to x{}, named {}{}", name,
                               names.size(), names.size(), shown_names(names), did_you_mean(name, names)));
}

/// Parses the number that starts at an offset of a text.
double number_given(const std::string& text, std::size_t from) {
  double x = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + from, end, x);
  if (stopped != end || error != std::errc()) throw UsageError(fmt::format("--given {}: write NAME=NUMBER", text));
  return x;
}

template <class T>
PartialVector<T> parse_part(const std::vector<std::string>& given, const VectorModel<T>& model) {
  const std::vector<std::string>& names = model.names();
  PartialVector<T> part{std::vector<char>(names.size()), std::vector<T>(names.size())};
  for (const std::string& text : given) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw UsageError(fmt::format("--given {}: write NAME=NUMBER", text));
    const std::size_t place = position_in_total(names, text.substr(0, equals));
    if (part.known[place] != 0)
      throw UsageError(fmt::format("--given sets {} twice; leave one of the values out", names[place]));
    part.known[place] = 1;
    part.values[place] = model.is_class(place) ? static_cast<T>(model.class_place(place, text.substr(equals + 1)))
                                               : model.standardized(place, number_given(text, equals + 1));
    if (!std::isfinite(part.values[place]))
      throw UsageError(
          fmt::format("--given {}: not a finite number of the model's precision; leave out unknown numbers", text));
    if (model.is_bit(place) && part.values[place] != 0 && part.values[place] != 1)
      throw UsageError(fmt::format("--given {}: the model is binary; use 0 or 1", text));
  }
  return part;
}

template <class Use>
auto with_vector_model(const VectorRequest& request, const Use& use) {
  require_in_range("count", request.count, 1, kMostDraws);
  return with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    if (!is_density(model.spec()) || is_hidden_markov(model.spec()))
      throw UsageError(fmt::format("{}: {} is not a density model", request.model, model.spec_text()));
    return use(VectorModel<T>(model));
  });
}

}  // namespace

bool holds_density(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  const auto* network = loaded->as<NetworkHolder>();
  return network != nullptr && is_density(network->spec()) && !is_hidden_markov(network->spec());
}

VectorTable sample_vectors(const VectorRequest& request) {
  constexpr Index kProposals = 1000;
  return with_vector_model(request, [&]<class T>(const VectorModel<T>& model) {
    ConditionalDistribution<T> answers(model, parse_part(request.given, model), kProposals, request.seed);
    VectorTable table{.names = model.names(), .rows = {}, .classes = {}};
    for (std::size_t d = 0; d < table.names.size(); ++d) table.classes.push_back(model.classes(d));
    table.rows.reserve(at(request.count));
    for (Index i = 0; i < request.count; ++i) {
      Random random(request.seed, fmt::format("vectors/{}", i));
      const std::vector<T> drawn = answers.sample(random);
      std::vector<double>& row = table.rows.emplace_back();
      for (std::size_t d = 0; d < drawn.size(); ++d)
        row.push_back(model.in_data_units(d, static_cast<double>(drawn[d])));
    }
    return table;
  });
}

std::vector<CompletedNumber> complete_vector(const VectorRequest& request) {
  return with_vector_model(request, [&]<class T>(const VectorModel<T>& model) {
    const PartialVector<T> part = parse_part(request.given, model);
    std::vector<std::size_t> places;
    for (const std::string& name : request.wanted) {
      places.push_back(position_in_total(model.names(), name));
      if (part.known[places.back()] != 0)
        throw UsageError(fmt::format("{} is both given and requested; leave it out of --given or --predict", name));
    }
    for (std::size_t d = 0; d < part.known.size() && request.wanted.empty(); ++d)
      if (part.known[d] == 0) places.push_back(d);
    ConditionalDistribution<T> answers(model, part, request.count, request.seed);
    std::vector<CompletedNumber> result;
    result.reserve(places.size());
    for (const std::size_t d : places) {
      if (model.is_class(d)) {
        const auto shares = answers.shares(d);
        for (std::size_t k = 0; k < shares.size(); ++k)
          result.push_back(
              {fmt::format("{}={}", model.names()[d], model.classes(d)[k]), shares[k].value, shares[k].error});
        continue;
      }
      const auto mean = answers.mean(d);
      result.push_back({model.names()[d], model.in_data_units(d, mean.value), model.unit(d) * mean.error});
    }
    return result;
  });
}

}  // namespace unfold
