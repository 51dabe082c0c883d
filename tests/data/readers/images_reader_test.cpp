/// Images of every supported kind, written here byte by byte or by libpng, and rejected ones.

#include <gmock/gmock.h>
#include <png.h>

#include "data/files/image_file.h"
#include "data/readers/open_data.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using namespace std::string_literals;
using ::testing::HasSubstr;

using ImageShapes = std::vector<std::pair<Index, Index>>;

std::string number_be(Index x) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(x >> shift & 255);
  return bytes;
}

std::string idx_of(const std::vector<Index>& shape, const std::string& elements) {
  std::string bytes = "\0\0\x08"s + static_cast<char>(shape.size());
  for (const Index size : shape) bytes += number_be(size);
  return bytes + elements;
}

std::string png_of(Index height, Index width, const std::vector<std::uint8_t>& levels, std::uint32_t format) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width), image.height = static_cast<png_uint_32>(height), image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&image, nullptr, &size, 0, levels.data(), 0, nullptr), 0);
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, levels.data(), 0, nullptr), 0);
  return bytes;
}

std::string npy_of_bytes(const std::string& shape, const std::string& elements) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }";
  header += std::string(118 - header.size() % 118, ' ');
  return "\x93NUMPY\x01\x00"s + static_cast<char>(header.size() & 255) + static_cast<char>(header.size() >> 8) +
         header + elements;
}

TEST(ImagesReader, idx_is_read_with_the_label_file_in_its_folder) {
  const ScratchFolder folder;
  const std::string images = folder.write("some-images-idx3-ubyte", idx_of({2, 2, 3}, "abcdefghijkl"));
  folder.write("some-labels-idx1-ubyte", idx_of({2}, "\x07\x02"));
  const Examples examples = read_examples(Input::open(images), {.format = "images"});
  EXPECT_EQ(names_of(examples), (Texts{"pixels", "label"}));
  EXPECT_EQ(examples.shapes, (ImageShapes{{2, 3}, {2, 3}}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"7", "2"}));
  EXPECT_EQ(column_of(examples, "pixels").numbers.front(), 'a');
  EXPECT_EQ(column_of(examples, "pixels").numbers.back(), 'l');
  EXPECT_THAT(examples.remarks.front(), HasSubstr("some-labels-idx1-ubyte"));
  EXPECT_EQ(format_of("some-images-idx3-ubyte", idx_of({1, 2, 2}, "abcd")), "images");
  EXPECT_EQ(names_of(read_as("images", idx_of({2, 2}, "abcd"))), (Texts{"pixels"}));
}

TEST(ImagesReader, damaged_or_mismatched_idx_is_refused) {
  EXPECT_THAT(refusal("images", idx_of({2, 2, 2}, "abcd")),
              HasSubstr("there are 4 bytes of elements, but the sizes require 8"));
  EXPECT_THAT(refusal("images", idx_of({2}, "ab")), HasSubstr("contains labels; specify the file of images;"));
  EXPECT_THAT(refusal("images", idx_of({1, 40000, 1}, std::string(40000, 'a'))), HasSubstr("at most 32768 per side"));
  EXPECT_THAT(refusal("images", idx_of({0, 2, 2}, "")), HasSubstr("which contains no images"));
  const ScratchFolder folder;
  const std::string images = folder.write("images", idx_of({2, 1, 1}, "ab"));
  folder.write("labels", idx_of({3}, "abc"));
  EXPECT_THAT(message_of<DataError>([&] { read_examples(Input::open(images), {.format = "images"}); }),
              HasSubstr("shape [3] does not match the 2 images"));
}

TEST(ImagesReader, png_is_read_as_grayscale_or_rgb) {
  const Image grey = read_png("x", png_of(2, 2, {0, 50, 100, 255}, PNG_FORMAT_GRAY));
  EXPECT_EQ(grey.pixels, (std::vector<std::uint16_t>{0, 50, 100, 255}));
  EXPECT_EQ(grey.channels, 1);
  const Image color = read_png("x", png_of(1, 2, {1, 2, 3, 4, 5, 6}, PNG_FORMAT_RGB));
  EXPECT_EQ(color.pixels, (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(color.width, 2);
  const Examples examples = read_as("images", png_of(1, 2, {1, 2, 3, 4, 5, 6}, PNG_FORMAT_RGB));
  EXPECT_EQ(column_of(examples, "pixels").width, 3);
  EXPECT_EQ(examples.shapes, (ImageShapes{{1, 2}}));
  EXPECT_EQ(format_of("x", png_of(1, 1, {9}, PNG_FORMAT_GRAY)), "images");
}

TEST(ImagesReader, png_of_16_bits_is_rounded_to_8) {
  const std::vector<std::uint16_t> deep = {0, 1, 300, 600, 1000, 5000, 20000, 65535};
  png_image image = {};
  image.version = PNG_IMAGE_VERSION, image.width = 8, image.height = 1, image.format = PNG_FORMAT_LINEAR_Y;
  png_alloc_size_t size = 1000;
  std::string bytes(size, '\0');
  ASSERT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, deep.data(), 0, nullptr), 0);
  // Without the gamma chunk, like most PNG files.
  std::string plain = bytes.substr(0, size);
  for (const char* chunk : {"gAMA", "cHRM", "sRGB"})
    if (const std::size_t at = plain.find(chunk); at != std::string::npos) {
      const auto length = static_cast<std::size_t>(static_cast<unsigned char>(plain[at - 1]));
      plain.erase(at - 4, length + 12);
    }
  const Image read = read_png("x", plain);
  for (std::size_t i = 0; i < deep.size(); ++i) EXPECT_NEAR(read.pixels[i], deep[i] / 257.0, 0.51) << deep[i];
}

