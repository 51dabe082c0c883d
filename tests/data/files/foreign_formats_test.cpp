// Files of other programs are recognized by their first bytes.
#include "data/files/foreign_formats.h"

#include <gmock/gmock.h>

#include <string>

namespace unfold {
namespace {

using ::testing::HasSubstr;

/// The header of the first member of a ZIP archive.
std::string archive_of(const std::string& name) {
  std::string bytes("PK\x03\x04", 4);
  bytes += std::string(22, '\0');
  bytes += static_cast<char>(name.size());
  return bytes + std::string(3, '\0') + name + "contents";
}

TEST(ForeignFormats, FilesOfOtherProgramsAreNamed) {
  EXPECT_THAT(foreign_format(archive_of("xl/workbook.xml")), HasSubstr("spreadsheet"));
  EXPECT_THAT(foreign_format(archive_of("[Content_Types].xml")), HasSubstr("office document"));
  EXPECT_THAT(foreign_format(archive_of("notes.txt")), HasSubstr("unpack"));
  EXPECT_THAT(foreign_format("PAR1\x15\x04"), HasSubstr("DataFrame"));
  EXPECT_THAT(foreign_format("ARROW1"), HasSubstr("DataFrame"));
  EXPECT_THAT(foreign_format(std::string("SQLite format 3\0", 16)), HasSubstr("SQLite"));
  EXPECT_THAT(foreign_format("\x89HDF\r\n\x1A\n"), HasSubstr("HDF5"));
  EXPECT_THAT(foreign_format("%PDF-1.7"), HasSubstr("pdftotext"));
}

TEST(ForeignFormats, FilesThatAReaderAcceptsAreNotNamed) {
  for (const std::string& bytes : {std::string(), std::string("PAR"), std::string("a,b\n1,2\n"), std::string("PK"),
                                   archive_of("arr_0.npy"), std::string("\x93NUMPY")})
    EXPECT_EQ(foreign_format(bytes), "") << bytes;
}

}  // namespace
}  // namespace unfold
