#include "unfold/data/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Several lanes start anew within a longer sequence after so many windows, not all at once.
constexpr Index kFreshAfter = 128;

/// The circular row of all pieces, cut into equal lanes, the first of which starts at `offset`.
std::vector<std::vector<Run>> cut_into_lanes(const std::vector<Piece>& pieces, Index symbols, Index lanes, Index offset,
                                             Index window) {
  const Index stretch = lanes > 1 ? kFreshAfter * window : symbols;
  std::size_t piece = 0;
  Index within = offset;  // symbols of the piece already given away
  while (within >= pieces[piece].range.size()) within -= pieces[piece++].range.size();
  std::vector<std::vector<Run>> result(at(lanes));
  for (Index b = 0; b < lanes; ++b) {
    Index left = symbols * (b + 1) / lanes - symbols * b / lanes;
    Index until_fresh = window * (1 + kFreshAfter * b / lanes);
    while (left > 0) {
      const Piece& p = pieces[piece];
      const Index begin = p.range.begin + within;
      const Index take = std::min({left, p.range.end - begin, p.range.size() > stretch ? until_fresh : left});
      result[at(b)].push_back({.sequence = p.sequence,
                               .range = {begin, begin + take},
                               .score_from = begin,
                               .has_previous = within > 0,
                               .number = 0,
                               .place = 0});
      left -= take;
      within += take;
      until_fresh -= take;
      if (within == p.range.size()) {
        within = 0;
        piece = (piece + 1) % pieces.size();
      }
      if (until_fresh <= 0) until_fresh += stretch;
    }
  }
  return result;
}

/// Gives each run, the longest first, to the lane with the least to do.
std::vector<std::vector<Run>> spread(std::vector<Run> runs, Index lanes) {
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.range.size() > b.range.size(); });
  lanes = std::min(lanes, static_cast<Index>(runs.size()));
  using Load = std::pair<Index, Index>;  // symbols, lane
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (Index b = 0; b < lanes; ++b) loads.push({0, b});
  std::vector<std::vector<Run>> result(at(lanes));
  for (const Run& run : runs) {
    const auto [load, lane] = loads.top();
    loads.pop();
    result[at(lane)].push_back(run);
    loads.push({load + run.range.size(), lane});
  }
  return result;
}

std::vector<Run> segments(const Part& part, Index length, Index warmup) {
  std::vector<Run> runs;
  Index place = 0;
  for (const Piece& piece : part.pieces) {
    const Index size = piece.range.size(), count = (size + length - 1) / length;
    for (Index i = 0; i < count; ++i) {
      const Index from = piece.range.begin + size * i / count, end = piece.range.begin + size * (i + 1) / count;
      const Index begin = std::max(piece.range.begin, from - warmup);
      runs.push_back({.sequence = piece.sequence,
                      .range = {begin, end},
                      .score_from = from,
                      .has_previous = begin > piece.range.begin,
                      .number = static_cast<Index>(runs.size()),
                      .place = place - (from - begin)});
      place += end - from;
    }
  }
  return runs;
}

/// Moves the start of a warm-up to just after the first line end in it, if there is one.
void start_after_line_end(const Corpus& corpus, Run& run) {
  const Symbol line_end = corpus.alphabet().line_end();
  if (line_end == kNoSymbol || !run.has_previous) return;
  const std::vector<Symbol> before = corpus.read(run.sequence, {run.range.begin - 1, run.score_from});
  const auto found = std::find(before.begin(), before.end(), line_end);
  if (found == before.end()) return;
  const Index skipped = found - before.begin();
  run.range.begin += skipped;
  run.place += skipped;
}

}  // namespace

LaneReader::LaneReader(const Corpus& corpus, Index window, Symbol predict_after)
    : corpus_(corpus), window_(window), predict_after_(predict_after) {}

void LaneReader::start(std::vector<std::vector<Run>> lanes) {
  lanes_ = std::move(lanes);
  cursors_.assign(lanes_.size(), {});
}

Index LaneReader::windows() const {
  Index longest = 0;
  for (const auto& lane : lanes_) {
    Index symbols = 0;
    for (const Run& run : lane) symbols += run.range.size();
    longest = std::max(longest, symbols);
  }
  return longest == 0 ? 0 : (longest - 1) / window_ + 1;
}

