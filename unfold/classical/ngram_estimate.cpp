#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"
#include "unfold/classical/ngram.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

using Code = std::uint32_t;
constexpr Code kEnd = 0;  // a symbol x has the code x + 1, the begin of a sentence alphabet + 1

/// The text as codes: begin, symbols and end of every sentence, then `order` ends.
std::vector<Code> codes_of(const Corpus& corpus, const Split& part, Index order, Symbol line_end,
                           const FitOptions& options) {
  const Code begin = static_cast<Code>(corpus.alphabet().size()) + 1;
  const Index symbols = part.symbols();
  std::size_t step = 0;
  std::vector<Code> codes;
  codes.reserve(static_cast<std::size_t>(symbols + 2 * static_cast<Index>(part.pieces.size()) + order));
  for (const Piece& piece : part.pieces) {
    bool open = false;
    for_each_symbol(corpus, piece, [&](Symbol symbol) {
      if (!open) codes.push_back(begin);
      codes.push_back(static_cast<Code>(symbol) + 1);
      open = symbol != line_end;
      if (!open) codes.push_back(kEnd);
      options.tick("reading", step++, static_cast<std::size_t>(symbols));
    });
    if (open) codes.push_back(kEnd);
    if (codes.size() >= NgramTrie::kNone)
      throw DataError("ngram: more than 2^32 - 2 symbols; train on a part of the data");
  }
  codes.insert(codes.end(), static_cast<std::size_t>(order), kEnd);
  return codes;
}

/// All positions but the ends, sorted by the `order` codes from there on. What follows an end sorts too, which does no
/// harm: n-grams stop at the end.
std::vector<Code> sorted_positions(const std::vector<Code>& codes, Index order, Index alphabet,
                                   const FitOptions& options) {
  std::vector<Code> positions, other;
  positions.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    options.tick("finding sentences", i, codes.size());
    if (codes[i] != kEnd) positions.push_back(static_cast<Code>(i));
  }
  other.resize(positions.size());
  std::vector<std::size_t> starts;
  for (Index k = order - 1; k >= 0; --k) {  // counting sort by the last code first
    const std::size_t before = static_cast<std::size_t>(order - 1 - k) * 2 * positions.size();
    const auto tick = [&](std::size_t step) {
      options.tick("sorting", before + step, static_cast<std::size_t>(order) * 2 * positions.size());
    };
    const Code* const key = codes.data() + k;
    starts.assign(static_cast<std::size_t>(alphabet) + 3, 0);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      tick(i);
      ++starts[key[positions[i]] + 1];
    }
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (std::size_t i = 0; i < positions.size(); ++i) {
      tick(positions.size() + i);
      other[starts[key[positions[i]]]++] = positions[i];
    }
    positions.swap(other);
  }
  return positions;
}

/// What is known of the n-grams of one order while probabilities are estimated.
struct Counts {
  std::vector<std::uint32_t> counts, links;  // links: the n-gram without its first symbol, in the level below
};

class Estimation {
 public:
  Estimation(const Corpus& corpus, const Split& part, Index order, Smoothing smoothing, Symbol line_end,
             const FitOptions& options, Team& team)
      : options_(options), team_(team), smoothing_(smoothing), trie_(order, corpus.alphabet().size()) {
    counts_.resize(static_cast<std::size_t>(order));
    count(codes_of(corpus, part, order, line_end, options));
    link();
    if (smoothing_ == Smoothing::kneser_ney) adjust();
    estimate();
  }
  NgramTrie take() { return std::move(trie_); }

 private:
  Counts& counts(Index n) { return counts_[static_cast<std::size_t>(n - 1)]; }

  void count(const std::vector<Code>& codes);
  void link();
  void adjust();
  void estimate();
  std::vector<double> unigrams();
  std::vector<double> extend(Index n, const std::vector<double>& lower);
  std::array<double, 4> discounts(Index n);
  void store_logarithms(const std::vector<double>& x, std::vector<float>& out);

  const FitOptions& options_;
  Team& team_;
  Smoothing smoothing_;
  NgramTrie trie_;
  std::vector<Counts> counts_;
};

