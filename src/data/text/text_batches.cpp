#include "unfold/data/text/text_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "data/text/shards.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// With several streams, the state is reset within a longer sequence after this many windows, at a different time for
/// each stream.
constexpr Index kResetInterval = 128;

/// Concatenates all pieces in a circle and cuts it into equal streams, the first of which starts at `offset`.
std::vector<std::vector<Passage>> cut_into_streams(const std::vector<Piece>& pieces, Index symbols, Index streams,
                                                   Index offset, Index window) {
  const Index stretch = streams > 1 ? kResetInterval * window : symbols;
  std::size_t piece = 0;
  Index within = offset;  // symbols of the piece already assigned
  while (within >= pieces[piece].range.size()) within -= pieces[piece++].range.size();
  std::vector<std::vector<Passage>> result(at(streams));
  for (Index b = 0; b < streams; ++b) {
    Index left = symbols * (b + 1) / streams - symbols * b / streams;
    Index until_fresh = window * (1 + kResetInterval * b / streams);
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

/// Assigns each passage, the longest first, to the stream with the smallest load.
std::vector<std::vector<Passage>> spread(const std::vector<Passage>& passages, Index streams) {
  std::vector<Index> lengths(passages.size());
  std::ranges::transform(passages, lengths.begin(), [](const Passage& passage) { return passage.range.size(); });
  std::vector<std::vector<Passage>> result;
  for (const std::vector<Index>& dealt : deal(lengths, streams)) {
    std::vector<Passage>& stream = result.emplace_back();
    stream.reserve(dealt.size());
    for (const Index number : dealt) stream.push_back(passages[at(number)]);
  }
  return result;
}

std::vector<Passage> segments(const Split& part, Index length, Index warmup) {
  std::vector<Passage> passages;
  Index place = 0;
  for (const Piece& piece : part.pieces) {
    const Index size = piece.range.size(), count = (size + length - 1) / length;
    for (Index i = 0; i < count; ++i) {
      const Index from = piece.range.begin + size * i / count, end = piece.range.begin + size * (i + 1) / count;
      const Index begin = std::max(piece.range.begin, from - warmup);
      passages.push_back({.sequence = piece.sequence,
                          .range = {begin, end},
                          .score_from = from,
                          .has_previous = begin > piece.range.begin,
                          .number = static_cast<Index>(passages.size()),
                          .place = place - (from - begin)});
      place += end - from;
    }
  }
  return passages;
}

/// Moves the beginning of a warm-up to the position after its first line ending, if there is one.
void start_after_line_end(const Corpus& corpus, Passage& passage) {
  const Symbol line_end = corpus.alphabet().line_end();
  if (line_end == kNoSymbol || !passage.has_previous) return;
  const std::vector<Symbol> before = corpus.read(passage.sequence, {passage.range.begin - 1, passage.score_from});
  const auto found = std::find(before.begin(), before.end(), line_end);
  if (found == before.end()) return;
  const Index skipped = found - before.begin();
  passage.range.begin += skipped;
  passage.place += skipped;
}

}  // namespace

template <class T>
Network<T> text_network(const std::shared_ptr<const Plan>& plan, Signal symbols, Signal logits, bool dropout) {
  return Network<T>::of(plan, {kPreviousSymbol, symbols}, {kSymbol, logits, softmax_loss<T>()}, dropout);
}

template Network<float> text_network(const std::shared_ptr<const Plan>&, Signal, Signal, bool);
template Network<double> text_network(const std::shared_ptr<const Plan>&, Signal, Signal, bool);

StreamReader::StreamReader(const Corpus& corpus, Index window, Symbol predict_after, const LocalShards& own)
    : corpus_(corpus), window_(window), predict_after_(predict_after), own_(own) {
  if (predict_after != kNoSymbol || corpus.has_mask()) own_ = {};  // the predicted symbols depend on all symbols
}

void StreamReader::start(std::vector<std::vector<Passage>> streams) {
  streams_ = std::move(streams);
  std::vector<std::vector<Index>> lengths(streams_.size());
  for (std::size_t b = 0; b < streams_.size(); ++b)
    for (const Passage& passage : streams_[b]) lengths[b].push_back(passage.range.size());
  lanes_ = Lanes(std::move(lengths));
}

bool StreamReader::next(Batch& batch) {
  if (!lanes_.next(window_, stretches_, batch.carry)) return false;
  lengths_.clear();
  batch.passages.clear();
  batch.places.clear();
  for (const Lanes::Stretch& stretch : stretches_) {
    const Passage& passage = streams_[stretch.lane][stretch.item];
    batch.passages.push_back(passage.number);
    batch.places.push_back(passage.place + stretch.first);
    lengths_.push_back(stretch.length);
  }
  if (lengths_ != laid_ || batch.structure.sequences() != static_cast<Index>(lengths_.size())) {
    batch.structure = Structure::chains(lengths_);
    laid_ = lengths_;
  }
  batch.symbol_field(kPreviousSymbol).symbols.resize(at(batch.structure.positions()));
  batch.symbol_field(kSymbol).symbols.resize(at(batch.structure.positions()));
  batch.predicted = batch.symbols = 0;
  const std::vector<Index> shards = own_.all() ? std::vector<Index>() : shards_of_chains(batch, own_.shards);
  for (std::size_t c = 0; c < stretches_.size(); ++c) {
    const Lanes::Stretch& stretch = stretches_[c];
    const Passage& passage = streams_[stretch.lane][stretch.item];
    const Index begin = passage.range.begin + stretch.first;
    const bool own = shards.empty() || (own_.own.begin <= shards[c] && shards[c] < own_.own.end);
    fill(batch, static_cast<Index>(c), passage, {begin, begin + stretch.length}, own);
  }
  return true;
}

void StreamReader::fill(Batch& batch, Index chain, const Passage& passage, Range range, bool own) {
  const Index before = range.begin > passage.range.begin || passage.has_previous ? 1 : 0;
  buffer_.assign(at(range.size() + 1), 0);
  if (own)
    corpus_.read(passage.sequence, range.begin - before,
                 std::span(buffer_).subspan(at(1 - before), at(range.size() + before)));
  if (before == 0) buffer_[0] = kNoSymbol;
  const Index* rows = batch.structure.order().rows.data() + batch.structure.item(chain, 0);
  Symbol* const inputs = batch.symbol_field(kPreviousSymbol).symbols.data();
  Symbol* const targets = batch.symbol_field(kSymbol).symbols.data();
  for (Index t = 0; t < range.size(); ++t) {
    const Symbol input = buffer_[at(t)];
    const bool scored = range.begin + t >= passage.score_from;
    const bool predicted = scored && (predict_after_ == kNoSymbol || input == predict_after_) &&
                           corpus_.is_predicted(passage.sequence, range.begin + t);
    inputs[rows[t]] = input;
    targets[rows[t]] = predicted ? buffer_[at(t + 1)] : kNoSymbol;
    batch.symbols += scored;
    batch.predicted += predicted;
  }
}

TextBatches::TextBatches(const Corpus& corpus, const Split& part, const BatchOptions& options, std::uint64_t seed)
    : part_(part),
      options_(options),
      seed_(seed),
      reader_(corpus, options.whole_sequences ? std::numeric_limits<Index>::max() : options.window,
              options.predict_after, options.own) {
  batch_.whole = options.whole_sequences;
  if (options.window < 1) throw UsageError(fmt::format("window {}: must be at least 1 symbol", options.window));
  if (options.batch < 1) throw UsageError(fmt::format("batch {}: must be at least 1", options.batch));
  if (options.curriculum.each_epoch && !options.whole_sequences)
    throw UsageError(
        "a curriculum in each epoch reads whole prefixes of sequences, but text is read in windows; use "
        "--whole-sequences, or leave out --curriculum-each-epoch");
  if (part.empty()) throw UsageError("the training part is empty; use more data, or a larger training share");
  require_predictions(corpus, part, options.predict_after);
  // The number of streams is computed from the whole part, so the state keeps its size as a curriculum grows.
  const Index most = options.whole_sequences ? static_cast<Index>(part.pieces.size()) : part.symbols();
  streams_ = std::min(options.batch, most);
  start_epoch();
  read();
}

Index TextBatches::longest() const {
  Index most = 0;
  for (const Piece& piece : part_.pieces) most = std::max(most, piece.range.size());
  return most;
}

/// Returns the pieces in the order of the epoch, truncated by the curriculum.
std::vector<Piece> TextBatches::pieces_of_epoch() const {
  std::vector<Piece> pieces = part_.pieces;
  Random random(seed_, stream_of("batches/order") + static_cast<std::uint64_t>(epoch_));
  for (std::size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random.below(i)]);
  std::vector<Piece> result;
  result.reserve(pieces.size());
  for (const Curriculum::Pass& pass : options_.curriculum.passes(epoch_, longest()))
    for (Piece piece : pieces) {
      const Index length = piece.range.size();
      if (!pass.reads(length)) continue;
      piece.range.end = piece.range.begin + pass.prefix(length);
      result.push_back(piece);
    }
  return result;
}

