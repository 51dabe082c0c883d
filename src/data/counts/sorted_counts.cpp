#include "data/counts/sorted_counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <type_traits>
#include <utility>

#include "base/storage/temporary_file.h"

namespace unfold {
namespace {

constexpr std::size_t kSmallestTable = std::size_t{1} << 12, kLeastBuffer = 64,
                      kMostBuffer = std::size_t{1} << 16;  // keys

/// Packs codes into words, with the first code in the highest bits, so words compare like the codes.
template <std::size_t W>
class Packing {
 public:
  Packing(Index codes, Code largest)
      : codes_(codes), bits_(static_cast<int>(std::bit_width(std::max(largest, Code{1})))), in_word_(64 / bits_) {}

  static bool fits(Index codes, Code largest) {
    const Packing packing(codes, largest);
    return codes <= packing.in_word_ * static_cast<Index>(W);
  }

  std::array<std::uint64_t, W> pack(std::span<const Code> key) const {
    std::array<std::uint64_t, W> words{};
    std::size_t i = 0;
    for (std::uint64_t& word : words)
      for (int k = 0; k < in_word_ && i < key.size(); ++k, ++i)
        word |= static_cast<std::uint64_t>(key[i]) << (64 - bits_ * (k + 1));
    return words;
  }
  void unpack(const std::array<std::uint64_t, W>& words, std::vector<Code>& key) const {
    key.resize(static_cast<std::size_t>(codes_));
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    std::size_t i = 0;
    for (const std::uint64_t word : words)
      for (int k = 0; k < in_word_ && i < key.size(); ++k, ++i)
        key[i] = static_cast<Code>(word >> (64 - bits_ * (k + 1)) & mask);
  }

 private:
  Index codes_;
  int bits_, in_word_;
};

template <std::size_t W>
struct TableEntry {
  std::array<std::uint64_t, W> key{};
  std::uint64_t count = 0;  // 0: empty slot
  friend bool operator<(const TableEntry& a, const TableEntry& b) { return a.key < b.key; }
};

template <std::size_t W>
class TableStream final : public CountStream {
 public:
  TableStream(std::vector<TableEntry<W>> entries, const Packing<W>& packing)
      : entries_(std::move(entries)), packing_(packing) {}
  bool next(CountedKey& key) override {
    if (at_ == entries_.size()) return false;
    packing_.unpack(entries_[at_].key, key.codes);
    key.count = static_cast<std::uint32_t>(entries_[at_++].count);
    return true;
  }
  std::size_t most_keys() const override { return entries_.size(); }

 private:
  std::vector<TableEntry<W>> entries_;
  Packing<W> packing_;
  std::size_t at_ = 0;
};

/// A sorted piece of the file, read block by block.
template <std::size_t W>
class PieceStream final : public CountStream {
 public:
  PieceStream(std::shared_ptr<const UnnamedFile> file, std::pair<std::size_t, std::size_t> entries, std::size_t block,
              const Packing<W>& packing)
      : file_(std::move(file)),
        begin_(entries.first),
        end_(entries.second),
        keys_(end_ - begin_),
        block_(block),
        packing_(packing) {}
  bool next(CountedKey& key) override {
    if (at_ == buffer_.size() && !read()) return false;
    packing_.unpack(buffer_[at_].key, key.codes);
    key.count = static_cast<std::uint32_t>(buffer_[at_++].count);
    return true;
  }
  std::size_t most_keys() const override { return keys_; }

 private:
  bool read() {
    buffer_.resize(std::min(block_, end_ - begin_));
    at_ = 0;
    if (buffer_.empty()) return false;
    file_->read(begin_ * sizeof(TableEntry<W>), std::as_writable_bytes(std::span(buffer_)));
    begin_ += buffer_.size();
    return true;
  }

