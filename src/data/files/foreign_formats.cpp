#include "data/files/foreign_formats.h"

#include <array>
#include <utility>

#include "data/files/zip_members.h"

namespace unfold {
namespace {

using namespace std::string_view_literals;

constexpr const char *kSpreadsheet = "a spreadsheet; save it as CSV",
                     *kFrame = "a columnar table; read it in Python, for example with pandas, and pass the DataFrame";

constexpr std::array<std::pair<std::string_view, const char*>, 11> kMagic = {{
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "a Microsoft Office spreadsheet or document; save it as CSV or text"},
    {"PAR1"sv, kFrame},    // Parquet
    {"ARROW1"sv, kFrame},  // Arrow, Feather
    {"SQLite format 3\0"sv, "an SQLite database; export the table as CSV"},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file; read it in Python and pass the arrays"},
    {"%PDF-"sv, "a PDF document; extract its text first, for example with pdftotext"},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive; unpack it first"},
    {"\x1F\x8B\x08"sv, "compressed with gzip; unpack it, or name it .gz"},
    {"\xFD\x37zXZ\0"sv, "compressed with xz; unpack it, or name it .xz"},
    {"\x28\xB5\x2F\xFD"sv, "compressed with zstd; unpack it, or name it .zst"},
    {"BZh91AY&SY"sv, "compressed with bzip2; unpack it first"},
}};

/// Part of the beginning of an archive that names its first members.
constexpr std::size_t kBeginning = 4096;

}  // namespace

std::string foreign_format(std::string_view bytes) {
  for (const auto& [magic, what] : kMagic)
    if (bytes.starts_with(magic)) return what;
  if (!is_zip(bytes)) return {};
  const std::string_view beginning = bytes.substr(0, kBeginning);
  const auto names = [&](std::string_view member) { return beginning.find(member) != std::string_view::npos; };
  if (names(".npy")) return {};
  if (names("xl/") || names("opendocument.spreadsheet")) return kSpreadsheet;
  if (names("[Content_Types].xml") || names("opendocument")) return "an office document; save it as CSV or text";
  return "a ZIP archive; unpack it first";
}

}  // namespace unfold
