/// The format `images`: images as grids, from IDX files (the format of MNIST, with a separate file of labels), PNG, PGM
/// and PPM, NumPy arrays, and lists of image files with labels. Positions are pixels, row by row, with one number per
/// pixel, or three for color images.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "data/files/idx.h"
#include "data/files/image_file.h"
#include "data/files/npy_arrays.h"
#include "data/files/zip_members.h"
#include "data/readers/open_data.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPixels = "pixels", *kLabel = "label";
/// Limit for all images of a file together: they must fit into memory with several bytes per number.
constexpr Index kMostNumbers = Index{1} << 30;

/// Appends the shape and the end position of a grid.
void add_grid(Index height, Index width, Examples& examples) {
  examples.shapes.emplace_back(height, width);
  examples.ends.push_back(examples.positions() + height * width);
}

bool is_idx(std::string_view bytes) { return bytes.size() >= 4 && bytes.starts_with(std::string_view("\0\0\x08", 3)); }

/// Returns the label file next to an image file: "train-images-idx3-ubyte.gz" and "train-labels-idx1-ubyte".
std::optional<std::string> labels_beside(const std::string& images) {
  const fs::path path(images);
  std::string name = path.filename().string();
  const std::size_t at = name.find("images");
  if (at == std::string::npos) return std::nullopt;
  name.replace(at, 6, "labels");
  for (const char* kind : {"idx3", "idx4"})
    if (const std::size_t found = name.find(kind); found != std::string::npos) name.replace(found, 4, "idx1");
  std::vector<std::string> names = {name};
  if (name.ends_with(".gz"))
    names.push_back(name.substr(0, name.size() - 3));
  else
    names.push_back(name + ".gz");
  std::error_code ignored;
  for (const std::string& one : names)
    if (const fs::path found = path.parent_path() / one; fs::is_regular_file(found, ignored)) return found.string();
  return std::nullopt;
}

ExampleColumn idx_labels(const std::string& path, Index images, const std::string& source) {
  const Idx idx = Idx::open(path);
  if (idx.shape().size() != 1 || idx.shape()[0] != images)
    throw DataError(fmt::format("{}: an array of labels with shape [{}] does not match the {} images of {}", path,
                                fmt::join(idx.shape(), ", "), images, source));
  ExampleColumn labels{.name = kLabel, .once = true};
  labels.texts.reserve(at(images));
  for (const std::uint8_t label : idx.bytes()) labels.texts.push_back(fmt::format("{}", label));
  return labels;
}

Examples read_idx(const Input& input) {
  const Idx idx(input);
  const std::vector<Index>& shape = idx.shape();
  if (shape.size() < 2)
    throw_data_error(input.name(), 0,
                     "an IDX file with one dimension contains labels; specify the file of images; the labels next to "
                     "it are found automatically");
  const bool one = shape.size() == 2;
  const Index count = one ? 1 : shape[0], height = shape[one ? 0 : 1], width = shape[one ? 1 : 2];
  const Index channels = shape.size() == 4 ? shape[3] : 1;
  if (count < 1 || height < 1 || width < 1 || channels < 1)
    throw_data_error(input.name(), 0,
                     fmt::format("the header has shape [{}], which contains no images", fmt::join(shape, ", ")));
  if (height > kMostSide || width > kMostSide || height * width > kMostPixels)
    throw_data_error(
        input.name(), 0,
        fmt::format("the images have {} x {} pixels, but at most {} per side and {} in total are supported", height,
                    width, kMostSide, kMostPixels));
  Examples examples{.source = input.name()};
  ExampleColumn pixels{.name = kPixels, .width = channels};
  pixels.numbers.assign(idx.bytes().begin(), idx.bytes().end());
  for (Index i = 0; i < count; ++i) add_grid(height, width, examples);
  examples.columns.push_back(std::move(pixels));
  if (const std::optional<std::string> labels = labels_beside(input.name())) {
    examples.columns.push_back(idx_labels(*labels, count, input.name()));
    examples.remarks.push_back(fmt::format("labels are read from {}", *labels));
  }
  return examples;
}

/// Reads an image from a separate file, in any supported format.
Image read_image(const std::string& source, std::string_view bytes) {
  if (is_png(bytes)) return read_png(source, bytes);
  if (is_pnm(bytes)) return read_pnm(source, bytes);
  throw_data_error(source, 0, "not a PNG, PGM or PPM file; convert the image to one of these formats");
}

Examples read_one_image(const Input& input) {
  const Image image = read_image(input.name(), input.bytes());
  Examples examples{.source = input.name()};
  ExampleColumn pixels{.name = kPixels, .width = image.channels};
  pixels.numbers.assign(image.pixels.begin(), image.pixels.end());
  add_grid(image.height, image.width, examples);
  examples.columns.push_back(std::move(pixels));
  return examples;
}

