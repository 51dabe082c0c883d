#include "data/readers/fasta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "base/formats/decompress.h"
#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr char kFastaHeader = '>', kFastqHeader = '@', kFastaComment = ';', kQualities = '+';
constexpr std::size_t kGuessBytes = std::size_t{64} << 10;

constexpr bool is_lower_case(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_residue(char c) {
  return (c >= 'A' && c <= 'Z') || is_lower_case(c) || c == '*' || c == '-' || c == '.';
}
bool all_residues(std::string_view line) { return std::all_of(line.begin(), line.end(), is_residue); }

/// The properties of all bytes: kResidue for codes of bases and amino acids, and kLowerCase for those from a to z.
constexpr std::uint8_t kResidue = 1, kLowerCase = 2;
constexpr std::array<std::uint8_t, 256> kResidueFlags = [] {
  std::array<std::uint8_t, 256> flags = {};
  for (std::size_t byte = 0; byte < flags.size(); ++byte) {
    const auto c = static_cast<char>(byte);
    flags[byte] = static_cast<std::uint8_t>((is_residue(c) ? kResidue : 0) | (is_lower_case(c) ? kLowerCase : 0));
  }
  return flags;
}();

/// Formats a character for a message.
std::string shown(char c) {
  const bool printable = c > ' ' && c < '\x7f';
  return printable ? fmt::format("\"{}\"", c) : fmt::format("byte {}", static_cast<unsigned char>(c));
}

/// One pass over the lines of a file.
class FastaPass {
 public:
  explicit FastaPass(const ReaderText& text)
      : source_(text.source()), lines_(text.text()), bytes_(text.text().size()) {}
  FastaFile run();
  /// Returns the line that contains a position in FastaFile::letters.
  Index line_of(Index letter) {
    while (static_cast<Index>(file_.letters.size()) <= letter && read_line()) {
    }
    return lines_.number();
  }

 private:
  bool read_line();
  void begin_record();
  void end_record();
  void append_letters();
  void skip_qualities();
  bool is_complete() const { return file_.ends.size() == file_.names.size(); }
  bool begins_record() const { return line_.starts_with(file_.has_qualities ? kFastqHeader : kFastaHeader); }
  Index letters_in_record() const { return static_cast<Index>(file_.letters.size()) - begin_; }

  const std::string& source_;
  ReaderLines lines_;
  std::size_t bytes_;
  std::string_view line_;
  FastaFile file_;
  Index begin_ = 0, header_ = 0;  // where the record begins: position in the letters, and line
};

FastaFile FastaPass::run() {
  file_.letters.reserve(bytes_);
  while (read_line()) {
  }
  if (header_ == 0) throw_data_error(source_, 0, "it contains no records");
  end_record();
  return std::move(file_);
}

/// Returns false at the end of the file.
bool FastaPass::read_line() {
  if (!lines_.next()) return false;
  line_ = without_blanks(lines_.line());
  if (line_.empty() || (line_[0] == kFastaComment && !file_.has_qualities)) return true;
  if (header_ == 0) file_.has_qualities = line_[0] == kFastqHeader;
  if (begins_record()) {
    end_record();
    begin_record();
  } else if (header_ == 0) {
    throw_data_error(source_, lines_.number(),
                     "there is neither a FASTA header (\">\") nor a FASTQ header (\"@\"); begin every record with "
                     "one, or train with --format text");
  } else if (is_complete()) {
    throw_data_error(source_, lines_.number(),
                     "the read above is complete, and this line is not a header (\"@\"); remove it");
  } else if (file_.has_qualities && line_[0] == kQualities) {
    skip_qualities();
  } else {
    append_letters();
  }
  return true;
}

void FastaPass::begin_record() {
  header_ = lines_.number();
  begin_ = static_cast<Index>(file_.letters.size());
  const std::string_view header = without_blanks(line_.substr(1));
  file_.names.emplace_back(header.substr(0, header.find_first_of(" \t")));
}

void FastaPass::end_record() {
  if (is_complete()) return;  // the record is already checked, or there is none yet
  if (letters_in_record() == 0)
    throw_data_error(source_, header_, fmt::format("the record \"{}\" has no letters; remove it", file_.names.back()));
  if (file_.has_qualities)
    throw_data_error(
        source_, header_,
        fmt::format("the read \"{}\" has no line \"+\" followed by qualities; complete it", file_.names.back()));
  file_.letters += '\n';
  file_.ends.push_back(static_cast<Index>(file_.letters.size()));
}

void FastaPass::append_letters() {
  unsigned common = kResidue;
  Index lower_case = 0;
  for (const char c : line_) {
    const unsigned flags = kResidueFlags[static_cast<unsigned char>(c)];
    common &= flags;
    lower_case += static_cast<Index>(flags / kLowerCase);
  }
  if (common == 0)
    throw_data_error(source_, lines_.number(),
                     fmt::format("{} is not a code of a base or an amino acid; remove it, or train with --format text",
                                 shown(*std::find_if_not(line_.begin(), line_.end(), is_residue))));
  file_.lower_case += lower_case;
  file_.letters += line_;
}

/// Skips as many quality values as there are letters, over any number of lines; a line may begin with any character.
void FastaPass::skip_qualities() {
  const Index wanted = letters_in_record();
  Index seen = 0;
  if (wanted == 0)
    throw_data_error(source_, header_, fmt::format("the read \"{}\" has no letters; remove it", file_.names.back()));
  while (seen < wanted && lines_.next()) seen += static_cast<Index>(without_blanks(lines_.line()).size());
  if (seen != wanted)
    throw_data_error(source_, lines_.number(),
                     fmt::format("{} qualities for the read \"{}\", which has {} letters; it is truncated or damaged",
                                 seen, file_.names.back(), wanted));
  file_.letters += '\n';
  file_.ends.push_back(static_cast<Index>(file_.letters.size()));
}

/// Returns whether every line except headers consists of letters. An incomplete last line is checked like the others.
bool lines_look_like_fasta(std::string_view bytes) {
  Index headers = 0, letters = 0;
  for (ReaderLines lines(strip_bom(bytes)); lines.next();) {
    const std::string_view line = without_blanks(lines.line());
    if (line.empty() || line[0] == kFastaComment) continue;
    if (line[0] == kFastaHeader)
      ++headers;
    else if (headers == 0 || !all_residues(line))
      return false;
    else
      ++letters;
  }
  return headers > 0 && letters > 0;
}

/// Returns whether the sample begins with a record of header, letters, plus sign, and as many qualities; the first
/// record is sufficient.
bool lines_look_like_fastq(std::string_view bytes) {
  std::string_view first[4];
  ReaderLines lines(strip_bom(bytes));
  for (std::string_view& line : first) {
    if (!lines.next()) return false;
    line = without_blanks(lines.line());
  }
  return first[0].starts_with(kFastqHeader) && !first[1].empty() && all_residues(first[1]) &&
         first[2].starts_with(kQualities) && first[3].size() == first[1].size();
}

}  // namespace

FastaFile read_fasta(const Input& input) {
  const ReaderText text(input);
  FastaFile file = FastaPass(text).run();
  input.require_whole();
  return file;
}

Index fasta_line_of(const Input& input, Index letter) {
  const ReaderText text(input);
  return FastaPass(text).line_of(letter);
}

std::string guess_fasta(const std::string& path) {
  const bool packed = compression_of(path) != Compression::none;
  const std::string_view name = packed ? std::string_view(path).substr(0, path.rfind('.')) : std::string_view(path);
  if (ends_in(name, {".fa", ".fasta", ".fna", ".ffn", ".faa", ".frn"})) return "FASTA by its file name";
  if (ends_in(name, {".fastq", ".fq"})) return "FASTQ by its file name";
  std::error_code ignored;
  if (packed || (path != "-" && !std::filesystem::exists(path, ignored))) return {};
  const Input input = Input::open(path, EmptyInput::allowed);
  const std::string_view beginning = input.bytes().substr(0, kGuessBytes);
  if (lines_look_like_fasta(beginning)) return "FASTA headers followed by letters";
  if (lines_look_like_fastq(beginning)) return "a FASTQ read with its qualities";
  return {};
}

}  // namespace unfold
