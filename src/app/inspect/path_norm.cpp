#include "app/inspect/path_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/paths/path_pass.h"
#include "model/registry/run_folder.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

template <class T>
PathNorm norm_of(const Circuit& circuit, const Parameters<T>& parameters, const PathOptions& options, Index steps) {
  Team team(1);
  PathPass<T> pass(circuit, team);
  std::vector<double> kappa(at(parameters.size()));
  const ScaledNumber norm = pass.run(parameters, options, kappa).norm;
  return {.steps = steps, .value = norm.value(), .logarithm = norm.logarithm()};
}

/// Returns a tree of `leaves` leaves whose nodes divide their leaves in half.
Tree balanced_tree(Index leaves) {
  Tree tree;
  std::vector<Index> roots(at(leaves));
  std::iota(roots.begin(), roots.end(), Index{0});
  tree.children.resize(at(leaves));
  while (roots.size() > 1) {
    std::vector<Index> above;
    for (std::size_t i = 0; i + 1 < roots.size(); i += 2) {
      above.push_back(static_cast<Index>(tree.children.size()));
      tree.children.push_back({roots[i], roots[i + 1]});
    }
    if (roots.size() % 2 == 1) above.push_back(roots.back());
    roots = std::move(above);
  }
  return tree;
}

constexpr Index kMostSide = 3000;

/// Throws UsageError if an example with steps x steps positions is too large.
void require_side(Index steps) {
  if (steps > kMostSide)
    throw UsageError(
        fmt::format("--path-norm {0}: an example has {0} x {0} positions; use at most {1}", steps, kMostSide));
}

/// Returns one example of the size `steps`, in the form of the data of a model.
Structure example_of_size(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                          Index steps) {
  if (data.trees) return Structure::trees(std::vector<Tree>{balanced_tree(steps)});
  if (data.grids) {
    require_side(steps);
    const std::vector<std::pair<Index, Index>> shape = {{steps, steps}};
    const std::vector<Index> sides = patches_of(spec);
    return sides.empty() ? Structure::grids(shape) : Structure::grids(shape, sides);
  }
  Structure chain = Structure::chains(1, steps);
  const auto reads = [&](const auto& has) {
    return std::ranges::any_of(data.fields, [&](const FieldSpecification& field) {
      return has(field) && std::ranges::find(layout.reads, field.name) != layout.reads.end();
    });
  };
  if (reads([](const FieldSpecification& field) { return field.spelt; })) {
    require_side(steps);
    std::vector<Index> words(at(steps));
    std::iota(words.begin(), words.end(), Index{0});
    return chain.with_source(Structure::chains(steps, steps), words);
  }
  if (!reads([](const FieldSpecification& field) { return field.source; })) return chain;
  const bool once = reads([](const FieldSpecification& field) { return field.source && field.once; });
  return chain.with_source(Structure::chains(1, 1).with_source(Structure::chains(1, once ? 1 : steps)));
}

template <class T>
PathNorm norm_of_network(const NetworkModel<T>& model, Index steps) {
  PathGraph graph{.structure = example_of_size(model.spec(), model.data(), model.layout(), steps), .ends = {}};
  const Index last = graph.structure.positions() - 1;
  for (const Head<T>& head : model.network().heads) {
    std::vector<Index> rows(at(model.data().field(head.field).once ? 1 : last + 1));
    std::iota(rows.begin(), rows.end(), rows.size() == 1 ? last : 0);
    graph.ends.push_back({head.signal.id, std::move(rows)});
  }
  return norm_of(model.circuit(), model.parameters(), {.graph = &graph}, steps);
}

template <class T>
std::optional<PathNorm> norm_in(const Model& model, Index steps) {
  if (const auto* text = model.as<LanguageModel<T>>())
    return norm_of(text->circuit(), text->parameters(), {.length = steps}, steps);
  const auto* network = model.as<NetworkModel<T>>();
  if (network == nullptr) return std::nullopt;
  return norm_of_network(*network, steps);
}

}  // namespace

PathNorm path_norm(const std::string& model, Index steps) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  (void)loaded->need<NetworkHolder>("--path-norm");
  if (const auto norm = norm_in<float>(*loaded, steps)) return *norm;
  if (const auto norm = norm_in<double>(*loaded, steps)) return *norm;
  throw UsageError(fmt::format("--path-norm does not support {}", loaded->spec_text()));
}

}  // namespace unfold
