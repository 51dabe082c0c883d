#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "data/counts/corpus_counts.h"
#include "model/ngram/ngram.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kBetweenTicks = std::size_t{1} << 20;  // n-grams

/// The counts of the n-grams of one order during estimation.
struct Counts {
  std::vector<std::uint32_t> counts, links;  // links: the n-gram without its first symbol, in the level below
};

class Estimation {
 public:
  /// `positions`: approximate number of n-grams, counting repetitions.
  Estimation(CountStream& ngrams, Index positions, Index alphabet, Index order, Smoothing smoothing,
             const FitOptions& options, Team& team)
      : options_(options),
        team_(team),
        positions_(static_cast<double>(std::max<Index>(1, positions))),
        smoothing_(smoothing),
        trie_(order, alphabet) {
    counts_.resize(static_cast<std::size_t>(order));
    count(ngrams);
    link();
    if (smoothing_ == Smoothing::kneser_ney) adjust();
    estimate();
  }
  NgramTrie take() { return std::move(trie_); }

 private:
  Counts& counts(Index n) { return counts_[static_cast<std::size_t>(n - 1)]; }

  void count(CountStream& ngrams);
  void add_ngram(Index n, const std::vector<Code>& codes);
  void link();
  void adjust();
  void estimate();
  std::vector<double> unigrams();
  std::vector<double> extend(Index n, const std::vector<double>& lower);
  std::array<double, 4> discounts(Index n);
  void store_logarithms(const std::vector<double>& x, std::vector<float>& out);

  const FitOptions& options_;
  Team& team_;
  double positions_;
  Smoothing smoothing_;
  NgramTrie trie_;
  std::vector<Counts> counts_;
};

/// Fills the symbols and children of the trie, and the counts, from the sorted n-grams of the highest order.
void Estimation::count(CountStream& ngrams) {
  const Index order = trie_.order(), alphabet = trie_.alphabet();
  counts(1).counts.assign(static_cast<std::size_t>(alphabet) + 1, 0);
  for (Index n = 1; n < order; ++n) trie_.level(n).children.clear();
  std::vector<Code> before(static_cast<std::size_t>(order), kEndCode);
  CountedKey here;
  double done = 0;
  for (std::size_t seen = 0; ngrams.next(here); ++seen) {
    if (seen % kBetweenTicks == 0) options_.tick("collecting n-grams", done / positions_);
    done += here.count;
    const auto changed = static_cast<Index>(std::ranges::mismatch(here.codes, before).in1 - here.codes.begin());
    const auto length = static_cast<Index>(std::ranges::find(here.codes, kEndCode) - here.codes.begin());
    for (Index n = changed + 1; n <= length; ++n) add_ngram(n, here.codes);
    counts(1).counts[here.codes[0] - 1] += here.count;
    for (Index n = 2; n <= length; ++n) counts(n).counts.back() += here.count;
    std::swap(before, here.codes);
  }
  for (Index n = 1; n < order; ++n) {
    const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
    trie_.level(n).children.resize(counts(n).counts.size() + 1, children);
  }
}