bool TextBatches::shortened() const { return options_.curriculum.shortens(epoch_, longest()); }

void TextBatches::start_epoch() {
  pieces_ = pieces_of_epoch();
  if (options_.whole_sequences) {
    batches_ = (static_cast<Index>(pieces_.size()) + streams_ - 1) / streams_;
    return;
  }
  Index symbols = 0;
  for (const Piece& piece : pieces_) symbols += piece.range.size();
  Random random(seed_, stream_of("batches/offset") + static_cast<std::uint64_t>(epoch_));
  const auto offset = static_cast<Index>(random.below(static_cast<std::uint64_t>(symbols)));
  reader_.start(cut_into_streams(pieces_, symbols, std::min(streams_, symbols), offset, options_.window));
  batches_ = reader_.batches();
}

void TextBatches::read() {
  if (options_.whole_sequences) {
    std::vector<std::vector<Passage>> streams;
    const Index end = std::min(static_cast<Index>(pieces_.size()), (position_ + 1) * streams_);
    for (Index i = position_ * streams_; i < end; ++i) {
      const Piece& piece = pieces_[at(i)];
      streams.push_back({{.sequence = piece.sequence,
                          .range = piece.range,
                          .score_from = piece.range.begin,
                          .has_previous = false,
                          .number = 0,
                          .place = 0}});
    }
    reader_.start(std::move(streams));
  }
  reader_.next(batch_);
}

