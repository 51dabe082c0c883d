#include "app/predict/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "model/decoding/expression.h"
#include "model/decoding/label_search.h"
#include "numerics/functions.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

/// Number of examples processed in parallel; does not affect the result.
constexpr Index kConstrainedAtOnce = 64;
constexpr const char* kChunkRules = "iob";

std::vector<std::string> names_of(const FieldSpecification& field) {
  std::vector<std::string> names;
  names.reserve(at(field.size));
  for (Symbol x = 0; x < field.size; ++x)
    names.emplace_back(field.alphabet ? std::string(field.alphabet->text(x)) : std::to_string(x));
  return names;
}

/// Parses the prefix FIELD=, if there is one.
template <class T>
std::size_t find_head(const NetworkModel<T>& model, std::string_view& text) {
  const auto& heads = model.network().heads;
  const std::string_view name = text.substr(0, text.find('='));
  for (std::size_t h = 0; h < heads.size() && name.size() < text.size(); ++h)
    if (heads[h].field == name) {
      text.remove_prefix(name.size() + 1);
      return h;
    }
  if (heads.size() == 1) return 0;
  std::string fields;
  for (const Head<T>& head : heads) fields += (fields.empty() ? "" : ", ") + head.field;
  throw UsageError(
      fmt::format("--constraint: the field is ambiguous; use FIELD={} with one of the fields {}", text, fields));
}

/// Returns whether an input is derived from a field in any way.
bool is_made_of(const std::string& read, const std::string& field) {
  const std::string name = parse_read(read).field;
  if (name == field) return true;
  if (const std::vector<TemplatePart> parts = parse_template(name); !parts.empty())
    return std::ranges::any_of(parts, [&](const TemplatePart& part) { return is_made_of(part.field, field); });
  const std::optional<DerivedField> derived = parse_derived(name);
  return derived && is_made_of(derived->field, field);
}

template <class T>
void require_labels(const NetworkModel<T>& model, const Head<T>& head, const FieldSpecification& field) {
  if (field.type != FieldSpecification::Type::symbols)
    throw UsageError(fmt::format("--constraint applies only to labels, but {} contains numbers", field.name));
  if (field.once)
    throw UsageError(fmt::format(
        "--constraint applies only to labels at every position, but {} is predicted once per example", field.name));
  if (model.data().trees || model.data().grids)
    throw UsageError("--constraint applies only to sequences, not to trees or grids");
  if (head.loss->template as<LabelSequences<T>>() == nullptr && head.loss->template as<Categorical<T>>() == nullptr)
    throw UsageError(fmt::format("--constraint requires the loss crf or softmax, not {}", head.loss->name()));
  for (const std::string& read : model.layout().reads)
    if (is_made_of(read, field.name))
      throw UsageError(
          fmt::format("--constraint: the model reads {}, so its labels depend on previous labels; leave {} out of "
                      "--read, and use F=crf for dependencies between neighbors",
                      read, field.name));
}

/// The chain of one example.
struct ChainOfLabels {
  ChainScores scores;
  std::vector<double> emissions;
  Index length;

  Emissions e() const { return {emissions.data(), length, scores.labels, scores.labels}; }
};

template <class T>
ChainScores neighbors_of(const Head<T>& head, std::span<const T> parameters, Index n) {
  if (const auto* labels = head.loss->template as<LabelSequences<T>>()) return labels->neighbors(parameters, n);
  return {.labels = n,
          .transitions = std::vector<double>(at(n * n)),
          .start = std::vector<double>(at(n)),
          .stop = std::vector<double>(at(n))};
}

template <class T>
std::vector<double> emissions_of(const Structure& structure, Index chain, Matrix<const T> signal) {
  std::vector<double> emissions;
  for (Index t = 0; t < structure.size(chain); ++t) {
    const T* row = signal.row(structure.row(chain, t));
    emissions.insert(emissions.end(), row, row + signal.cols);
  }
  return emissions;
}

double log_sum_of_all(const ChainOfLabels& chain) {
  std::vector<double> alpha(chain.emissions.size());
  ChainScratch scratch;
  const Index n = chain.scores.labels;
  return chain_forward(chain.scores, chain.e(), {alpha.data(), chain.length, n, n}, scratch);
}