/// Reads a list: each line holds the file name of an image, relative to the list, and optionally a tab and a label, or
/// the name of an image of the same size whose levels are the labels of the pixels.
class ImageList {
 public:
  explicit ImageList(const Input& input)
      : text_(input), folder_(fs::path(input.name()).parent_path()), of_folder_(is_folder_list(input)) {
    examples_.source = of_folder_ ? folder_.string() : text_.source();
    pixels_.name = kPixels, labels_.name = kLabel;
  }

  Examples read() {
    for (ReaderLines lines(text_.bytes()); lines.next();) {
      line_ = lines.number();
      if (!without_blanks(lines.line()).empty()) take(lines.line());
    }
    if (converted_ > 0)
      examples_.remarks.push_back(fmt::format("{}: labels that are not UTF-8 are read as ISO-8859-1 ({} of them)",
                                              examples_.source, converted_));
    if (examples_.count() == 0) throw_data_error(text_.source(), 0, "it lists no images");
    examples_.columns.push_back(std::move(pixels_));
    if (kind_ != Kind::none) {
      labels_.once = kind_ == Kind::whole;
      examples_.columns.push_back(std::move(labels_));
    }
    return std::move(examples_);
  }

 private:
  enum class Kind { none, whole, positions };

  static const char* describe(Kind kind) {
    return kind == Kind::none ? "no label" : kind == Kind::whole ? "a label" : "labels per pixel";
  }

  /// Throws a DataError that names the image if the list was made from a folder, and the line of the list otherwise.
  [[noreturn]] void refuse(const std::string& what) const {
    if (of_folder_) throw_data_error((folder_ / name_).lexically_normal().string(), 0, what);
    throw_data_error(text_.source(), line_, what);
  }

  Image open(std::string_view name) const {
    const fs::path path = folder_ / fs::path(std::string(name));
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored))
      refuse(
          fmt::format("there is no file {}; each line contains the file name of an image, relative to the list, and "
                      "optionally a tab and its label",
                      path.string()));
    const Input input = Input::open(path.string());
    Image image = read_image(input.name(), input.bytes());
    input.require_whole();
    return image;
  }

  void take(std::string_view line) {
    std::vector<std::string_view> cells;
    split_at(line, '\t', cells);
    if (cells.size() > 2)
      refuse(fmt::format("the line has {} columns; expected a file name and a label", cells.size()));
    const std::string_view label = cells.size() > 1 ? without_blanks(cells[1]) : std::string_view();
    name_ = without_blanks(cells[0]);
    const Kind kind = cells.size() < 2 ? Kind::none : is_image_name(label) ? Kind::positions : Kind::whole;
    if (examples_.count() > 0 && kind != kind_)
      refuse(fmt::format("this image has {}, but previous images have {}; use a separate list for each kind",
                         describe(kind), describe(kind_)));
    kind_ = kind;
    const Image image = open(name_);
    add_pixels(image, name_);
    if (kind == Kind::whole) {
      labels_.texts.push_back(in_utf8(label));
      converted_ += labels_.texts.back() == label ? 0 : 1;
      mark_entry(labels_, label.empty());
    } else if (kind == Kind::positions) {
      add_mask(open(label), image);
    }
    add_grid(image.height, image.width, examples_);
    if (!of_folder_) examples_.example_lines.push_back(line_);
  }

  void add_pixels(const Image& image, std::string_view name) {
    if (pixels_.width == 0) pixels_.width = image.channels;
    if (pixels_.width != image.channels)
      refuse(fmt::format("{} has {} numbers per pixel, but previous images have {}; use only gray or only color images",
                         fs::path(name).lexically_normal().string(), image.channels, pixels_.width));
    if (static_cast<Index>(pixels_.numbers.size() + image.pixels.size()) > kMostNumbers)
      refuse(fmt::format("more than {} pixels in one list; divide it", kMostNumbers));
    pixels_.numbers.insert(pixels_.numbers.end(), image.pixels.begin(), image.pixels.end());
  }

  void add_mask(const Image& mask, const Image& image) {
    if (mask.channels != 1 || mask.height != image.height || mask.width != image.width)
      refuse(
          fmt::format("the labels have {} x {} pixels with {} numbers each, but the image has {} x {} pixels; labels "
                      "must be a gray image of the same size",
                      mask.height, mask.width, mask.channels, image.height, image.width));
    for (const std::uint16_t level : mask.pixels) labels_.texts.push_back(fmt::format("{}", level));
  }

  ReaderText text_;
  fs::path folder_;
  bool of_folder_ = false;
  std::string_view name_;  // name of the image in this line
  Index line_ = 0, converted_ = 0;
  Examples examples_;
  ExampleColumn pixels_, labels_;
  Kind kind_ = Kind::none;
};

