#pragma once
/// FASTA and FASTQ: records of a header and letters of DNA, RNA or protein, as running text. Headers, line breaks and
/// qualities are left out; what is left of a record is one sequence of letters, in the case that the file has.
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

#include "unfold/base/file.h"

namespace unfold {

/// The format's name on the command line and in cards; "fastq" is another spelling.
inline constexpr std::string_view kFastaFormat = "fasta";

struct FastaFile {
  std::string letters;             ///< of all records, each with a line end behind it
  std::vector<Index> ends;         ///< of each record in `letters`, behind its line end
  std::vector<std::string> names;  ///< the first word of each header
  bool has_qualities = false;      ///< FASTQ
  Index lower_case = 0;            ///< letters a to z: regions that were masked, mostly

  Index count() const { return static_cast<Index>(ends.size()); }
};

/// Takes time and memory in proportion to the input. Throws DataError naming file, line and remedy: no header, a record
/// without letters, a character that stands for none (all but letters, `*`, `-` and `.`), qualities of another length.
FastaFile read_fasta(const Input& input);

/// What in the name of a file, or in its first lines, shows the format; empty: nothing does. Reads at most 64 KiB of a
/// plain file, and of a compressed one nothing but its name. Throws nothing for a file that cannot be read.
std::string guess_fasta(const std::string& path);

}  // namespace unfold
