#include "data/counts/corpus_survey.h"

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "data/text/words.h"
#include "unfold/base/error.h"
#include "unfold/data/text/text_index.h"

namespace unfold {
namespace {

using WordCounts = TextCounts<std::string>;

/// Serializes word counts for transfer between processes: count, length, word.
std::string to_bytes(const WordCounts& counts) {
  std::string bytes;
  for (std::size_t i = 0; i < counts.texts().size(); ++i) {
    const std::string& word = counts.texts()[i];
    const std::array<std::uint64_t, 2> numbers = {static_cast<std::uint64_t>(counts.counts()[i]), word.size()};
    bytes.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
    bytes += word;
  }
  return bytes;
}

void add_bytes(std::string_view bytes, WordCounts& counts) {
  while (!bytes.empty()) {
    std::array<std::uint64_t, 2> numbers{};
    std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
    counts[bytes.substr(sizeof numbers, numbers[1])] += static_cast<Index>(numbers[0]);
    bytes.remove_prefix(sizeof numbers + numbers[1]);
  }
}

std::string received(int from, std::size_t size, Processes& processes) {
  std::string bytes(size, '\0');
  const Receiving receiving{from, std::as_writable_bytes(std::span(bytes))};
  processes.exchange({}, std::span(&receiving, 1));
  return bytes;
}

void send(int to, const std::string& bytes, Processes& processes) {
  const Sending sending{to, std::as_bytes(std::span(bytes))};
  processes.exchange(std::span(&sending, 1), {});
}

/// Returns the sums over all processes. In addition to its own counts, the first process holds the counts of one other
/// process at a time.
WordCounts sum_over(WordCounts mine, Processes& processes) {
  if (processes.alone()) return mine;
  std::string bytes = processes.first() ? std::string() : to_bytes(mine);
  const std::vector<double> sizes = processes.gather(static_cast<double>(bytes.size()));
  if (processes.first())
    for (int p = 1; p < processes.count(); ++p)
      add_bytes(received(p, static_cast<std::size_t>(sizes[static_cast<std::size_t>(p)]), processes), mine);
  else
    send(0, bytes, processes);
  bytes = processes.first() ? to_bytes(mine) : std::string();
  const auto size = static_cast<std::size_t>(processes.of_first(static_cast<double>(bytes.size())));
  if (processes.first()) {
    for (int p = 1; p < processes.count(); ++p) send(p, bytes, processes);
    return mine;
  }
  mine = {};
  add_bytes(received(0, size, processes), mine);
  return mine;
}

/// The tokens of the blocks of one process.
class TokenCounts {
 public:
  explicit TokenCounts(SymbolKind kind) : kind_(kind) {}

  /// Returns the number of tokens of a block. Throws DataError for text that is not valid.
  Index add(const BlockFile& file, const TextBlock& block) {
    if (kind_ == SymbolKind::bytes) return static_cast<Index>(block.bytes.size());
    if (const Index invalid = find_invalid_utf8(block.bytes); invalid >= 0)
      throw invalid_utf8_error(file.name() + ": ", block.bytes[at(invalid)], block.begin + invalid,
                               file.line_of(block.begin + invalid));
    return kind_ == SymbolKind::words ? add_words(file, block) : add_chars(block.bytes);
  }
  void add_line_end() { ++words_[kLineEndWord]; }

  Alphabet alphabet(const AlphabetOptions& options, Processes& processes) && {
    if (kind_ == SymbolKind::bytes) return Alphabet::all_bytes();
    if (kind_ == SymbolKind::words) {
      const WordCounts all = sum_over(std::move(words_), processes);
      return alphabet_of_words(all.by_text(), options);
    }
    std::string codes;
    for (const char32_t code : chars_.codes()) append_utf8(codes, code);
    for (const std::string& of_process : processes.gather(codes)) add_chars(of_process);
    return alphabet_of_chars(chars_);
  }

 private:
  Index add_chars(std::string_view text) {
    Index count = 0;
    for (Index position = 0; position < static_cast<Index>(text.size()); ++count) {
      const char32_t code = next_code_point(text, position);
      if (chars_.find(code) == kNoSymbol) chars_.set(code, 0);
    }
    return count;
  }
  Index add_words(const BlockFile& file, const TextBlock& block) {
    const std::string_view text = block.bytes;
    Index count = 0, position = 0;
    for (auto word = next_word(text, position); !word.empty(); word = next_word(text, position), ++count) {
      if (word == kLineEndWord)
        throw line_end_word_error(file.name() + ": ", file.line_of(block.begin + (word.data() - text.data())));
      ++words_[word == "\n" ? kLineEndWord : word];
    }
    return count;
  }

  SymbolKind kind_;
  WordCounts words_;
  CodeMap chars_;
};

/// In all processes, throws the error that a single process would find first.
void throw_first(const std::string& mine, Processes& processes) {
  for (const std::string& of_process : processes.gather(mine))
    if (!of_process.empty()) throw DataError(of_process);
}

}  // namespace

CorpusSurvey survey_corpus(const std::vector<std::string>& files, const AlphabetOptions& options,
                           Processes& processes) {
  require_alphabet_options(options);
  CorpusSurvey result;
  Index blocks = 0;
  for (const std::string& file : files) blocks += result.files.emplace_back(file, options.kind).blocks();
  const Range mine = share_of_process(blocks, processes.number(), processes.count());
  TokenCounts counts(options.kind);
  std::vector<BlockMark> marks;
  std::string failure;
  try {
    Index number = 0;
    for (const BlockFile& file : result.files)
      for (Index b = 0; b < file.blocks(); ++b, ++number) {
        if (number < mine.begin || number >= mine.end) continue;
        const TextBlock block = file.read(b);
        Index symbols = counts.add(file, block);
        if (options.kind == SymbolKind::words && b + 1 == file.blocks() && file.ends_within_line()) {
          counts.add_line_end();
          ++symbols;
        }
        marks.push_back({static_cast<std::uint64_t>(symbols), digest_of(block.bytes)});
      }
  } catch (const DataError& error) {
    failure = error.what();
  }
  throw_first(failure, processes);
  const std::string bytes(reinterpret_cast<const char*>(marks.data()), marks.size() * sizeof(BlockMark));
  for (const std::string& of_process : processes.gather(bytes)) {
    if (of_process.empty()) continue;
    const std::size_t before = result.marks.size();
    result.marks.resize(before + of_process.size() / sizeof(BlockMark));
    std::memcpy(result.marks.data() + before, of_process.data(), of_process.size());
  }
  result.alphabet = std::move(counts).alphabet(options, processes);
  return result;
}

}  // namespace unfold
