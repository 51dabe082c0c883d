#include "unfold/graph/circuit/sparse_lookup.h"

#include <algorithm>
#include <numeric>

#include "graph/circuit/known_operator.h"
#include "numerics/sparse_rows.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class ListedOperator final : public OperatorOf<ListedOperator>, public RecordedOperator {
 public:
  explicit ListedOperator(std::shared_ptr<const Listing> listing) : listing_(std::move(listing)) {
    Index first = 0;
    for (const Index alphabet : listing_->alphabets) {
      first_.push_back(first);
      first += alphabet;
    }
    if (listing_->outputs <= kMaxExpanded) list_bits();
  }

  std::string_view name() const override { return "listed"; }
  Index inputs() const override { return 0; }
  Index outputs() const override { return listing_->outputs; }
  OperatorRecord record() const override {
    const Listing& all = *listing_;
    return {"listed",
            {{"alphabets", {all.alphabets.begin(), all.alphabets.end()}},
             {"outputs", one(all.outputs)},
             {"begin", {all.begin.begin(), all.begin.end()}},
             {"outputs-of", {all.outputs_of.begin(), all.outputs_of.end()}}}};
  }
  ParameterShape parameter_shape(Index) const override { return {1, listing_->pairs()}; }
  Index reads_symbols() const override { return static_cast<Index>(listing_->alphabets.size()); }
  bool gradient_by_columns() const override { return true; }
  /// Returns the operations per row, assuming equally frequent symbols.
  double operations() const override {
    return static_cast<double>(listing_->pairs()) * static_cast<double>(reads_symbols()) /
           static_cast<double>(std::max<Index>(1, listing_->symbols()));
  }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    add_sparse_pairs<T>(pairs(), {in.symbols, first_}, in.w.data, y);
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T>, Matrix<T> dy) const {
    add_sparse_pairs<T>(pairs(), {in.symbols, first_}, dw.data, dy);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, bool, bool) const {
    throw UsageError("the listed operator reads symbols, which have no adjoints");
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool) const {
    std::vector<const Symbol*> symbols;  // signals that have some of these pairs
    std::vector<Index> first;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      const Index last = first_[i] + listing_->alphabets[i];
      if (listing_->begin[at(last)] <= columns.begin || listing_->begin[at(first_[i])] >= columns.end) continue;
      symbols.push_back(in.symbols[i]);
      first.push_back(first_[i]);
    }
    gather_sparse_pairs<T>(pairs(), {symbols, first}, dy, g.data, columns);
  }

 private:
  /// Builds the bit masks, which can represent only ascending outputs.
  void list_bits() {
    spread_.resize(at(listing_->symbols()));
    for (std::size_t symbol = 0; symbol < spread_.size(); ++symbol) {
      spread_[symbol] = {listing_->begin[symbol], 0};
      for (std::int32_t k = listing_->begin[symbol]; k < listing_->begin[symbol + 1]; ++k) {
        const std::uint32_t bit = std::uint32_t{1} << listing_->outputs_of[at(k)];
        if (spread_[symbol].components >= bit) return spread_.clear();
        spread_[symbol].components |= bit;
      }
    }
  }

  SparsePairs pairs() const {
    return {listing_->begin.data(), listing_->outputs_of.data(), spread_.empty() ? nullptr : spread_.data()};
  }

  std::shared_ptr<const Listing> listing_;
  std::vector<Index> first_;           // first symbol of each signal
  std::vector<ExpandedPairs> spread_;  // pairs expanded over the outputs; empty if there are too many outputs
};

}  // namespace

Index Listing::symbols() const { return std::accumulate(alphabets.begin(), alphabets.end(), Index{0}); }

void Listing::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw UsageError(std::string("a list of pairs of symbols and outputs ") + what);
  };
  require(std::ranges::all_of(alphabets, [](Index n) { return n > 0; }), "has a signal without symbols");
  require(static_cast<Index>(begin.size()) == symbols() + 1, "must have exactly one more offset than symbols");
  require(begin.front() == 0 && begin.back() == pairs() && std::ranges::is_sorted(begin),
          "has offsets that are not ascending from 0 to the number of pairs");
  require(std::ranges::all_of(outputs_of, [&](std::int32_t o) { return o >= 0 && o < outputs; }),
          "names outputs that do not exist");
  require(pairs() > 0, "is empty");
}

std::shared_ptr<const Operator> listed_operator(std::shared_ptr<const Listing> listing) {
  listing->validate();
  return std::make_shared<ListedOperator>(std::move(listing));
}

}  // namespace unfold