/// Fills the trie's symbols and children, and the counts.
void Estimation::count(const std::vector<Code>& codes) {
  const Index order = trie_.order(), alphabet = trie_.alphabet();
  const std::vector<Code> positions = sorted_positions(codes, order, alphabet, options_);
  // For each position: how many of its codes are those of the position before, and how many it has up to the end.
  std::vector<std::uint8_t> shared(positions.size()), length(positions.size());
  std::vector<std::size_t> sizes(static_cast<std::size_t>(order) + 1);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    options_.tick("counting", i, 2 * positions.size());
    const Code* const here = codes.data() + positions[i];
    const Code* const before = i > 0 ? codes.data() + positions[i - 1] : nullptr;
    Index n = 0, same = 0;
    while (n < order && here[n] != kEnd) {
      if (before != nullptr && same == n && before[n] == here[n]) ++same;
      ++n;
    }
    shared[i] = static_cast<std::uint8_t>(same);
    length[i] = static_cast<std::uint8_t>(n);
    for (Index k = same + 1; k <= n; ++k) ++sizes[static_cast<std::size_t>(k)];
  }
  counts(1).counts.assign(static_cast<std::size_t>(alphabet) + 1, 0);
  trie_.level(1).children.clear();
  for (Index n = 2; n <= order; ++n) {
    const std::size_t size = sizes[static_cast<std::size_t>(n)];
    trie_.level(n).symbols.reserve(size);
    counts(n).counts.reserve(size);
    if (n < order) trie_.level(n).children.clear();
    if (n < order) trie_.level(n).children.reserve(size + 1);
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    options_.tick("counting", positions.size() + i, 2 * positions.size());
    const Code* const here = codes.data() + positions[i];
    for (Index n = shared[i] + 1; n <= length[i]; ++n) {
      NgramLevel& l = trie_.level(n);
      if (n > 1) l.symbols.push_back(here[n - 1] - 1);
      if (n > 1) counts(n).counts.push_back(0);
      if (n == order) continue;
      const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
      if (n > 1) l.children.push_back(children);
      while (n == 1 && l.children.size() < here[0]) l.children.push_back(children);  // symbols that do not occur, too
    }
    ++counts(1).counts[here[0] - 1];
    for (Index n = 2; n <= length[i]; ++n) ++counts(n).counts.back();
  }
  for (Index n = 1; n < order; ++n) {
    const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
    trie_.level(n).children.resize(counts(n).counts.size() + 1, children);
  }
}

void Estimation::link() {
  for (Index n = 2; n <= trie_.order(); ++n) {
    options_.tick("linking", static_cast<double>(n) / static_cast<double>(trie_.order()));
    counts(n).links.resize(counts(n).counts.size());
    const NgramLevel &parents = trie_.level(n - 1), &here = trie_.level(n);
    team_.run([&](Member& me) {
      const Range mine = me.share(static_cast<Index>(parents.children.size()) - 1);
      for (auto p = static_cast<std::size_t>(mine.begin); p < static_cast<std::size_t>(mine.end); ++p)
        for (std::uint32_t x = parents.children[p]; x < parents.children[p + 1]; ++x)
          counts(n).links[x] = n == 2 ? here.symbols[x] : trie_.child(n - 2, counts(n - 1).links[p], here.symbols[x]);
    });
  }
}

/// Below the highest order: numbers of different symbols before an n-gram, except for those that begin a sentence,
/// which are the last of their level.
void Estimation::adjust() {
  std::uint32_t first_begin = trie_.begin();
  for (Index n = 1; n < trie_.order(); ++n) {
    std::vector<std::uint32_t>& adjusted = counts(n).counts;
    std::fill(adjusted.begin(), adjusted.begin() + first_begin, 0);
    for (const std::uint32_t link : counts(n + 1).links)
      if (link < first_begin) ++adjusted[link];
    first_begin = trie_.level(n).children[first_begin];
  }
}

