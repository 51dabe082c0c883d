#pragma once
/// Corpora: sequences of symbols with random access, which may be larger than memory.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/file.h"
#include "unfold/base/types.h"
#include "unfold/data/alphabet.h"
#include "unfold/data/block_file.h"

namespace unfold {

struct CorpusOptions {
  UnknownPolicy unknown = UnknownPolicy::error;
  /// Each line, its line end included, is a sequence of its own; otherwise each file is one.
  bool lines = false;
  /// Tokenised symbols beyond this many bytes go to an unnamed temporary file (in $TMPDIR, else /tmp).
  Index memory_limit = Index{1} << 30;
};

/// One or many sequences of symbols of one alphabet. Immutable; cheap to move; reading is safe from several threads.
///
/// Bytes, and characters that are all ASCII, are read straight from the mapped file through a table of 256 entries;
/// everything else is kept as 1, 2 or 4 bytes per symbol, whichever is the smallest that holds the alphabet; or nothing
/// is kept, and files are read block by block (`of_blocks`). In words,
/// an unfinished last line ends in `<eos>` too, unless it holds nothing but blanks.
class Corpus {
 public:
  /// Throws DataError: invalid UTF-8, an unknown symbol (under UnknownPolicy::error), nothing left; RuntimeFailure when
  /// the temporary file cannot be written.
  static Corpus load(std::vector<Input> inputs, Alphabet alphabet, const CorpusOptions& options = {});
  static Corpus load(const std::vector<std::string>& files, Alphabet alphabet, const CorpusOptions& options = {});
  /// Files that are read block by block, each a sequence: what every process has of one that none of them holds.
  /// `marks` are those of all their blocks, with an alphabet that has all their tokens (counting/corpus_survey.h); as
  /// many blocks are kept as `kept_blocks` says, for that many places read side by side.
  static Corpus of_blocks(std::vector<BlockFile> files, std::span<const BlockMark> marks, Alphabet alphabet,
                          Index kept_blocks);
  /// A single sequence, for tests and generated text.
  static Corpus from_text(std::string text, Alphabet alphabet);

  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;
  ~Corpus();

  const Alphabet& alphabet() const { return alphabet_; }
  Index sequences() const { return static_cast<Index>(sequences_.size()); }
  Index length(Index sequence) const { return sequence_at(sequence).range.size(); }
  Index symbols() const { return symbols_; }        ///< of all sequences together
  const std::string& source(Index sequence) const;  ///< name of the file a sequence came from

  /// Fills `out` with the symbols begin, begin + 1, ... of a sequence; begin + out.size() <= length(sequence)
  /// (UsageError).
  void read(Index sequence, Index begin, std::span<Symbol> out) const;
  std::vector<Symbol> read(Index sequence, Range range) const;

  /// Uncompressed source bytes that all symbols, or those of a range, came from: blanks between words belong to the
  /// word or line end after them, symbols left out do not count. For bits per byte.
  Index bytes() const;
  Index bytes(Index sequence, Range range) const;

  /// From now on only some symbols are to be predicted: `mask` holds a `0` or `1` for every symbol of all sequences in
  /// order; blanks and line ends in it do not count. Throws DataError naming the mask: another character, another
  /// number of them than symbols, no `1` at all.
  void set_mask(const Input& mask);
  bool has_mask() const { return !mask_.empty(); }
  bool is_predicted(Index sequence, Index position) const {
    if (mask_.empty()) return true;
    require_index("corpus: position", position, length(sequence));
    return mask_[static_cast<std::size_t>(sequence_at(sequence).first + position)];
  }

  /// Source symbols that the alphabet lacks: left out, or mapped to `<unk>`.
  Index unknown() const { return unknown_; }

 private:
  struct Source;
  struct Sequence {
    Index source;
    Range range;  ///< of the symbols of the source
    Index first;  ///< number of its first symbol among those of all sequences
  };
  Corpus();
  const Sequence& sequence_at(Index sequence) const {
    require_index("corpus: sequence", sequence, sequences());
    return sequences_[static_cast<std::size_t>(sequence)];
  }
  void add_source(std::unique_ptr<Source> source, bool lines);
  void add_sequences(bool lines);

  Alphabet alphabet_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Sequence> sequences_;
  Index symbols_ = 0, unknown_ = 0;
  std::vector<bool> mask_;  ///< empty: everything is to be predicted
};

}  // namespace unfold