void TextBatches::advance() {
  if (++position_ == batches_) {
    position_ = 0;
    ++epoch_;
    start_epoch();
  }
  read();
}

void TextBatches::seek(Index epoch, Index batch) {
  epoch_ = epoch;
  position_ = batch;
  start_epoch();
  if (batch < 0 || batch >= batches_)
    throw UsageError(fmt::format("the training data has no batch {} in epoch {}", batch, epoch));
  if (!options_.whole_sequences) reader_.skip(batch);
  read();
}

void require_predictions(const Corpus& corpus, const Split& part, Symbol predict_after) {
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
  throw DataError(fmt::format("the {} part contains no symbols to predict: {}", part.name,
                              corpus.has_mask() ? "the mask is 0 everywhere in this part"
                                                : "the symbol given by predict_after does not occur in it"));
}

std::vector<std::vector<Passage>> scoring_streams(const Corpus& corpus, const Split& part, Index streams,
                                                  Index warmup) {
  if (part.empty()) return {};
  const Index length = std::max<Index>(1, (part.symbols() + streams - 1) / streams);
  std::vector<Passage> passages = segments(part, length, warmup);
  for (Passage& passage : passages) start_after_line_end(corpus, passage);
  return spread(passages, streams);
}

std::vector<std::vector<Passage>> exact_streams(const Split& part, Index streams) {
  if (part.empty()) return {};
  return spread(segments(part, std::numeric_limits<Index>::max() / 2, 0), streams);
}

}  // namespace unfold