/// D(k) for k = 0, 1, 2 and more; of Chen and Goodman.
std::array<double, 4> Estimation::discounts(Index n) {
  std::array<double, 5> seen{};  // n-grams seen so many times
  const auto& all = counts(n).counts;
  for (std::size_t i = 0; i < all.size() - (n == 1 ? 1 : 0); ++i)
    if (all[i] <= 4) ++seen[all[i]];
  std::array<double, 4> d{};
  const double y = seen[1] / (seen[1] + 2 * seen[2]);
  bool defined = seen[1] > 0 && seen[2] > 0 && seen[3] > 0;
  for (std::size_t k = 1; defined && k <= 3; ++k) {
    d[k] = static_cast<double>(k) - static_cast<double>(k + 1) * y * seen[k + 1] / seen[k];
    defined = d[k] > 0 && d[k] <= static_cast<double>(k);
  }
  return defined ? d : std::array<double, 4>{0, 0.5, 1, 1.5};
}

std::vector<double> Estimation::unigrams() {
  const auto& all = counts(1).counts;
  const std::size_t symbols = all.size() - 1;  // without the begin
  const auto d = discounts(1);
  const double uniform = 1 / static_cast<double>(symbols);
  double total = 0, left = 0;
  for (std::size_t x = 0; x < symbols; ++x) {
    total += all[x];
    left += smoothing_ == Smoothing::kneser_ney ? d[std::min<std::uint32_t>(all[x], 3)] : all[x] > 0 ? 1 : 0;
  }
  const double scale = smoothing_ == Smoothing::kneser_ney ? total : total + left;
  std::vector<double> p(all.size(), uniform);  // that of the begin is never used
  for (std::size_t x = 0; x < symbols && total > 0; ++x) {
    const double kept = smoothing_ == Smoothing::kneser_ney ? all[x] - d[std::min<std::uint32_t>(all[x], 3)] : all[x];
    p[x] = (kept + left * uniform) / scale;
  }
  return p;
}

/// The probabilities of level n from those of level n - 1; sets the backoffs of level n - 1.
std::vector<double> Estimation::extend(Index n, const std::vector<double>& lower) {
  NgramLevel& parents = trie_.level(n - 1);
  const Counts& here = counts(n);
  const auto d = discounts(n);
  const bool kneser_ney = smoothing_ == Smoothing::kneser_ney;
  std::vector<double> p(here.counts.size()), backoffs(parents.children.size() - 1, 1.0);
  team_.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(backoffs.size()));
    for (auto h = static_cast<std::size_t>(mine.begin); h < static_cast<std::size_t>(mine.end); ++h) {
      const std::uint32_t begin = parents.children[h], end = parents.children[h + 1];
      if (begin == end) continue;
      double total = 0, left = 0;
      for (std::uint32_t x = begin; x < end; ++x) {
        total += here.counts[x];
        left += kneser_ney ? d[std::min<std::uint32_t>(here.counts[x], 3)] : 1;
      }
      const double scale = kneser_ney ? total : total + left;
      backoffs[h] = left / scale;
      for (std::uint32_t x = begin; x < end; ++x) {
        const double count = here.counts[x];
        const double kept = kneser_ney ? count - d[std::min<std::uint32_t>(here.counts[x], 3)] : count;
        p[x] = kept / scale + backoffs[h] * lower[here.links[x]];
      }
    }
  });
  store_logarithms(backoffs, parents.log_backoffs);
  return p;
}

void Estimation::store_logarithms(const std::vector<double>& x, std::vector<float>& out) {
  out.resize(x.size());
  team_.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(x.size()));
    std::array<double, 1024> logs{};
    for (Index begin = mine.begin; begin < mine.end; begin += static_cast<Index>(logs.size())) {
      const Index size = std::min(static_cast<Index>(logs.size()), mine.end - begin);
      vector_log(x.data() + begin, logs.data(), size);
      std::copy_n(logs.begin(), size, out.begin() + begin);
    }
  });
}

void Estimation::estimate() {
  std::vector<double> p = unigrams();
  store_logarithms(p, trie_.level(1).log_probabilities);
  for (Index n = 2; n <= trie_.order(); ++n) {
    options_.tick("estimating", static_cast<double>(n) / static_cast<double>(trie_.order()));
    p = extend(n, p);
    store_logarithms(p, trie_.level(n).log_probabilities);
    counts(n - 1) = {};
  }
}

}  // namespace

NgramTrie estimate_ngrams(const Corpus& corpus, const Split& part, Index order, Smoothing smoothing, Symbol line_end,
                          const FitOptions& options, Team& team) {
  return Estimation(corpus, part, order, smoothing, line_end, options, team).take();
}

}  // namespace unfold
