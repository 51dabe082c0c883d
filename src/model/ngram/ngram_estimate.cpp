#include <algorithm>
#include <array>
#include <limits>

#include "base/storage/growing_array.h"
#include "base/threads/available_memory.h"
#include "data/counts/corpus_counts.h"
#include "model/ngram/ngram.h"
#include "model/ngram/sentence_ngrams.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr std::size_t kBetweenTicks = std::size_t{1} << 20;  // n-grams
constexpr std::size_t kBytesOfNgram = 32;                    // in all arrays together, during estimation
constexpr std::size_t kCachedBlock = std::size_t{1} << 20;   // n-grams

/// Estimates the probabilities of a trie of n-grams from their sorted counts (equations: ngram.h).
///
/// The link of an n-gram is its index in the level below without its first symbol. Counts and probabilities of the
/// level below are needed at the links of all n-grams of a level. The links of the n-grams with the same first symbol
/// are ascending, so the level below is processed in blocks that fit into the cache and into memory: for each block,
/// every first symbol contributes a stretch of its n-grams, and each stretch continues the previous one. Arrays that
/// may not fit into memory are in temporary files (base/storage/growing_array.h).
class Estimation {
 public:
  struct Settings {
    Index order = 1, alphabet = 1;
    Smoothing smoothing = Smoothing::kneser_ney;
    double positions = 1;  ///< approximate number of n-grams, counting repetitions
  };
  /// Computes the trie. If n-grams may exceed the memory limit, or without a limit the available memory, they are
  /// stored in temporary files. Throws InterruptedError; RuntimeFailure for temporary files.
  Estimation(CountStream& ngrams, const Settings& settings, const FitOptions& options, Team& team);
  NgramTrie take() { return std::move(trie_); }

 private:
  /// The counts and links of the n-grams of one level. Level 2 has no links: the last symbol of an n-gram is its link.
  struct Level {
    GrowingArray<std::uint32_t> counts, links;
    GrowingArray<double> probabilities, backoffs;
    std::vector<std::uint32_t> groups;  ///< first n-gram of each first symbol, followed by the end
  };
  /// What a block of the level below consists of.
  enum class Unit { ngrams, children };

  Level& level(Index n) { return levels_[static_cast<std::size_t>(n - 1)]; }
  const GrowingArray<std::uint32_t>& links(Index n) { return n == 2 ? trie_.level(2).symbols : level(n).links; }
  template <class T>
  GrowingArray<T> array() const {
    return files_ ? GrowingArray<T>::in_file("n-grams") : GrowingArray<T>();
  }
  void choose_storage(std::size_t most_keys);
  void enter(const char* stage, Index n);
  void pause(const Member& me, std::size_t& used);
  void release();
  void count(CountStream& ngrams);
  void add_ngram(Index n, const std::vector<Code>& codes);
  void group();
  void link(Index n);
  void adjust(Index n, std::uint32_t first_begin);
  std::uint32_t end_of_block(Index n, std::uint32_t begin, std::uint32_t end, Unit unit);
  template <class Use>
  void for_each_stretch(Index n, Unit unit, const Use& use);
  std::array<double, 4> discounts(Index n);
  void unigrams();
  void discount(Index n);
  void extend(Index n);
  void store_logarithms(const GrowingArray<double>& x, GrowingArray<float>& out);
  void estimate();

  const FitOptions& options_;
  Team& team_;
  Settings settings_;
  bool files_ = false;
  std::uint32_t block_ = 0;           ///< units
  std::size_t between_releases_ = 0;  ///< n-grams
  const char* stage_ = "";
  double fraction_ = 0;
  NgramTrie trie_;
  std::vector<Level> levels_;
};

Estimation::Estimation(CountStream& ngrams, const Settings& settings, const FitOptions& options, Team& team)
    : options_(options),
      team_(team),
      settings_(settings),
      trie_(settings.order, settings.alphabet),
      levels_(static_cast<std::size_t>(settings.order)) {
  choose_storage(ngrams.most_keys());
  count(ngrams);
  group();
  for (Index n = 3; n <= settings_.order; ++n) link(n);
  std::uint32_t first_begin = trie_.begin();
  for (Index n = 1; n < settings_.order && settings_.smoothing == Smoothing::kneser_ney; ++n) {
    adjust(n, first_begin);
    first_begin = trie_.level(n).children[first_begin];
  }
  estimate();
}

