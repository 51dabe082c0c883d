#include "data/files/image_file.h"

#include <fmt/format.h>
#include <png.h>

#include <charconv>

#include "data/files/line_parts.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

void require_limits(const std::string& source, Index height, Index width) {
  if (height < 1 || width < 1)
    throw_data_error(source, 0, fmt::format("the image is empty: it has {} x {} pixels; save it again", height, width));
  if (height > kMostSide || width > kMostSide || height * width > kMostPixels)
    throw_data_error(source, 0,
                     fmt::format("the image has {} x {} pixels, but at most {} per side and {} in total are supported; "
                                 "crop it, or make it smaller",
                                 height, width, kMostSide, kMostPixels));
}

/// Parses a whole Netpbm image.
class PnmReader {
 public:
  PnmReader(const std::string& source, std::string_view bytes) : source_(source), bytes_(bytes) {}

  Image read() {
    const bool plain = bytes_[1] == '2' || bytes_[1] == '3';
    image_.channels = bytes_[1] == '3' || bytes_[1] == '6' ? 3 : 1;
    place_ = 2;
    image_.width = number("width");
    image_.height = number("height");
    require_limits(source_, image_.height, image_.width);
    largest_ = number("largest level");
    if (largest_ < 1 || largest_ > kDeepest)
      refuse(fmt::format("the maximum level is {}, but it must be from 1 to {}", largest_, kDeepest));
    const auto count = static_cast<std::size_t>(image_.height * image_.width * image_.channels);
    plain ? read_plain(count) : read_raw(count);
    return std::move(image_);
  }

 private:
  static constexpr Index kDeepest = 65535;

  [[noreturn]] void refuse(const std::string& what) const {
    throw_data_error(source_, 0, fmt::format("at byte {}: {}", place_, what));
  }
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  /// Skips white space and comments, which extend from # to the end of the line.
  void skip() {
    while (place_ < bytes_.size()) {
      if (bytes_[place_] == '#')
        place_ = std::min(bytes_.find('\n', place_), bytes_.size());
      else if (is_blank(bytes_[place_]))
        ++place_;
      else
        return;
    }
  }

  Index number(const char* what) {
    skip();
    Index value = 0;
    const char* const end = bytes_.data() + bytes_.size();
    const auto [stopped, error] = std::from_chars(bytes_.data() + place_, end, value);
    if (error != std::errc() || value < 0)
      refuse(place_ < bytes_.size() ? fmt::format("{} is not a number; save the image again", what)
                                    : "the file ends where a number is expected; save the image again");
    place_ = static_cast<std::size_t>(stopped - bytes_.data());
    if (place_ < bytes_.size() && !is_blank(bytes_[place_]) && bytes_[place_] != '#')
      refuse(fmt::format("{} is not a number; save the image again", what));
    return value;
  }

  void take(Index level) {
    if (level > largest_) refuse(fmt::format("level {} is above the maximum {}", level, largest_));
    image_.pixels.push_back(static_cast<std::uint16_t>(level));
  }

  void read_plain(std::size_t count) {
    if (bytes_.size() - place_ < 2 * count - 1) refuse("the file is truncated; save the image again");
    image_.pixels.reserve(count);
    for (std::size_t i = 0; i < count; ++i) take(number("a level"));
    skip();
    if (place_ < bytes_.size()) refuse("there is data after the image; only one image per file is supported");
  }

  void read_raw(std::size_t count) {
    ++place_;  // a single white-space character
    const std::size_t deep = largest_ > 255 ? 2 : 1;
    if (place_ > bytes_.size() || bytes_.size() - place_ < count * deep)
      refuse("the file is truncated; save the image again");
    if (bytes_.size() - place_ > count * deep) {
      place_ += count * deep;
      refuse("there is data after the image; only one image per file is supported");
    }
    image_.pixels.reserve(count);
    for (std::size_t i = 0; i < count; ++i, place_ += deep) {
      const auto byte = [&](std::size_t k) {
        return static_cast<Index>(static_cast<std::uint8_t>(bytes_[place_ + k]));
      };
      take(deep == 1 ? byte(0) : byte(0) << 8 | byte(1));
    }
  }

  const std::string& source_;
  std::string_view bytes_;
  std::size_t place_ = 0;
  Index largest_ = 0;
  Image image_;
};

/// Owns the libpng image and frees it.
class PngHandle {
 public:
  PngHandle() { image.version = PNG_IMAGE_VERSION; }
  ~PngHandle() { png_image_free(&image); }
  PngHandle(const PngHandle&) = delete;
  PngHandle& operator=(const PngHandle&) = delete;
  png_image image = {};
};

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

bool is_pnm(std::string_view bytes) {
  if (bytes.size() < 3 || bytes[0] != 'P' ||
      (bytes[2] != '#' && bytes[2] != ' ' && (bytes[2] < '\t' || bytes[2] > '\r')))
    return false;
  return std::string_view("2356").find(bytes[1]) != std::string_view::npos;
}

Image read_png(const std::string& source, std::string_view bytes) {
  PngHandle png;
  const auto refuse = [&] {
    throw_data_error(
        source, 0,
        fmt::format("not a readable PNG file ({}); save it again", static_cast<const char*>(png.image.message)));
  };
  if (png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) == 0) refuse();
  png.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // rounded to 8 bits as stored, without conversion from linear light
  Image image{.height = png.image.height, .width = png.image.width};
  require_limits(source, image.height, image.width);
  image.channels = (png.image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
  png.image.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<std::uint8_t> levels(PNG_IMAGE_SIZE(png.image));
  const png_color black = {};
  if (png_image_finish_read(&png.image, &black, levels.data(), 0, nullptr) == 0) refuse();
  image.pixels.assign(levels.begin(), levels.end());
  return image;
}

Image read_pnm(const std::string& source, std::string_view bytes) { return PnmReader(source, bytes).read(); }

}  // namespace unfold