/// Interprets arrays as images: [H, W] is one image, and [N, H, W] and [N, H, W, C] are N images. Additional arrays [N]
/// and [N, m] contain one entry per image. "label" holds integers, which are labels.
class ImageArrays {
 public:
  ImageArrays(const Input& input) : arrays_(read_npy_arrays(input)) { examples_.source = input.name(); }

  Examples read() {
    for (const NpyArray& array : arrays_) find_shape(array);
    if (height_ == 0)
      throw_data_error(examples_.source, 0,
                       "there is no array of images; expected [height, width], [images, height, width] or [images, "
                       "height, width, numbers]");
    if (arrays_.size() == 1) arrays_.front().name = kPixels;
    for (Index i = 0; i < count_; ++i) add_grid(height_, width_, examples_);
    for (NpyArray& array : arrays_) add(array);
    return std::move(examples_);
  }

 private:
  [[noreturn]] void refuse(const NpyArray& array, const std::string& what) const {
    throw_data_error(examples_.source, 0,
                     fmt::format("array \"{}\" of shape [{}]: {}", array.name, fmt::join(array.shape, ", "), what));
  }

  bool alone() const { return arrays_.size() == 1; }
  bool is_images(const NpyArray& array) const {
    return array.shape.size() == 3 || array.shape.size() == 4 || (alone() && array.shape.size() == 2);
  }

  void find_shape(const NpyArray& array) {
    if (array.shape.empty() || array.values.empty() || array.shape.size() > 4)
      refuse(array, "it is empty, or does not have 1 to 4 dimensions");
    if (!is_images(array)) return;
    const bool one = array.shape.size() == 2;
    const Index count = one ? 1 : array.shape[0], height = array.shape[one ? 0 : 1], width = array.shape[one ? 1 : 2];
    if (height_ > 0 && (count != count_ || height != height_ || width != width_))
      refuse(array, fmt::format("a different array has {} images of {} x {}; all must match", count_, height_, width_));
    if (height > kMostSide || width > kMostSide || height * width > kMostPixels)
      refuse(array, fmt::format("the images have {} x {} pixels, but at most {} per side and {} in total are supported",
                                height, width, kMostSide, kMostPixels));
    count_ = count, height_ = height, width_ = width;
  }

  void add(NpyArray& array) {
    const bool images = is_images(array);
    if (!images && array.shape[0] != count_)
      refuse(array, fmt::format("there are {} images; the first dimension must equal this number", count_));
    ExampleColumn column{.name = array.name, .once = !images};
    const Index entries = images ? examples_.positions() : count_;
    const Index width = static_cast<Index>(array.values.size()) / entries;
    for (std::size_t i = 0; i < array.values.size(); ++i)
      if (!std::isfinite(array.values[i])) refuse(array, fmt::format("element {} is not finite", i));
    if (array.name == kLabel && width == 1) {
      for (const double x : array.values) {
        if (x != std::floor(x)) refuse(array, fmt::format("{} is not a label; labels are integers", x));
        column.texts.push_back(fmt::format("{:.0f}", x));
      }
    } else {
      column.width = width;
      column.numbers = std::move(array.values);
    }
    examples_.columns.push_back(std::move(column));
  }

  std::vector<NpyArray> arrays_;
  Examples examples_;
  Index count_ = 0, height_ = 0, width_ = 0;
};

Examples read_images(const Input& input, const ReaderOptions& options) {
  if (options.whole.end != SequenceEnd::none)
    throw UsageError("--ends requires sequences and does not apply to images; leave it out");
  const std::string_view bytes = input.bytes();
  if (is_idx(bytes)) return read_idx(input);
  if (is_png(bytes) || is_pnm(bytes)) return read_one_image(input);
  if (is_npy(bytes) || is_zip(bytes)) return ImageArrays(input).read();
  return ImageList(input).read();
}

std::string guess_images(const DataSample& sample) {
  if (is_idx(sample.bytes) && sample.bytes[3] >= 3) return "an IDX file of images";
  if (is_png(sample.bytes)) return "a PNG image";
  return is_pnm(sample.bytes) && is_image_name(sample.name) ? "a Netpbm image" : "";
}

}  // namespace

ReaderEntry images_reader() {
  return {.name = "images",
          .help =
              "images as grids: IDX with a label file next to it, PNG, PGM, PPM, NumPy arrays, a list \"FILE TAB "
              "label\", or a folder with one subfolder per label",
          .guess = guess_images,
          .read = read_images};
}

}  // namespace unfold