void Estimation::choose_storage(std::size_t most_keys) {
  const std::size_t limit = options_.memory_limit > 0 ? options_.memory_limit : available_memory();
  const double keys = std::min(static_cast<double>(most_keys), settings_.positions);
  files_ = keys * static_cast<double>(kBytesOfNgram * static_cast<std::size_t>(settings_.order)) >
           static_cast<double>(limit);
  const std::size_t most = std::max<std::size_t>(1, limit / (4 * sizeof(double)));
  block_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(files_ ? most : kCachedBlock, std::numeric_limits<std::uint32_t>::max() / 2));
  between_releases_ = std::clamp<std::size_t>(limit / (4 * kBytesOfNgram), 1000, std::size_t{1} << 24);
  for (Index n = 1; n <= settings_.order; ++n) {
    level(n).counts = array<std::uint32_t>();
    level(n).links = array<std::uint32_t>();
    level(n).probabilities = array<double>();
    level(n).backoffs = array<double>();
    if (n == 1) continue;
    trie_.level(n).symbols = array<std::uint32_t>();
    trie_.level(n).log_probabilities = array<float>();
    trie_.level(n).log_backoffs = array<float>();
    trie_.level(n).children = array<std::uint32_t>();
  }
}

/// Begins a stage, at level n.
void Estimation::enter(const char* stage, Index n) {
  stage_ = stage;
  fraction_ = static_cast<double>(n) / static_cast<double>(settings_.order);
  options_.tick(stage_, fraction_);
}

/// After many used n-grams: drops pages from memory and stops if that was requested.
void Estimation::pause(const Member& me, std::size_t& used) {
  if (used < between_releases_) return;
  used = 0;
  release();
  if (me.id() == 0) options_.tick(stage_, fraction_);
}

void Estimation::release() {
  if (!files_) return;
  for (Index n = 1; n <= settings_.order; ++n) {
    level(n).counts.release();
    level(n).links.release();
    level(n).probabilities.release();
    level(n).backoffs.release();
    trie_.level(n).symbols.release();
    trie_.level(n).children.release();
    trie_.level(n).log_probabilities.release();
    trie_.level(n).log_backoffs.release();
  }
}

/// Fills the symbols and children of the trie, and the counts, from the sorted n-grams of the highest order.
void Estimation::count(CountStream& ngrams) {
  const Index order = settings_.order;
  level(1).counts.assign(static_cast<std::size_t>(settings_.alphabet) + 1, 0);
  for (Index n = 1; n < order; ++n) trie_.level(n).children.clear();
  std::vector<Code> before(static_cast<std::size_t>(order), kEndCode);
  CountedKey here;
  double done = 0;
  for (std::size_t seen = 0; ngrams.next(here); ++seen) {
    if (seen % kBetweenTicks == 0) options_.tick("collecting n-grams", done / settings_.positions);
    if (seen % between_releases_ == 0) release();
    done += here.count;
    const auto changed = static_cast<Index>(std::ranges::mismatch(here.codes, before).in1 - here.codes.begin());
    const auto length = static_cast<Index>(std::ranges::find(here.codes, kEndCode) - here.codes.begin());
    for (Index n = changed + 1; n <= length; ++n) add_ngram(n, here.codes);
    level(1).counts[here.codes[0] - 1] += here.count;
    for (Index n = 2; n <= length; ++n) level(n).counts.back() += here.count;
    std::swap(before, here.codes);
  }
  for (Index n = 1; n < order; ++n) {
    const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
    trie_.level(n).children.resize(level(n).counts.size() + 1, children);
  }
}

/// Adds the n-gram of the first n codes, which is not yet in the trie.
void Estimation::add_ngram(Index n, const std::vector<Code>& codes) {
  NgramLevel& stored = trie_.level(n);
  if (n > 1) stored.symbols.push_back(codes[static_cast<std::size_t>(n - 1)] - 1);
  if (n > 1) level(n).counts.push_back(0);
  if (n == settings_.order) return;
  const auto children = static_cast<std::uint32_t>(trie_.level(n + 1).symbols.size());
  if (n > 1) stored.children.push_back(children);
  while (n == 1 && stored.children.size() < codes[0]) stored.children.push_back(children);  // absent symbols, too
}

void Estimation::group() {
  level(1).groups.resize(static_cast<std::size_t>(settings_.alphabet) + 2);
  for (std::uint32_t w = 0; w < level(1).groups.size(); ++w) level(1).groups[w] = w;
  for (Index n = 2; n <= settings_.order; ++n)
    for (const std::uint32_t first : level(n - 1).groups) level(n).groups.push_back(trie_.level(n - 1).children[first]);
}

/// Returns the end of a block of n-grams of level n. It has at most block_ units, or one n-gram.
std::uint32_t Estimation::end_of_block(Index n, std::uint32_t begin, std::uint32_t end, Unit unit) {
  if (unit == Unit::ngrams) return end - begin > block_ ? begin + block_ : end;
  const std::uint32_t* const children = trie_.level(n).children.data();
  const std::uint64_t most = std::uint64_t{children[begin]} + block_;
  const auto first_above = std::upper_bound(children + begin, children + end + 1, most) - children;
  return std::clamp(static_cast<std::uint32_t>(first_above - 1), begin + 1, end);
}

