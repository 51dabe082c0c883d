#pragma once
/// Lists of image files: a file that lists images with labels, or a folder of images.

#include <string>
#include <vector>

#include "unfold/base/file.h"

namespace unfold {

/// Whether the name ends in .png, .pgm, .ppm or .pnm, the formats with one image per file.
bool is_image_name(std::string_view name);

/// Opens the data files of a format. For images, a folder is replaced by a list of its images (read_images.cpp), sorted
/// by name; images in subfolders are labeled with the name of the subfolder. Throws DataError: missing, unreadable, or
/// a folder without images.
std::vector<Input> open_data(const std::vector<std::string>& files, std::string_view format);

}  // namespace unfold
