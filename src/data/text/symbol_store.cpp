#include "data/text/symbol_store.h"

#include <cstring>

namespace unfold {
namespace {

constexpr std::size_t kStoreBlock = std::size_t{4} << 20;

template <class T>
void widen(const char* from, std::span<Symbol> out) {
  for (Symbol& symbol : out) {
    T value;
    std::memcpy(&value, from, sizeof value);
    symbol = static_cast<Symbol>(value);
    from += sizeof value;
  }
}

}  // namespace

SymbolStore::SymbolStore(Index alphabet_size, Index memory_limit)
    : width_(alphabet_size <= 256     ? 1
             : alphabet_size <= 65536 ? 2
                                      : 4),
      memory_limit_(memory_limit) {}

void SymbolStore::append(Symbol symbol) {
  const char* bytes = reinterpret_cast<const char*>(&symbol);  // little-endian: the low bytes come first
  buffer_.insert(buffer_.end(), bytes, bytes + width_);
  ++size_;
  if (buffer_.size() > (file_ ? kStoreBlock : static_cast<std::size_t>(memory_limit_))) spill();
}

void SymbolStore::spill() {
  if (!file_) file_ = std::make_unique<UnnamedFile>("the tokenized corpus");
  file_->append(std::as_bytes(std::span(buffer_)));
  buffer_ = {};
}

void SymbolStore::finish() {
  buffer_.shrink_to_fit();
  if (!file_) return;
  spill();
  mapping_ = MappedFile(file_->descriptor(), file_->size(), UnnamedFile::folder());
  file_.reset();
}

void SymbolStore::read(Index begin, std::span<Symbol> out) const {
  const char* from = (!mapping_.bytes().empty() ? mapping_.bytes().data() : buffer_.data()) + begin * width_;
  if (width_ == 1) {
    widen<std::uint8_t>(from, out);
  } else if (width_ == 2) {
    widen<std::uint16_t>(from, out);
  } else {
    widen<std::uint32_t>(from, out);
  }
}

}  // namespace unfold
