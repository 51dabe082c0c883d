#pragma once
/// The n-grams of counted sentences in ascending order.

#include <cstddef>
#include <vector>

#include "data/counts/corpus_counts.h"
#include "model/ngram/ngram.h"

namespace unfold {

class SentenceNgrams final : public CountStream {
 public:
  /// Throws DataError for more than 2^32 - 2 symbols.
  SentenceNgrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order);
  bool next(CountedKey& out) override;
  std::size_t most_keys() const override { return sorted_.size(); }
  Index symbols() const { return symbols_; }

 private:
  const Code* key(std::size_t i) const { return keys_.data() + i * order_; }

  std::size_t order_, at_ = 0;
  std::vector<Code> keys_;
  std::vector<Index> counts_;
  std::vector<std::size_t> sorted_;
  Index symbols_ = 0;
};

}  // namespace unfold
