#include "check.h"
#include "data/files/image_file.h"
#include "unfold/base/error.h"

using namespace unfold;

namespace {

void check_image(const Image& image) {
  check(image.height >= 1 && image.width >= 1 && image.height <= kMostSide && image.width <= kMostSide);
  check(image.channels == 1 || image.channels == 3);
  check(static_cast<Index>(image.pixels.size()) == image.height * image.width * image.channels);
}

}  // namespace

/// The result is either a DataError or a complete image.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  try {
    if (is_png(bytes)) check_image(read_png("input", bytes));
    if (is_pnm(bytes)) check_image(read_pnm("input", bytes));
  } catch (const DataError&) {
  }
  return 0;
}
