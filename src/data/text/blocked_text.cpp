#include "data/text/blocked_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {

BlockSymbols BlockCache::find(const void* text, Index block) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.text != text || entry.block != block) continue;
    entry.used = ++clock_;
    return entry.symbols;
  }
  return nullptr;
}

void BlockCache::put(const void* text, Index block, BlockSymbols symbols) {
  const std::lock_guard lock(mutex_);
  Entry entry{text, block, std::move(symbols), ++clock_};
  if (entries_.size() < most_)
    entries_.push_back(std::move(entry));
  else
    *std::ranges::min_element(entries_, {}, &Entry::used) = std::move(entry);
}

BlockedText::BlockedText(BlockFile file, std::span<const BlockMark> marks, std::shared_ptr<BlockCache> cache)
    : file_(std::move(file)), first_(1), cache_(std::move(cache)) {
  for (const BlockMark& mark : marks) {
    first_.push_back(first_.back() + static_cast<Index>(mark.symbols));
    digests_.push_back(mark.digest);
  }
}

Index BlockedText::block_of(Index symbol) const {
  return std::ranges::upper_bound(first_, symbol) - first_.begin() - 1;
}

TextBlock BlockedText::checked(Index block) const {
  TextBlock text = file_.read(block);
  if (digest_of(text.bytes) != digests_[at(block)])
    throw RuntimeFailure(
        fmt::format("{}: bytes {} to {} have changed since they were counted; give all processes the same file, and "
                    "do not change it while the command runs",
                    name(), text.begin, text.begin + static_cast<Index>(text.bytes.size())));
  return text;
}

BlockSymbols BlockedText::symbols_of(const Alphabet& alphabet, Index block) const {
  if (BlockSymbols kept = cache_->find(this, block)) return kept;
  const TextBlock text = checked(block);
  const auto count = at(first_[at(block + 1)] - first_[at(block)]);
  auto symbols = std::make_shared<std::vector<Symbol>>();
  symbols->reserve(count);
  for (Index position = 0; position < static_cast<Index>(text.bytes.size());) {
    const Symbol symbol = alphabet.next_token(text.bytes, position).symbol;
    if (symbol != kNoSymbol) symbols->push_back(symbol);
  }
  if (symbols->size() < count) symbols->push_back(alphabet.line_end());  // the missing line ending of the last line
  cache_->put(this, block, symbols);
  return symbols;
}

void BlockedText::read(const Alphabet& alphabet, Index begin, std::span<Symbol> out) const {
  for (Index block = block_of(begin); !out.empty(); ++block) {
    const BlockSymbols symbols = symbols_of(alphabet, block);
    const std::span<const Symbol> here = std::span(*symbols).subspan(at(begin - first_[at(block)]));
    const std::size_t taken = std::min(here.size(), out.size());
    std::ranges::copy(here.first(taken), out.begin());
    out = out.subspan(taken);
    begin += static_cast<Index>(taken);
  }
}

Index BlockedText::bytes_before(const Alphabet& alphabet, Index symbol) const {
  if (symbol == 0) return 0;
  if (symbol == symbols()) return file_.size();
  const Index block = block_of(symbol - 1);
  const TextBlock text = checked(block);
  Index position = 0;
  for (Index left = symbol - first_[at(block)]; left > 0; --left) alphabet.next_token(text.bytes, position);
  return text.begin + position;
}

}  // namespace unfold