void LaneReader::skip(Index windows) {
  for (std::size_t b = 0; b < lanes_.size(); ++b) {
    Cursor& cursor = cursors_[b];
    Index left = windows * window_;
    while (left > 0 && cursor.run < lanes_[b].size()) {
      const Index take = std::min(left, lanes_[b][cursor.run].range.size() - cursor.offset);
      cursor.offset += take;
      left -= take;
      if (cursor.offset == lanes_[b][cursor.run].range.size()) cursor = {cursor.run + 1, 0};
    }
  }
}

bool LaneReader::next(Window& window) {
  chains_.clear();
  lengths_.clear();
  window.slots.clear();
  window.fresh.clear();
  window.moves.clear();
  window.runs.clear();
  window.places.clear();
  Index spare = static_cast<Index>(lanes_.size());
  for (std::size_t b = 0; b < lanes_.size(); ++b) {
    Cursor& cursor = cursors_[b];
    const auto lane = static_cast<Index>(b);
    Index left = window_, slot = lane;
    while (left > 0 && cursor.run < lanes_[b].size()) {
      const Run& run = lanes_[b][cursor.run];
      const Index begin = run.range.begin + cursor.offset, take = std::min(left, run.range.end - begin);
      if (left < window_) slot = spare++;
      if (cursor.offset == 0) window.fresh.push_back(slot);
      window.slots.push_back(slot);
      window.runs.push_back(run.number);
      window.places.push_back(run.place + cursor.offset);
      chains_.push_back({b, cursor.run, {begin, begin + take}});
      lengths_.push_back(take);
      left -= take;
      cursor.offset += take;
      if (cursor.offset == run.range.size()) cursor = {cursor.run + 1, 0};
    }
    if (slot != lane) window.moves.emplace_back(slot, lane);
  }
  if (chains_.empty()) return false;
  window.slots_needed = spare;
  if (lengths_ != laid_ || window.structure.sequences() != static_cast<Index>(lengths_.size())) {
    window.structure = Structure::chains(lengths_);
    laid_ = lengths_;
  }
  window.inputs.resize(at(window.structure.positions()));
  window.targets.resize(window.inputs.size());
  window.predicted = window.symbols = 0;
  for (std::size_t c = 0; c < chains_.size(); ++c)
    fill(window, static_cast<Index>(c), lanes_[chains_[c].lane][chains_[c].run], chains_[c].range);
  return true;
}

void LaneReader::fill(Window& window, Index chain, const Run& run, Range range) {
  const Index before = range.begin > run.range.begin || run.has_previous ? 1 : 0;
  buffer_.resize(at(range.size() + 1));
  corpus_.read(run.sequence, range.begin - before,
               std::span(buffer_).subspan(at(1 - before), at(range.size() + before)));
  if (before == 0) buffer_[0] = kNoSymbol;
  const Index* rows = window.structure.order().rows.data() + window.structure.item(chain, 0);
  for (Index t = 0; t < range.size(); ++t) {
    const Symbol input = buffer_[at(t)];
    const bool scored = range.begin + t >= run.score_from;
    const bool predicted = scored && (predict_after_ == kNoSymbol || input == predict_after_) &&
                           corpus_.is_predicted(run.sequence, range.begin + t);
    window.inputs[at(rows[t])] = input;
    window.targets[at(rows[t])] = predicted ? buffer_[at(t + 1)] : kNoSymbol;
    window.symbols += scored;
    window.predicted += predicted;
  }
}

Batches::Batches(const Corpus& corpus, const Part& part, const BatchOptions& options, std::uint64_t seed)
    : part_(part),
      options_(options),
      seed_(seed),
      reader_(corpus, options.whole_sequences ? std::numeric_limits<Index>::max() : options.window,
              options.predict_after) {
  if (options.window < 1) throw UsageError(fmt::format("window {}: at least 1 symbol is needed", options.window));
  if (options.batch < 1) throw UsageError(fmt::format("batch {}: at least 1 is needed", options.batch));
  if (options.curriculum < 0) throw UsageError(fmt::format("curriculum {}: 0 or more symbols", options.curriculum));
  if (part.empty()) throw UsageError("the training part is empty");
  require_predictions(corpus, part, options.predict_after);
  // The number of lanes is that of the whole part: the state of a run keeps its size when a curriculum grows.
  const Index most = options.whole_sequences ? static_cast<Index>(part.pieces.size()) : part.symbols();
  lanes_ = std::min(options.batch, most);
  start_epoch();
  read();
}

