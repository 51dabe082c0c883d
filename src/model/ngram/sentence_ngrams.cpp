#include "model/ngram/sentence_ngrams.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {

SentenceNgrams::SentenceNgrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order)
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

bool SentenceNgrams::next(CountedKey& out) {
  if (at_ == sorted_.size()) return false;
  const Code* const first = key(sorted_[at_]);
  out.codes.assign(first, first + order_);
  Index sum = 0;
  for (; at_ < sorted_.size() && std::equal(first, first + order_, key(sorted_[at_])); ++at_)
    sum += counts_[sorted_[at_]];
  out.count = static_cast<std::uint32_t>(sum);
  return true;
}

}  // namespace unfold
