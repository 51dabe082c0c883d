#include "app/fields/evaluation/unaligned_metrics.h"

#include "model/decoding/edit_distance.h"

namespace unfold {

void LabelErrors::see(std::span<const Symbol> wanted, std::span<const Symbol> found) {
  if (wanted.empty()) return;
  const Index edits = edit_distance(wanted, found);
  wanted_ += static_cast<Index>(wanted.size());
  edits_ += edits;
  ++examples_;
  wrong_ += edits > 0 ? 1 : 0;
}

Measures LabelErrors::measures() const {
  if (examples_ == 0) return {};
  return {{"label_error_rate", static_cast<double>(edits_) / static_cast<double>(wanted_)},
          {"sequence_error_rate", static_cast<double>(wrong_) / static_cast<double>(examples_)}};
}

std::vector<Symbol> wanted_labels(const ExampleSet& examples, const std::string& field, Index example) {
  const FieldColumn& column = examples.column(field);
  std::vector<Symbol> labels;
  for (Index position = examples.begin(example); position < examples.begin(example) + examples.length(example);
       ++position)
    if (column.symbols[at(position)] != kNoSymbol || column.unseen.contains(position))
      labels.push_back(column.symbols[at(position)]);
  return labels;
}

template <class T>
std::vector<std::vector<ScoredLabeling>> decode_chains(const Unsegmented<T>& loss, const LabelQuery<T>& question,
                                                       const UnsegmentedSearch& search, Team& team) {
  std::vector<std::vector<ScoredLabeling>> found(at(question.structure.sequences()));
  team.run([&](Member& me) {
    const Range mine = me.share(question.structure.sequences(), 1);
    for (Index s = mine.begin; s < mine.end; ++s) found[at(s)] = loss.decode(question, s, search);
  });
  return found;
}

template <class T>
std::vector<Symbol> labels_at_positions(const Unsegmented<T>& loss, const LabelQuery<T>& question, Team& team) {
  const auto found = decode_chains<T>(loss, question, {}, team);
  std::vector<Symbol> rows(at(question.structure.positions()), kNoSymbol);
  for (std::size_t s = 0; s < found.size(); ++s) {
    const auto chain = static_cast<Index>(s);
    const std::vector<Symbol>& labels = found[s].front().labels;
    const std::vector<Index> places = loss.places(question, chain, labels);
    for (std::size_t u = 0; u < labels.size(); ++u) rows[at(question.structure.row(chain, places[u]))] = labels[u];
  }
  return rows;
}

template std::vector<std::vector<ScoredLabeling>> decode_chains(const Unsegmented<float>&, const LabelQuery<float>&,
                                                                const UnsegmentedSearch&, Team&);
template std::vector<std::vector<ScoredLabeling>> decode_chains(const Unsegmented<double>&, const LabelQuery<double>&,
                                                                const UnsegmentedSearch&, Team&);
template std::vector<Symbol> labels_at_positions(const Unsegmented<float>&, const LabelQuery<float>&, Team&);
template std::vector<Symbol> labels_at_positions(const Unsegmented<double>&, const LabelQuery<double>&, Team&);

}  // namespace unfold