/// Calls use(first, begin, end) for stretches [begin, end) of all n-grams of level n with the same first symbol. The
/// stretches that follow each other have links in the same block of level n - 1; the threads divide level n - 1. `use`
/// returns the number of n-grams that it read.
template <class Use>
void Estimation::for_each_stretch(Index n, Unit unit, const Use& use) {
  const GrowingArray<std::uint32_t>& children = trie_.level(n - 1).children;
  const std::uint32_t* const link = links(n).data();
  const std::vector<std::uint32_t>& groups = level(n).groups;
  const auto nodes = static_cast<std::uint32_t>(children.size() - 1), all = children.back();
  const auto cut = [&](Index child) {
    if (child >= static_cast<Index>(all)) return nodes;
    return static_cast<std::uint32_t>(std::ranges::lower_bound(children, static_cast<std::uint32_t>(child)) -
                                      children.begin());
  };
  team_.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(all));
    const std::uint32_t last = cut(mine.end);
    std::uint32_t begin = cut(mine.begin);
    std::vector<std::uint32_t> at(groups.size() - 1);
    for (std::size_t w = 0; w < at.size(); ++w)
      at[w] = static_cast<std::uint32_t>(std::lower_bound(link + groups[w], link + groups[w + 1], begin) - link);
    std::size_t used = 0;
    while (begin < last) {
      const std::uint32_t end = end_of_block(n - 1, begin, last, unit);
      for (std::size_t w = 0; w < at.size(); ++w) {
        std::uint32_t x = at[w];
        while (x < groups[w + 1] && link[x] < end) ++x;
        if (x == at[w]) continue;
        used += use(w, at[w], x);
        at[w] = x;
        pause(me, used);
      }
      begin = end;
    }
  });
  release();
}

/// Computes the links of level n from those of level n - 1, for n > 2.
void Estimation::link(Index n) {
  enter("linking", n - 1);
  std::uint32_t* const out = level(n).links.more(level(n).counts.size());
  const std::uint32_t* const symbols = trie_.level(n).symbols.data();
  const std::uint32_t* const children = trie_.level(n - 1).children.data();
  const std::uint32_t* const shorter = links(n - 1).data();
  for_each_stretch(n - 1, Unit::children, [&](std::size_t /*first*/, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t p = begin; p < end; ++p)
      for (std::uint32_t x = children[p]; x < children[p + 1]; ++x) out[x] = trie_.child(n - 2, shorter[p], symbols[x]);
    return std::size_t{children[end] - children[begin]};
  });
}

/// Below the highest order: replaces counts with the number of different symbols before an n-gram, except for n-grams
/// that begin a sentence, which are the last of their level, from `first_begin` on.
void Estimation::adjust(Index n, std::uint32_t first_begin) {
  std::uint32_t* const adjusted = level(n).counts.data();
  std::fill_n(adjusted, first_begin, 0);
  release();
  const std::uint32_t* const link = links(n + 1).data();
  for_each_stretch(n + 1, Unit::ngrams, [&](std::size_t /*first*/, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t x = begin; x < end; ++x) ++adjusted[link[x]];
    return std::size_t{end - begin};
  });
}

/// Returns the discounts D(k) of Chen and Goodman for k = 0, 1, 2 and more.
std::array<double, 4> Estimation::discounts(Index n) {
  std::array<double, 5> seen{};  // number of n-grams with each count
  const auto& all = level(n).counts;
  for (std::size_t i = 0; i < all.size() - (n == 1 ? 1 : 0); ++i) {
    if (all[i] <= 4) ++seen[all[i]];
    if ((i + 1) % between_releases_ == 0) all.release();
  }
  std::array<double, 4> d{};
  const double y = seen[1] / (seen[1] + 2 * seen[2]);
  bool defined = seen[1] > 0 && seen[2] > 0 && seen[3] > 0;
  for (std::size_t k = 1; defined && k <= 3; ++k) {
    d[k] = static_cast<double>(k) - static_cast<double>(k + 1) * y * seen[k + 1] / seen[k];
    defined = d[k] > 0 && d[k] <= static_cast<double>(k);
  }
  return defined ? d : std::array<double, 4>{0, 0.5, 1, 1.5};
}

void Estimation::unigrams() {
  const auto& all = level(1).counts;
  const std::size_t symbols = all.size() - 1;  // without the beginning of a sentence
  const auto d = discounts(1);
  const bool kneser_ney = settings_.smoothing == Smoothing::kneser_ney;
  const double uniform = 1 / static_cast<double>(symbols);
  double total = 0, left = 0;
  for (std::size_t x = 0; x < symbols; ++x) {
    total += all[x];
    left += kneser_ney ? d[std::min<std::uint32_t>(all[x], 3)] : all[x] > 0 ? 1 : 0;
  }
  const double scale = kneser_ney ? total : total + left;
  GrowingArray<double>& p = level(1).probabilities;
  p.assign(all.size(), uniform);  // the entry of the beginning of a sentence is never used
  for (std::size_t x = 0; x < symbols && total > 0; ++x) {
    const double kept = kneser_ney ? all[x] - d[std::min<std::uint32_t>(all[x], 3)] : all[x];
    p[x] = (kept + left * uniform) / scale;
  }
}