/// Adds the n-gram of the first n codes, which is not yet in the trie.
void Estimation::add_ngram(Index n, const std::vector<Code>& codes) {
  NgramLevel& level = trie_.level(n);
  if (n > 1) level.symbols.push_back(codes[static_cast<std::size_t>(n - 1)] - 1);
  if (n > 1) counts(n).counts.push_back(0);
  if (n == trie_.order()) return;
  const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
  if (n > 1) level.children.push_back(children);
  while (n == 1 && level.children.size() < codes[0]) level.children.push_back(children);  // entries of absent symbols
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

/// Below the highest order: replaces counts with the number of different symbols before an n-gram, except for n-grams
/// that begin a sentence, which are the last of their level.
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

/// Returns the discounts D(k) of Chen and Goodman for k = 0, 1, 2 and more.
std::array<double, 4> Estimation::discounts(Index n) {
  std::array<double, 5> seen{};  // number of n-grams with each count
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
  const std::size_t symbols = all.size() - 1;  // without the beginning of a sentence
  const auto d = discounts(1);
  const double uniform = 1 / static_cast<double>(symbols);
  double total = 0, left = 0;
  for (std::size_t x = 0; x < symbols; ++x) {
    total += all[x];
    left += smoothing_ == Smoothing::kneser_ney ? d[std::min<std::uint32_t>(all[x], 3)] : all[x] > 0 ? 1 : 0;
  }
  const double scale = smoothing_ == Smoothing::kneser_ney ? total : total + left;
  std::vector<double> p(all.size(), uniform);  // the entry of the beginning of a sentence is never used
  for (std::size_t x = 0; x < symbols && total > 0; ++x) {
    const double kept = smoothing_ == Smoothing::kneser_ney ? all[x] - d[std::min<std::uint32_t>(all[x], 3)] : all[x];
    p[x] = (kept + left * uniform) / scale;
  }
  return p;
}

/// Computes the probabilities of level n from those of level n - 1; sets the backoffs of level n - 1.
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

/// The n-grams of counted sentences in ascending order.
class SentenceNgrams final : public CountStream {
 public:
  SentenceNgrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order)
      : order_(static_cast<std::size_t>(order)) {
    std::vector<Code> codes;
    for (const CountedSentence& sentence : sentences) {
      codes.assign(1, static_cast<Code>(alphabet) + 1);
      for (const Symbol symbol : sentence.symbols) codes.push_back(static_cast<Code>(symbol) + 1);
      const std::size_t starts = codes.size();
      codes.insert(codes.end(), order_, kEndCode);
      for (std::size_t i = 0; i < starts; ++i) {
        keys_.insert(keys_.end(), codes.begin() + static_cast<std::ptrdiff_t>(i),
                     codes.begin() + static_cast<std::ptrdiff_t>(i + order_));
        counts_.push_back(sentence.count);
      }
      symbols_ += sentence.count * static_cast<Index>(sentence.symbols.size());
    }
    if (symbols_ >= std::numeric_limits<std::uint32_t>::max() - 1)
      throw DataError("ngram: more than 2^32 - 2 symbols; train on a part of the data");
    sorted_.resize(counts_.size());
    std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
    std::sort(sorted_.begin(), sorted_.end(), [this](std::size_t a, std::size_t b) {
      const Code *x = key(a), *y = key(b);
      return std::lexicographical_compare(x, x + order_, y, y + order_);
    });
  }
  bool next(CountedKey& out) override {
    if (at_ == sorted_.size()) return false;
    const Code* const first = key(sorted_[at_]);
    out.codes.assign(first, first + order_);
    Index sum = 0;
    for (; at_ < sorted_.size() && std::equal(first, first + order_, key(sorted_[at_])); ++at_)
      sum += counts_[sorted_[at_]];
    out.count = static_cast<std::uint32_t>(sum);
    return true;
  }
  Index symbols() const { return symbols_; }

 private:
  const Code* key(std::size_t i) const { return keys_.data() + i * order_; }

  std::size_t order_, at_ = 0;
  std::vector<Code> keys_;
  std::vector<Index> counts_;
  std::vector<std::size_t> sorted_;
  Index symbols_ = 0;
};

}  // namespace

NgramTrie estimate_ngrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order,
                          Smoothing smoothing, const FitOptions& options, Team& team) {
  SentenceNgrams ngrams(sentences, alphabet, order);
  return Estimation(ngrams, ngrams.symbols(), alphabet, order, smoothing, options, team).take();
}

NgramTrie estimate_ngrams(const Corpus& corpus, const Split& part, Index order, Smoothing smoothing, Symbol line_end,
                          const FitOptions& options, Team& team) {
  CorpusCountOptions counting{.order = order, .line_end = line_end, .processes = options.processes};
  if (options.memory_limit > 0) counting.memory = options.memory_limit;
  counting.tick = [&](Index done, Index all) {
    options.tick("counting", static_cast<std::size_t>(done), static_cast<std::size_t>(all));
  };
  const std::unique_ptr<CountStream> ngrams = count_ngrams(corpus, part, counting);
  const Index alphabet = corpus.alphabet().size();
  if (!ngrams) return {order, alphabet};
  return Estimation(*ngrams, part.symbols(), alphabet, order, smoothing, options, team).take();
}

}  // namespace unfold