  std::shared_ptr<const UnnamedFile> file_;
  std::size_t begin_, end_, keys_, block_, at_ = 0;
  Packing<W> packing_;
  std::vector<TableEntry<W>> buffer_;
};

/// A hash table with open addressing and linear probing.
template <std::size_t W>
class TableCounts final : public SortedCounts {
 public:
  explicit TableCounts(const SortedCountsOptions& options)
      : options_(options), packing_(options.codes, options.largest), table_(kSmallestTable) {}

  void add(std::span<const Code> key) override {
    if (used_ * 3 > table_.size() * 2) make_room();
    TableEntry<W>& entry = find(packing_.pack(key));
    used_ += entry.count == 0 ? 1 : 0;
    ++entry.count;
  }

  std::unique_ptr<CountStream> sorted() override {
    if (!file_) return std::make_unique<TableStream<W>>(take_sorted(), packing_);
    spill();
    table_ = {};
    const std::size_t share = options_.memory / pieces_.size() / sizeof(TableEntry<W>);
    const std::size_t block = std::clamp(share, kLeastBuffer, kMostBuffer);
    std::vector<std::unique_ptr<CountStream>> streams;
    streams.reserve(pieces_.size());
    const std::shared_ptr<const UnnamedFile> file = std::move(file_);
    for (const auto& piece : pieces_) streams.push_back(std::make_unique<PieceStream<W>>(file, piece, block, packing_));
    return merge(std::move(streams));
  }

  std::size_t pieces() const override { return pieces_.size(); }

 private:
  TableEntry<W>& find(const std::array<std::uint64_t, W>& key) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) hash = std::rotl(hash ^ word, 29) * 0x9E3779B97F4A7C15;
    const std::size_t mask = table_.size() - 1;
    std::size_t i = (hash ^ hash >> 32) & mask;
    while (table_[i].count != 0 && table_[i].key != key) i = (i + 1) & mask;
    table_[i].key = key;
    return table_[i];
  }

  /// While the table grows, the old one and a new one of twice the size exist.
  void make_room() {
    if (3 * table_.size() * sizeof(TableEntry<W>) > options_.memory) return spill();
    std::vector<TableEntry<W>> old(2 * table_.size());
    old.swap(table_);
    for (const TableEntry<W>& entry : old)
      if (entry.count != 0) find(entry.key).count = entry.count;
  }

  std::vector<TableEntry<W>> take_sorted() {
    std::erase_if(table_, [](const TableEntry<W>& entry) { return entry.count == 0; });
    std::ranges::sort(table_, std::less<>());
    return std::move(table_);
  }

  void spill() {
    if (!file_) file_ = std::make_shared<UnnamedFile>("counts");
    const std::size_t size = table_.size(), before = file_->size() / sizeof(TableEntry<W>);
    std::vector<TableEntry<W>> entries = take_sorted();
    file_->append(std::as_bytes(std::span(entries)));
    pieces_.emplace_back(before, before + entries.size());
    entries.clear();
    entries.resize(size);
    table_ = std::move(entries);
    used_ = 0;
  }

  SortedCountsOptions options_;
  Packing<W> packing_;
  std::vector<TableEntry<W>> table_;
  std::size_t used_ = 0;
  std::shared_ptr<UnnamedFile> file_;
  std::vector<std::pair<std::size_t, std::size_t>> pieces_;  // entries of the file
};

}  // namespace

std::unique_ptr<SortedCounts> make_sorted_counts(const SortedCountsOptions& options) {
  const auto fits = [&]<std::size_t W>(std::integral_constant<std::size_t, W>) {
    return Packing<W>::fits(options.codes, options.largest);
  };
  if (fits(std::integral_constant<std::size_t, 1>())) return std::make_unique<TableCounts<1>>(options);
  if (fits(std::integral_constant<std::size_t, 2>())) return std::make_unique<TableCounts<2>>(options);
  if (fits(std::integral_constant<std::size_t, 4>())) return std::make_unique<TableCounts<4>>(options);
  return std::make_unique<TableCounts<8>>(options);  // 16 codes of 32 bits
}

}  // namespace unfold
