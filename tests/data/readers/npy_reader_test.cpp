#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

std::string little(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i < sizeof(value) ? value >> (8 * i) : 0);
  return bytes;
}

/// Returns the bytes of numbers in machine order (little endian), reversed for big endian.
template <class T>
std::string stored(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes;
  for (const T value : values) {
    char element[sizeof(T)];
    std::memcpy(element, &value, sizeof value);
    if (big_endian) std::reverse(element, element + sizeof element);
    bytes.append(element, sizeof element);
  }
  return bytes;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& elements, bool fortran = false,
                char version = 1) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                             ", 'shape': " + shape + ", }    \n";
  return std::string("\x93NUMPY") + version + '\0' + little(header.size(), version == 1 ? 2 : 4) + header + elements;
}

std::string deflated(const std::string& bytes) {
  std::string out(bytes.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Returns an archive of members; odd-numbered ones are deflated.
std::string npz(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string archive, directory;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [name, bytes] = members[i];
    const std::string packed = i % 2 == 1 ? deflated(bytes) : bytes;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    const std::string common = little(0, 2) + little(i % 2 == 1 ? 8 : 0, 2) + little(0, 4) + little(sum, 4) +
                               little(packed.size(), 4) + little(bytes.size(), 4) + little(name.size(), 2);
    directory +=
        "PK\x01\x02" + little(20, 2) + little(20, 2) + common + little(0, 12) + little(archive.size(), 4) + name;
    archive += "PK\x03\x04" + little(20, 2) + common + little(4, 2) + name + "more" + packed;
  }
  return archive + directory + "PK\x05\x06" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(archive.size(), 4) + little(0, 2);
}

const ExampleColumn& values_of(const Examples& examples) { return column_of(examples, "values"); }

TEST(NpyReader, number_and_vector_lists_are_one_example) {
  const Examples numbers = read_as("npy", npy("<f8", "(3,)", stored<double>({1, -2.5, 3})));
  EXPECT_EQ(values_of(numbers).numbers, (Numbers{1, -2.5, 3}));
  EXPECT_EQ(numbers.ends, Indices{3});
  const Examples vectors = read_as("npy", npy("<f4", "(2, 3)", stored<float>({1, 2, 3, 4, 5, 6}), false, 2));
  EXPECT_EQ(values_of(vectors).width, 3);
  EXPECT_EQ(vectors.ends, Indices{2});
}

TEST(NpyReader, three_dimensions_are_several_examples) {
  const Examples examples = read_as("npy", npy("|u1", "(2, 3, 1)", "\x01\x02\x03\x04\x05\xFF", false, 3));
  EXPECT_EQ(examples.ends, (Indices{3, 6}));
  EXPECT_EQ(values_of(examples).numbers, (Numbers{1, 2, 3, 4, 5, 255}));
}

TEST(NpyReader, every_type_and_byte_order_is_read) {
  const auto read = [](const std::string& descr, const std::string& elements) {
    return values_of(read_as("npy", npy(descr, "(2,)", elements))).numbers;
  };
  const Numbers wanted = {-3, 100};
  EXPECT_EQ(read("<f4", stored<float>({-3, 100})), wanted);
  EXPECT_EQ(read(">f4", stored<float>({-3, 100}, true)), wanted);
  EXPECT_EQ(read(">f8", stored<double>({-3, 100}, true)), wanted);
  EXPECT_EQ(read("|i1", stored<std::int8_t>({-3, 100})), wanted);
  EXPECT_EQ(read("<i2", stored<std::int16_t>({-3, 100})), wanted);
  EXPECT_EQ(read(">i4", stored<std::int32_t>({-3, 100}, true)), wanted);
  EXPECT_EQ(read("<i8", stored<std::int64_t>({-3, 100})), wanted);
  EXPECT_EQ(read(">u2", stored<std::uint16_t>({65535, 1}, true)), (Numbers{65535, 1}));
  EXPECT_EQ(read("<u4", stored<std::uint32_t>({4294967295u, 1})), (Numbers{4294967295.0, 1}));
  EXPECT_EQ(read("<u8", stored<std::uint64_t>({1, 2})), (Numbers{1, 2}));
  EXPECT_EQ(read("|b1", stored<std::uint8_t>({0, 1})), (Numbers{0, 1}));
}

TEST(NpyReader, fortran_order_is_converted_to_c_order) {
  Numbers c_order(24), fortran(24);
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 3; ++j) {
      for (Index k = 0; k < 4; ++k) {
        const double value = static_cast<double>(100 * i + 10 * j + k);
        c_order[at((i * 3 + j) * 4 + k)] = value;
        fortran[at(i + 2 * (j + 3 * k))] = value;
      }
    }
  }
  EXPECT_EQ(values_of(read_as("npy", npy("<f8", "(2, 3, 4)", stored(fortran), true))).numbers, c_order);
}

