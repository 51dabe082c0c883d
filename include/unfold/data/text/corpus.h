#pragma once
/// Corpora: sequences of symbols with random access, which may be larger than memory.
///
///   const std::vector<std::string> files = {"book.txt"};
///   const Corpus corpus = Corpus::load(files, build_alphabet(files, {.kind = SymbolKind::chars}));
///   const auto [training, validation, test] = split_corpus(corpus, parse_split("90/5/5"));   // split.h

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"
#include "unfold/data/text/alphabet.h"
#include "unfold/data/text/block_file.h"

namespace unfold {

struct CorpusOptions {
  UnknownPolicy unknown = UnknownPolicy::error;
  /// Each line, including its line ending, is a separate sequence; otherwise each file is one sequence.
  bool lines = false;
  /// Tokenized symbols beyond this many bytes are written to an unnamed temporary file (in $TMPDIR, otherwise /tmp).
  Index memory_limit = Index{1} << 30;
};

/// One or more sequences of symbols of one alphabet. Immutable; cheap to move; thread-safe for reading.
///
/// Bytes, and characters that are all ASCII, are read directly from the mapped file through a table of 256 entries;
/// other symbols are stored in 1, 2 or 4 bytes each, the smallest width that holds the alphabet. With `of_blocks`
/// nothing is stored, and files are read block by block. With words, a last line without line ending also ends with
/// `<eos>`, unless it contains only blanks.
class Corpus {
 public:
  /// Throws DataError for invalid UTF-8, for an unknown symbol (under UnknownPolicy::error), and if no symbols are
  /// left; RuntimeFailure if the temporary file cannot be written.
  static Corpus load(std::vector<Input> inputs, Alphabet alphabet, const CorpusOptions& options = {});
  static Corpus load(const std::vector<std::string>& files, Alphabet alphabet, const CorpusOptions& options = {});
  /// Returns a corpus over files that are read block by block, each one sequence; several processes can share files
  /// that none of them keeps in memory. `marks` contains the marks of all blocks, and the alphabet contains all tokens.
  /// `kept_blocks`: size of the block cache, at least the number of positions that are read in parallel.
  static Corpus of_blocks(std::vector<BlockFile> files, std::span<const BlockMark> marks, Alphabet alphabet,
                          Index kept_blocks);
  /// Returns a single sequence, for tests and generated text.
  static Corpus from_text(std::string text, Alphabet alphabet);

  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;
  ~Corpus();

  const Alphabet& alphabet() const { return alphabet_; }
  Index sequences() const { return static_cast<Index>(sequences_.size()); }
  Index length(Index sequence) const { return sequence_at(sequence).range.size(); }
  Index symbols() const { return symbols_; }        ///< number of symbols of all sequences together
  const std::string& source(Index sequence) const;  ///< name of the file a sequence came from

  /// Fills `out` with the symbols begin, begin + 1, ... of a sequence; begin + out.size() must be at most
  /// length(sequence) (UsageError).
  void read(Index sequence, Index begin, std::span<Symbol> out) const;
  std::vector<Symbol> read(Index sequence, Range range) const;

  /// Returns the number of uncompressed source bytes of all symbols, or of those in a range, for bits per byte. Blanks
  /// between words belong to the following word or line ending; symbols that were left out do not count.
  Index bytes() const;
  Index bytes(Index sequence, Range range) const;
  /// Like the function above, from position `begin` of sequence `first` up to position `end` of sequence `last`. Both
  /// sequences must come from the same source (UsageError).
  Index bytes(Index first, Index begin, Index last, Index end) const;

  /// Restricts the symbols that are predicted: `mask` holds `0` or `1` for every symbol of all sequences in order;
  /// blanks and line endings in it are ignored. Throws a DataError that names the mask file if it contains a different
  /// character or no `1`, or if its length differs from the number of symbols.
  void set_mask(const Input& mask);
  bool has_mask() const { return !mask_.empty(); }
  bool is_predicted(Index sequence, Index position) const {
    if (mask_.empty()) return true;
    require_index("corpus: position", position, length(sequence));
    return mask_[static_cast<std::size_t>(sequence_at(sequence).first + position)];
  }

  /// Returns the number of source symbols that are not in the alphabet and were left out or mapped to `<unk>`.
  Index unknown() const { return unknown_; }

 private:
  struct Source;
  struct Sequence {
    Index source;
    Range range;  ///< range in the symbols of the source
    Index first;  ///< index of its first symbol over all sequences
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
  std::vector<bool> mask_;  ///< empty: all symbols are predicted
};

}  // namespace unfold