TEST(ImagesReader, damaged_png_error_states_the_reason) {
  const std::string whole = png_of(4, 4, std::vector<std::uint8_t>(16, 7), PNG_FORMAT_GRAY);
  for (std::size_t size = 8; size + 12 < whole.size(); ++size)
    EXPECT_THAT(refusal("images", whole.substr(0, size)), HasSubstr("not a readable PNG file")) << size;
  std::string changed = whole;
  changed[19] = 3;  // the width, so the checksum is wrong
  EXPECT_THAT(refusal("images", changed), HasSubstr("save it again"));
}

TEST(ImagesReader, netpbm_is_read_plain_and_raw_with_comments) {
  const auto levels = [](const std::string& bytes) { return read_pnm("x", bytes).pixels; };
  using Levels = std::vector<std::uint16_t>;
  EXPECT_EQ(levels("P2\n# made by hand\n2 2 9\n1 2\n3 9\n"), (Levels{1, 2, 3, 9}));
  EXPECT_EQ(levels("P2 2 1 # three\n3 0 3"), (Levels{0, 3}));
  EXPECT_EQ(levels("P5 2 2 255\nabcd"), (Levels{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(levels("P5 1 2 1000\n\x03\xE8\x00\x01"s), (Levels{1000, 1}));
  EXPECT_EQ(levels("P3 1 1 7 1 2 3"), (Levels{1, 2, 3}));
  EXPECT_EQ(levels("P6 1 1 255\nxyz"), (Levels{'x', 'y', 'z'}));
  EXPECT_EQ(format_of("a.pgm", "P2 1 1 1 1"), "images");
}

TEST(ImagesReader, netpbm_errors_name_the_position) {
  const std::pair<std::string, const char*> cases[] = {
      {"P5 2 2 255\nabc", "the file is truncated"},
      {"P5 2 2 255\nabcde", "at byte 15: there is data after the image"},
      {"P2 2 1 9 1 12", "level 12 is above the maximum 9"},
      {"P2 2 1 9 1 x", "at byte 11: a level is not a number"},
      {"P2 2 1 9 1", "the file is truncated"},
      {"P2 0 1 9 ", "it has 1 x 0 pixels"},
      {"P5 99999 1 255\na", "at most 32768"},
      {"P5 1 1 0\na", "the maximum level is 0"},
      {"P2 2 1 9 1 2 3", "there is data after the image;"},
      {"P5 2", "the file ends where a number is expected"},
  };
  for (const auto& [bytes, message] : cases) EXPECT_THAT(refusal("images", bytes), HasSubstr(message)) << bytes;
}

TEST(ImagesReader, arrays_are_images_with_per_image_fields) {
  const Examples one = read_as("images", npy_of_bytes("2, 3", "abcdef"));
  EXPECT_EQ(one.shapes, (ImageShapes{{2, 3}}));
  EXPECT_EQ(names_of(one), (Texts{"pixels"}));
  EXPECT_EQ(read_as("images", npy_of_bytes("2, 2, 1", "abcd")).shapes, (ImageShapes{{2, 1}, {2, 1}}));
  const Examples color = read_as("images", npy_of_bytes("1, 2, 1, 3", "abcdef"));
  EXPECT_EQ(column_of(color, "pixels").width, 3);
  EXPECT_EQ(color.shapes, (ImageShapes{{2, 1}}));
  EXPECT_THAT(refusal("images", npy_of_bytes("4,", "abcd")), HasSubstr("no array of images"));
}

TEST(ImagesReader, image_list_has_labels_or_label_images) {
  const ScratchFolder folder;
  folder.write("a.pgm", "P2 2 1 9 1 2");
  folder.write("b.png", png_of(1, 1, {200}, PNG_FORMAT_GRAY));
  folder.write("a-mask.pgm", "P2 2 1 9 0 3");
  const auto read = [&](const std::string& list) {
    return read_examples(Input::open(folder.write("list.tsv", list)), {.format = "images"});
  };
  const Examples examples = read("a.pgm\tcat\n\nb.png\tdog\n");
  EXPECT_EQ(examples.shapes, (ImageShapes{{1, 2}, {1, 1}}));
  EXPECT_EQ(column_of(examples, "pixels").numbers, (Numbers{1, 2, 200}));
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"cat", "dog"}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 3}));
  const Examples masked = read("a.pgm\ta-mask.pgm\n");
  EXPECT_EQ(entries_of(masked, "label"), (Texts{"0", "3"}));
  EXPECT_FALSE(column_of(masked, "label").once);
  EXPECT_EQ(names_of(read("a.pgm\n")), (Texts{"pixels"}));
  const auto refused = [&](const std::string& list) { return message_of<DataError>([&] { read(list); }); };
  EXPECT_THAT(refused("a.pgm\tcat\nc.pgm\tdog\n"), HasSubstr("line 2: there is no file"));
  EXPECT_THAT(refused("a.pgm\tcat\nb.png\n"), HasSubstr("use a separate list for each kind"));
  EXPECT_THAT(refused("a.pgm\tcat\tdog\n"), HasSubstr("3 columns"));
  EXPECT_THAT(refused("b.png\ta-mask.pgm\n"), HasSubstr("must be a gray image of the same size"));
  folder.write("c.png", png_of(1, 1, {1, 2, 3}, PNG_FORMAT_RGB));
  EXPECT_THAT(refused("a.pgm\nc.png\n"), HasSubstr("use only gray or only color images"));
  folder.write("d.png", "no image");
  EXPECT_THAT(refused("d.png\n"), HasSubstr("not a PNG, PGM or PPM file"));
  EXPECT_THAT(refused("\n"), HasSubstr("it lists no images"));
}

