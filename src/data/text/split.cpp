#include "unfold/data/text/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kMillionths = 1000000;
constexpr Index kWhole = 100 * kMillionths;
const std::array<const char*, 3> kPartNames{"training", "validation", "test"};

/// Parses a sequence of digits; -1 for anything else.
Index parse_digits(std::string_view text) {
  Index value = -1;
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits && !text.empty() && text.size() <= 9) std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Parses a percentage, in millionths of a percent; -1 if it is malformed or above 100.
Index parse_share(std::string_view text) {
  const std::size_t point = text.find('.');
  const Index whole = parse_digits(text.substr(0, point));
  Index value = whole * kMillionths;
  if (point != std::string_view::npos) {
    std::string decimals(text.substr(point + 1));
    if (decimals.empty() || decimals.size() > 6) return -1;
    decimals.resize(6, '0');
    const Index part = parse_digits(decimals);
    if (part < 0) return -1;
    value += part;
  }
  return whole < 0 || value > kWhole ? -1 : value;
}

/// floor(n * share), exact for every n.
Index portion(Index n, Index share) { return n / kWhole * share + n % kWhole * share / kWhole; }

[[noreturn]] void fail_empty(std::size_t part, const Corpus& corpus) {
  throw DataError(
      fmt::format("the split leaves no symbols for the {} part: {} symbols are too few; choose a different split "
                  "or use more data",
                  kPartNames[part], corpus.symbols()));
}

/// Returns the part of each of `count` items, drawn at random with a fixed seed.
std::vector<std::size_t> draw_parts(Index count, const SplitShares& split) {
  constexpr std::uint64_t kSeed = 1;
  std::vector<std::size_t> order(static_cast<std::size_t>(count)), result(order.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(kSeed, "text/split");
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  Index begin = 0, share = 0;
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    share += split.shares[p];
    for (const Index end = portion(count, share); begin < end; ++begin)
      result[order[static_cast<std::size_t>(begin)]] = p;
  }
  return result;
}

std::array<Split, 3> split_sequences(const Corpus& corpus, const SplitShares& split) {
  constexpr Index kMostBlocks = 10'000;  // Split::bytes reads a few thousand symbols for each
  const Index sequences = corpus.sequences(), blocks = std::min(sequences, kMostBlocks);
  const std::vector<std::size_t> drawn = draw_parts(blocks, split);
  std::array<Split, 3> parts;
  for (std::size_t p = 0; p < parts.size(); ++p) parts[p].name = kPartNames[p];
  for (Index block = 0; block < blocks; ++block)
    for (Index s = sequences * block / blocks; s < sequences * (block + 1) / blocks; ++s)
      if (corpus.length(s) > 0)
        parts[drawn[static_cast<std::size_t>(block)]].pieces.push_back({s, {0, corpus.length(s)}});
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (split.shares[p] > 0 && parts[p].empty()) fail_empty(p, corpus);
  return parts;
}

}  // namespace

Index Split::symbols() const {
  Index total = 0;
  for (const Piece& piece : pieces) total += piece.range.size();
  return total;
}

/// Adjacent pieces of one file are measured together: locating a symbol reads words from a mark up to a few thousand
/// symbols before it, which would be too slow for each of many short lines.
Index Split::bytes(const Corpus& corpus) const {
  const auto go_on = [&](const Piece& piece, const Piece& next) {
    return next.sequence == piece.sequence + 1 && next.range.begin == 0 &&
           piece.range.end == corpus.length(piece.sequence) &&
           &corpus.source(next.sequence) == &corpus.source(piece.sequence);
  };
  Index total = 0;
  for (std::size_t i = 0; i < pieces.size();) {
    const Piece& first = pieces[i];
    while (++i < pieces.size() && go_on(pieces[i - 1], pieces[i])) {
    }
    const Piece& last = pieces[i - 1];
    total += corpus.bytes(first.sequence, first.range.begin, last.sequence, last.range.end);
  }
  return total;
}

SplitShares parse_split(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    throw UsageError(fmt::format("--split {}: {}; use for example 90/5/5 or 90/10", text, why));
  };
  SplitShares split;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (count == split.shares.size()) fail("there are more than three parts");
    split.shares[count] = parse_share(text.substr(begin, end - begin));
    if (split.shares[count++] < 0) fail(fmt::format("\"{}\" is not a percentage", text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (split.shares[0] + split.shares[1] + split.shares[2] != kWhole) fail("the parts do not sum to 100");
  if (split.shares[0] == 0) fail("the training part is empty");
  return split;
}

std::array<Split, 3> split_corpus(const Corpus& corpus, const SplitShares& split, SplitOrder order) {
  if (std::ranges::any_of(split.shares, [](Index share) { return share < 0 || share > kWhole; }) ||
      split.shares[0] + split.shares[1] + split.shares[2] != kWhole)
    throw UsageError("split: the shares of the parts must be at least 0 and sum to 100 %; use parse_split");
  if (order == SplitOrder::shuffled && corpus.sequences() >= kFewestShuffled) return split_sequences(corpus, split);
  std::array<Split, 3> parts;
  Index begin = 0, share = 0;              // begin of the part over all symbols; sum of the shares so far
  Index sequence = 0, sequence_begin = 0;  // the sequence in which the part begins
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].name = kPartNames[p];
    share += split.shares[p];
    const Index end = portion(corpus.symbols(), share);
    if (begin == end && split.shares[p] > 0) fail_empty(p, corpus);
    while (begin < end) {
      const Index sequence_end = sequence_begin + corpus.length(sequence);
      const Index piece_end = std::min(end, sequence_end);
      parts[p].pieces.push_back({sequence, {begin - sequence_begin, piece_end - sequence_begin}});
      begin = piece_end;
      if (begin < sequence_end) break;
      sequence_begin = sequence_end;
      ++sequence;
    }
  }
  return parts;
}

Split whole_corpus(const Corpus& corpus, std::string name) {
  Split part{std::move(name), {}};
  for (Index s = 0; s < corpus.sequences(); ++s) part.pieces.push_back({s, {0, corpus.length(s)}});
  return part;
}

}  // namespace unfold