TEST(NpyReader, nan_marks_a_missing_vector_and_infinity_is_rejected) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Examples examples = read_as("npy", npy("<f8", "(2, 2)", stored<double>({nan, nan, 1, 2})));
  EXPECT_EQ(values_of(examples).missing, (Flags{1, 0}));
  EXPECT_EQ(values_of(examples).numbers, (Numbers{0, 0, 1, 2}));
  EXPECT_TRUE(
      contains(refusal("npy", npy("<f8", "(2, 2)", stored<double>({1, 2, nan, 3}))), "entry 1 is nan in 1 of 2"));
  EXPECT_TRUE(contains(refusal("npy", npy("<f8", "(2,)", stored<double>({1, -inf}))), "entry 1 is not finite"));
}

TEST(NpyReader, archive_arrays_are_fields) {
  const Examples one = read_as("npy", npz({{"x.npy", npy("<f8", "(2, 2)", stored<double>({1, 2, 3, 4}))},
                                           {"y.npy", npy("|i1", "(2,)", "\x07\x08")}}));
  EXPECT_EQ(names_of(one), (Texts{"x", "y"}));
  EXPECT_EQ(column_of(one, "x").numbers, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(column_of(one, "y").numbers, (Numbers{7, 8}));
  EXPECT_EQ(one.ends, Indices{2});
}

TEST(NpyReader, archive_arrays_have_one_entry_per_position_or_example) {
  const Examples examples =
      read_as("npy", npz({{"label.npy", npy("|i1", "(2,)", "\x01\x02")},
                          {"x.npy", npy("|i1", "(2, 3, 2)", "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c")},
                          {"tag.npy", npy("|i1", "(2, 3)", "\x01\x02\x03\x04\x05\x06")},
                          {"about.npy", npy("|i1", "(2, 4)", "\x01\x02\x03\x04\x05\x06\x07\x08")}}));
  EXPECT_EQ(examples.ends, (Indices{3, 6}));
  EXPECT_TRUE(column_of(examples, "label").once);
  EXPECT_EQ(column_of(examples, "label").width, 1);
  EXPECT_FALSE(column_of(examples, "tag").once);
  EXPECT_TRUE(column_of(examples, "about").once);
  EXPECT_EQ(column_of(examples, "about").width, 4);
}

TEST(NpyReader, rows_with_one_class_each_are_series) {
  const std::string rows = npy("|i1", "(2, 8)", "abcdefghABCDEFGH"), classes = npy("|i1", "(2,)", "\x01\x02");
  const Examples series = read_as("npy", npz({{"X.npy", rows}, {"y.npy", classes}}));
  EXPECT_EQ(series.ends, (Indices{8, 16}));
  EXPECT_EQ(column_of(series, "X").width, 1);
  EXPECT_FALSE(column_of(series, "X").once);
  EXPECT_TRUE(column_of(series, "y").once);
  ASSERT_EQ(series.remarks.size(), 1U);
  EXPECT_TRUE(contains(series.remarks[0], "X [2, 8] is read as 2 series of 8 values")) << series.remarks[0];
  // The shapes that the note recommends for one series of vectors.
  const Examples one = read_as("npy", npz({{"X.npy", npy("|i1", "(1, 2, 8)", "abcdefghABCDEFGH")},
                                           {"y.npy", npy("|i1", "(1, 2)", "\x01\x02")}}));
  EXPECT_EQ(one.ends, Indices{2});
  EXPECT_EQ(column_of(one, "X").width, 8);
  EXPECT_FALSE(column_of(one, "y").once);
}

TEST(NpyReader, more_numbers_than_positions_are_noted) {
  const std::string bytes = "abcdefghijkl";
  const Examples wide = read_as("npy", npy("|i1", "(2, 2, 3)", bytes));
  ASSERT_EQ(wide.remarks.size(), 1U);
  EXPECT_TRUE(contains(wide.remarks[0], "values.transpose(0, 2, 1)")) << wide.remarks[0];
  EXPECT_TRUE(read_as("npy", npy("|i1", "(2, 3, 2)", bytes)).remarks.empty());
}

TEST(NpyReader, inconsistent_arrays_are_rejected) {
  const auto pair = [](const std::string& a, std::size_t n, const std::string& b, std::size_t m) {
    return refusal("npy",
                   npz({{"x.npy", npy("|i1", a, std::string(n, 'x'))}, {"y.npy", npy("|i1", b, std::string(m, 'x'))}}));
  };
  EXPECT_TRUE(contains(pair("(3,)", 3, "(2,)", 2),
                       "array \"y\" of shape [2]: a different array has 1 examples of 3 positions"));
  EXPECT_TRUE(contains(pair("(1, 3, 1)", 3, "(1, 2, 1)", 2), "all must match"));
  const std::string array = npy("|i1", "(1,)", "a");
  EXPECT_TRUE(contains(refusal("npy", npz({{"x.npy", array}, {"x.npy", array}})), "two columns are named x"));
  EXPECT_TRUE(contains(pair("(1, 3, 1)", 3, "(2,)", 2), "a different array has 1 examples"));
}

TEST(NpyReader, non_numeric_arrays_are_rejected_with_a_remedy) {
  const auto refused = [](const std::string& bytes, const std::string& part) {
    const std::string message = refusal("npy", bytes);
    EXPECT_TRUE(contains(message, part)) << message;
  };
  refused("1,2\n", "data: not a NumPy array; save it with numpy.save");
  refused(npy("<f2", "(1,)", "ab"), "of type \"<f2\"");
  refused(npy("<U3", "(1,)", "abcdefghijkl"), "of type \"<U3\"");
  refused(npy("|O", "(1,)", "abcdefgh"), "of type \"|O\"");
  refused(npy("<f8", "(2,)", "abcdefgh"), "the header specifies the shape [2], but 8 bytes");
  refused(npy("<f8", "(1,)", "abcdefghi"), "9 bytes of elements follow");
  refused(npy("<f8", "(4611686018427387904, 4611686018427387904)", "abcdefgh"), "the header specifies the shape");
  refused(npy("<f8", "()", "abcdefgh"), "expected [positions],");
  refused(npy("<f8", "(0,)", ""), "it is empty");
  refused(npy("<f8", "(9223372036854775807, 0)", ""), "it is empty");
  refused(npy("<f8", "(-1,)", "abcdefgh"), "the shape in the header is invalid");
  refused(npy("<f8", "(1,)", "abcdefgh", false, 4), "version 4");
  refused(npy("<f8", "(1,)", "abcdefgh").substr(0, 30), "the header is truncated");
}

TEST(NpyReader, damaged_archive_is_rejected) {
  const std::string archive = npz({{"x.npy", npy("|i1", "(3,)", "abc")}, {"y.npy", npy("|i1", "(3,)", "abc")}});
  EXPECT_EQ(read_as("npy", archive).columns.size(), 2u);
  for (std::size_t size = 4; size < archive.size(); ++size) EXPECT_NE(refusal("npy", archive.substr(0, size)), "");
  const std::size_t element = archive.find("abc");
  std::string changed = archive;
  changed[element] = 'A';
  EXPECT_TRUE(contains(refusal("npy", changed), "data: x.npy is damaged"));
  EXPECT_TRUE(contains(refusal("npy", npz({{"x.txt", "abc"}})), "data: x.txt: not a NumPy array"));
}

RC_GTEST_PROP(NpyReader, written_arrays_round_trip, (const std::vector<double>& values)) {
  RC_PRE(!values.empty());
  const std::string array = npy("<f8", fmt::format("({},)", values.size()), stored(values));
  RC_ASSERT(values_of(read_as("npy", array)).numbers == values);
  RC_ASSERT(column_of(read_as("npy", npz({{"a.npy", array}, {"b.npy", array}})), "b").numbers == values);
}

}  // namespace
}  // namespace unfold