TEST(ImagesReader, folder_lists_images_labeled_by_subfolder) {
  const ScratchFolder folder;
  for (const char* label : {"cat", "dog"}) {
    std::filesystem::create_directory(folder.path(label));
    folder.write(std::string(label) + "/2.pgm", "P2 1 1 9 2");
    folder.write(std::string(label) + "/1.PGM", "P2 1 1 9 1");
    folder.write(std::string(label) + "/notes.txt", "no image");
  }
  const Examples examples = read_examples(open_data({folder.path("")}, "images").front(), {.format = "images"});
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"cat", "cat", "dog", "dog"}));
  EXPECT_EQ(column_of(examples, "pixels").numbers, (Numbers{1, 2, 1, 2}));
  const ScratchFolder empty;
  EXPECT_THAT(message_of<DataError>([&] { open_data({empty.path("")}, "images"); }),
              HasSubstr("a folder without images;"));
  const std::string file = folder.write("x", "P2 1 1 1 1");
  EXPECT_EQ(open_data({file}, "images").front().bytes(), "P2 1 1 1 1");
}

TEST(ImagesReader, NamesOfImagesNeedNotBeUtf8) {
  const ScratchFolder folder;
  for (const std::string label : {"Stra\xDF"
                                  "e",
                                  "Z\xC3\xBCrich"}) {
    std::filesystem::create_directory(folder.path(label));
    folder.write(label + "/a\xE9.pgm", "P2 1 1 9 2");
  }
  folder.write("Z\xC3\xBCrich/ b.pgm", "P2 1 1 9 3");
  const Examples examples = read_examples(open_data({folder.path("")}, "images").front(), {.format = "images"});
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"Straße", "Zürich", "Zürich"}));
  EXPECT_EQ(column_of(examples, "pixels").numbers, (Numbers{2, 3, 2}));
  ASSERT_EQ(examples.remarks.size(), 1U);
  EXPECT_THAT(examples.remarks.front(), HasSubstr("labels that are not UTF-8 are read as ISO-8859-1 (1 of them)"));
  const std::string list = folder.write("list.tsv",
                                        "Stra\xDF"
                                        "e/a\xE9.pgm\tgr\xFCn\n");
  EXPECT_EQ(entries_of(read_examples(Input::open(list), {.format = "images"}), "label"), (Texts{"grün"}));
}

TEST(ImagesReader, FaultsInAFolderNameTheImage) {
  const ScratchFolder folder;
  folder.write("a.pgm", "P2 1 1 9 2");
  folder.write("b.ppm", "P3 1 1 9 1 2 3");
  const std::string message = message_of<DataError>(
      [&] { read_examples(open_data({folder.path("")}, "images").front(), {.format = "images"}); });
  EXPECT_THAT(message, ::testing::StartsWith(folder.path("b.ppm") + ": "));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("*")));
}

}  // namespace
}  // namespace unfold
