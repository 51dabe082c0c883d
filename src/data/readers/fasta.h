#pragma once
/// FASTA and FASTQ: records of a header and letters of DNA, RNA or protein, read as running text. Headers, line breaks
/// and qualities are dropped; each record becomes one sequence of letters, whose case is preserved.
///
///   >NC_000913.3 Escherichia coli          @read1
///   AGCTTTTCATTCTGACTGCAACGGGCAATATG       AGCTTTTCATTCTG
///   TCTCTGTGTGGATTAAAAAAAGAGTGTCTGAT       +
///                                          IIIIIHHGGGFFFF
///
/// Pearson & Lipman 1988; Cock et al. 2010.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

/// The name of the format on the command line and in cards; "fastq" is a synonym.
inline constexpr std::string_view kFastaFormat = "fasta";

struct FastaFile {
  std::string letters;             ///< letters of all records, each followed by a line ending
  std::vector<Index> ends;         ///< end of each record in `letters`, after its line ending
  std::vector<std::string> names;  ///< the first word of each header
  bool has_qualities = false;      ///< whether the file is FASTQ
  Index lower_case = 0;            ///< number of letters a to z, which usually mark masked regions

  Index count() const { return static_cast<Index>(ends.size()); }
};

/// Takes linear time and memory. Throws DataError with the file, the line and the remedy if a header is missing, for a
/// record without letters, an invalid character (anything but letters, `*`, `-` and `.`), or qualities of a different
/// length.
FastaFile read_fasta(const Input& input);

/// Returns the line of the file that contains a position in FastaFile::letters other than a line ending.
Index fasta_line_of(const Input& input, Index letter);

/// Returns the evidence for the format in the name or the first lines of a file; empty: no match. Reads at most 64 KiB
/// of an uncompressed file and only the name of a compressed one. Does not throw if the file cannot be read.
std::string guess_fasta(const std::string& path);

}  // namespace unfold