/// Sets the probabilities of level n to the discounted relative frequencies, and the backoffs of level n - 1.
void Estimation::discount(Index n) {
  const std::uint32_t *const children = trie_.level(n - 1).children.data(), *const counts = level(n).counts.data();
  const auto d = discounts(n);
  const bool kneser_ney = settings_.smoothing == Smoothing::kneser_ney;
  const std::size_t contexts = trie_.level(n - 1).children.size() - 1;
  double* const p = level(n).probabilities.more(level(n).counts.size());
  double* const backoffs = level(n - 1).backoffs.more(contexts);
  team_.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(contexts));
    std::size_t used = 0;
    for (auto h = static_cast<std::size_t>(mine.begin); h < static_cast<std::size_t>(mine.end); ++h) {
      const std::uint32_t begin = children[h], end = children[h + 1];
      double total = 0, left = 0;
      for (std::uint32_t x = begin; x < end; ++x) {
        total += counts[x];
        left += kneser_ney ? d[std::min<std::uint32_t>(counts[x], 3)] : 1;
      }
      const double scale = kneser_ney ? total : total + left;
      backoffs[h] = begin < end ? left / scale : 1;
      for (std::uint32_t x = begin; x < end; ++x) {
        const double count = counts[x];
        p[x] = (kneser_ney ? count - d[std::min<std::uint32_t>(counts[x], 3)] : count) / scale;
      }
      used += end - begin + 1;
      pause(me, used);
    }
  });
}

/// Computes the probabilities of level n from those of level n - 1, and the backoffs of level n - 1.
void Estimation::extend(Index n) {
  discount(n);
  const std::uint32_t *const children = trie_.level(n - 1).children.data(), *const link = links(n).data();
  const double *const backoffs = level(n - 1).backoffs.data(), *const lower = level(n - 1).probabilities.data();
  double* const p = level(n).probabilities.data();
  const std::vector<std::uint32_t>& contexts = level(n - 1).groups;
  for_each_stretch(n, Unit::ngrams, [&](std::size_t first, std::uint32_t begin, std::uint32_t end) {
    std::uint32_t x = begin;
    const std::uint32_t *const of_first = children + contexts[first], *const after = children + contexts[first + 1];
    for (const std::uint32_t* next = std::upper_bound(of_first, after, begin); x < end; ++next) {
      const double backoff = backoffs[static_cast<std::size_t>(next - children) - 1];
      for (const std::uint32_t stop = std::min(end, *next); x < stop; ++x) p[x] += backoff * lower[link[x]];
    }
    return std::size_t{end - begin};
  });
  store_logarithms(level(n - 1).backoffs, trie_.level(n - 1).log_backoffs);
  store_logarithms(level(n).probabilities, trie_.level(n).log_probabilities);
}

void Estimation::store_logarithms(const GrowingArray<double>& x, GrowingArray<float>& out) {
  out.clear();
  out.more(x.size());
  team_.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(x.size()));
    std::array<double, 1024> logs{};
    std::size_t used = 0;
    for (Index begin = mine.begin; begin < mine.end; begin += static_cast<Index>(logs.size())) {
      const Index size = std::min(static_cast<Index>(logs.size()), mine.end - begin);
      vector_log(x.data() + begin, logs.data(), size);
      std::copy_n(logs.begin(), size, out.begin() + begin);
      used += static_cast<std::size_t>(size);
      pause(me, used);
    }
  });
}

void Estimation::estimate() {
  unigrams();
  store_logarithms(level(1).probabilities, trie_.level(1).log_probabilities);
  for (Index n = 2; n <= settings_.order; ++n) {
    enter("estimating", n);
    extend(n);
    level(n - 1) = {};
    level(n).links = {};
  }
}

}  // namespace

NgramTrie estimate_ngrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order,
                          Smoothing smoothing, const FitOptions& options, Team& team) {
  SentenceNgrams ngrams(sentences, alphabet, order);
  const auto positions = static_cast<double>(std::max<Index>(1, ngrams.symbols()));
  return Estimation(ngrams, {order, alphabet, smoothing, positions}, options, team).take();
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
  const auto positions = static_cast<double>(std::max<Index>(1, part.symbols()));
  return Estimation(*ngrams, {order, alphabet, smoothing, positions}, options, team).take();
}

}  // namespace unfold
