#include "unfold/circuit/listed.h"

#include <algorithm>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {
namespace {

class ListedOperator final : public OperatorOf<ListedOperator> {
 public:
  explicit ListedOperator(std::shared_ptr<const Listing> listing) : listing_(std::move(listing)) {
    Index first = 0;
    for (const Index alphabet : listing_->alphabets) {
      first_.push_back(first);
      first += alphabet;
    }
  }

  std::string_view name() const override { return "listed"; }
  Index inputs() const override { return 0; }
  Index outputs() const override { return listing_->outputs; }
  ParameterShape parameter_shape(Index) const override { return {1, listing_->pairs()}; }
  Index reads_symbols() const override { return static_cast<Index>(listing_->alphabets.size()); }
  bool gradient_by_columns() const override { return true; }
  /// Of symbols that are equally frequent.
  double operations() const override {
    return static_cast<double>(listing_->pairs()) * static_cast<double>(reads_symbols()) /
           static_cast<double>(std::max<Index>(1, listing_->symbols()));
  }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    add(in, in.w.data, y);
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T>, Matrix<T> dy) const {
    add(in, dw.data, dy);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, bool, bool) const {
    throw UsageError("the listed operator reads symbols, which have no adjoints");
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool) const {
    const std::int32_t* outputs = listing_->outputs_of.data();
    const bool all = columns.begin == 0 && columns.end == listing_->pairs();
    for (Index r = dy.rows - 1; r >= 0; --r) {
      const T* d = dy.row(r);
      for (std::size_t s = 0; s < in.symbols.size(); ++s) {
        Range pairs = pairs_of(s, in.symbols[s][r]);
        if (!all) pairs = {std::max(pairs.begin, columns.begin), std::min(pairs.end, columns.end)};
        for (Index k = pairs.begin; k < pairs.end; ++k) g.data[k] += d[outputs[k]];
      }
    }
  }

 private:
  template <class T>
  void add(const OperatorRows<T>& in, const T* w, Matrix<T> y) const {
    const std::int32_t* outputs = listing_->outputs_of.data();
    for (Index r = 0; r < y.rows; ++r) {
      T* out = y.row(r);
      for (std::size_t s = 0; s < in.symbols.size(); ++s) {
        const Range pairs = pairs_of(s, in.symbols[s][r]);
        for (Index k = pairs.begin; k < pairs.end; ++k) out[outputs[k]] += w[k];
      }
    }
  }

  Range pairs_of(std::size_t signal, Symbol symbol) const {
    if (symbol == kNoSymbol) return {0, 0};
    const std::int32_t* begin = listing_->begin.data() + first_[signal] + symbol;
    return {begin[0], begin[1]};
  }

  std::shared_ptr<const Listing> listing_;
  std::vector<Index> first_;  // where the symbols of a signal begin
};

}  // namespace

Index Listing::symbols() const { return std::accumulate(alphabets.begin(), alphabets.end(), Index{0}); }

void Listing::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw UsageError(std::string("a list of pairs of symbols and outputs ") + what);
  };
  require(std::ranges::all_of(alphabets, [](Index n) { return n > 0; }), "has a signal without symbols");
  require(static_cast<Index>(begin.size()) == symbols() + 1, "says where pairs begin for other symbols than there are");
  require(begin.front() == 0 && begin.back() == pairs() && std::ranges::is_sorted(begin), "begins and ends elsewhere");
  require(std::ranges::all_of(outputs_of, [&](std::int32_t o) { return o >= 0 && o < outputs; }),
          "names outputs that there are not");
  require(pairs() > 0, "lists nothing");
}

std::shared_ptr<const Operator> listed_operator(std::shared_ptr<const Listing> listing) {
  listing->validate();
  return std::make_shared<ListedOperator>(std::move(listing));
}

}  // namespace unfold