/// The pieces in the order of the epoch, cut to the curriculum's prefix.
std::vector<Piece> Batches::pieces_of_epoch() const {
  std::vector<Piece> pieces = part_.pieces;
  Random random(seed_, stream_of("batches/order") + static_cast<std::uint64_t>(epoch_));
  for (std::size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random.below(i)]);
  if (options_.curriculum > 0)
    for (Piece& piece : pieces) piece.range.end = std::min(piece.range.end, piece.range.begin + curriculum_length());
  return pieces;
}

bool Batches::shortened() const {
  return options_.curriculum > 0 && std::any_of(part_.pieces.begin(), part_.pieces.end(), [&](const Piece& piece) {
           return piece.range.size() > curriculum_length();
         });
}

void Batches::start_epoch() {
  pieces_ = pieces_of_epoch();
  if (options_.whole_sequences) {
    windows_ = (static_cast<Index>(pieces_.size()) + lanes_ - 1) / lanes_;
    return;
  }
  Index symbols = 0;
  for (const Piece& piece : pieces_) symbols += piece.range.size();
  Random random(seed_, stream_of("batches/offset") + static_cast<std::uint64_t>(epoch_));
  const auto offset = static_cast<Index>(random.below(static_cast<std::uint64_t>(symbols)));
  reader_.start(cut_into_lanes(pieces_, symbols, std::min(lanes_, symbols), offset, options_.window));
  windows_ = reader_.windows();
}

void Batches::read() {
  if (options_.whole_sequences) {
    std::vector<std::vector<Run>> lanes;
    const Index end = std::min(static_cast<Index>(pieces_.size()), (position_ + 1) * lanes_);
    for (Index i = position_ * lanes_; i < end; ++i) {
      const Piece& piece = pieces_[at(i)];
      lanes.push_back({{.sequence = piece.sequence,
                        .range = piece.range,
                        .score_from = piece.range.begin,
                        .has_previous = false,
                        .number = 0,
                        .place = 0}});
    }
    reader_.start(std::move(lanes));
  }
  reader_.next(window_);
}

void Batches::advance() {
  if (++position_ == windows_) {
    position_ = 0;
    ++epoch_;
    start_epoch();
  }
  read();
}

void Batches::seek(Index epoch, Index window) {
  epoch_ = epoch;
  position_ = window;
  start_epoch();
  if (window < 0 || window >= windows_)
    throw UsageError(fmt::format("the training data has no window {} in epoch {}", window, epoch));
  if (!options_.whole_sequences) reader_.skip(window);
  read();
}

void require_predictions(const Corpus& corpus, const Part& part, Symbol predict_after) {
  if (!corpus.has_mask() && predict_after == kNoSymbol) return;
  constexpr Index kBlock = 65536;
  std::vector<Symbol> block;
  for (const Piece& piece : part.pieces) {
    Symbol previous = kNoSymbol;
    for (Index begin = piece.range.begin; begin < piece.range.end; begin += kBlock) {
      block.resize(at(std::min(kBlock, piece.range.end - begin)));
      corpus.read(piece.sequence, begin, block);
      for (std::size_t i = 0; i < block.size(); ++i) {
        const bool follows = predict_after == kNoSymbol || previous == predict_after;
        if (follows && corpus.is_predicted(piece.sequence, begin + static_cast<Index>(i))) return;
        previous = block[i];
      }
    }
  }
  throw DataError(fmt::format(
      "nothing is to be predicted in the {} part: {}", part.name,
      corpus.has_mask() ? "the mask holds no 1 there" : "the symbol to predict after does not occur there"));
}

std::vector<std::vector<Run>> scoring_lanes(const Corpus& corpus, const Part& part, Index lanes, Index warmup) {
  if (part.empty()) return {};
  const Index length = std::max<Index>(1, (part.symbols() + lanes - 1) / lanes);
  std::vector<Run> runs = segments(part, length, warmup);
  for (Run& run : runs) start_after_line_end(corpus, run);
  return spread(std::move(runs), lanes);
}

std::vector<std::vector<Run>> exact_lanes(const Part& part, Index lanes) {
  if (part.empty()) return {};
  return spread(segments(part, std::numeric_limits<Index>::max() / 2, 0), lanes);
}

}  // namespace unfold