/// Returns the allowed labelings of a chain; empty if no labeling is allowed.
AllowedLabels allowed_labels(const ChainOfLabels& chain, const Automaton& allowed, Index count) {
  const LabelSearch search(chain.scores, chain.e(), allowed);
  AllowedLabels found{.best = search.best(count)};
  if (found.best.empty()) return found;
  const Index n = chain.scores.labels;
  found.log_posteriors.resize(chain.emissions.size());
  const double log_z = log_sum_of_all(chain);
  found.log_probability = search.log_posteriors({found.log_posteriors.data(), chain.length, n, n}) - log_z;
  for (ScoredLabeling& each : found.best) each.log_probability -= log_z;
  return found;
}

}  // namespace

template <class T>
FieldConstraint label_constraint(const NetworkModel<T>& model, const std::string& text) {
  std::string_view expression = text;
  const std::size_t h = find_head(model, expression);
  const Head<T>& head = model.network().heads[h];
  const FieldSpecification& field = model.data().field(head.field);
  require_labels(model, head, field);
  const std::vector<std::string> names = names_of(field);
  const auto is_label = [&] { return std::ranges::find(names, expression) != names.end(); };
  if (expression == kChunkRules && !is_label()) return {h, chunk_automaton(names)};
  const Alphabet labels(SymbolKind::entries, names);
  return {h, compile_expression(expression, labels)};
}

template <class T>
Automaton target_constraint(const NetworkModel<T>& model, const std::string& text) {
  const std::string& name = target_field(model);
  const FieldSpecification& field = model.data().field(name);
  std::string_view expression = text;
  if (expression.starts_with(name + "=")) expression.remove_prefix(name.size() + 1);
  const Alphabet symbols(SymbolKind::entries, names_of(field));
  ExpressionOptions options;
  if (const Symbol end = symbols.find(kTargetEnd); end != kNoSymbol) options.never.push_back(end);
  options.spelling =
      spells_characters(symbols, options.never) ? ExpressionSpelling::characters : ExpressionSpelling::symbols;
  return compile_expression(expression, symbols, options);
}

template <class T>
void for_each_allowed(const NetworkModel<T>& model, const ExampleSet& examples, const FieldConstraint& constraint,
                      Index count, Team& team, const std::function<void(Index, const AllowedLabels&)>& use) {
  ExampleBatchOptions reading = batch_options(model.layout());
  reading.most_positions = positions_at_once(model);
  reading.batch = kConstrainedAtOnce;
  const Head<T>& head = model.network().heads[constraint.head];
  const std::span<const T> parameters = model.parameters().flat();
  std::vector<AllowedLabels> answers;
  const auto see = [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
    const Matrix<const T> signal = outputs[constraint.head];
    answers.assign(at(batch.structure.sequences()), {});
    const ChainScores scores = neighbors_of(head, parameters, signal.cols);
    team.run([&](Member& me) {
      const Range mine = me.share(batch.structure.sequences(), 1);
      for (Index c = mine.begin; c < mine.end; ++c)
        answers[at(c)] = allowed_labels({scores, emissions_of(batch.structure, c, signal), batch.structure.size(c)},
                                        constraint.allowed, count);
    });
    for (std::size_t c = 0; c < answers.size(); ++c) {
      if (answers[c].best.empty())
        throw DataError(fmt::format("example {} has {} positions, but --constraint allows no labeling of that length",
                                    batch.passages[c] + 1, batch.structure.size(static_cast<Index>(c))));
      use(batch.passages[c], answers[c]);
    }
  };
  Evaluator<T> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(examples, reading), {}, see);
}

template FieldConstraint label_constraint(const NetworkModel<float>&, const std::string&);
template FieldConstraint label_constraint(const NetworkModel<double>&, const std::string&);
template Automaton target_constraint(const NetworkModel<float>&, const std::string&);
template Automaton target_constraint(const NetworkModel<double>&, const std::string&);
template void for_each_allowed(const NetworkModel<float>&, const ExampleSet&, const FieldConstraint&, Index, Team&,
                               const std::function<void(Index, const AllowedLabels&)>&);
template void for_each_allowed(const NetworkModel<double>&, const ExampleSet&, const FieldConstraint&, Index, Team&,
                               const std::function<void(Index, const AllowedLabels&)>&);

}  // namespace unfold
