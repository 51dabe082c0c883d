#pragma once
/// Lists of image files: a file that lists images with labels, or a folder of images.

#include <string>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

/// Returns whether the name ends in .png, .pgm, .ppm or .pnm, the formats with one image per file.
bool is_image_name(std::string_view name);

/// Returns whether an input is the list that open_data created for a folder, not a file with that name.
bool is_folder_list(const Input& input);

/// Opens data files of a format. For images, a folder is replaced with the list of its images (read_images.cpp) in the
/// order of their names; images in a subfolder have the name of the subfolder as their label. Throws DataError if a
/// file is missing or unreadable, or if a folder contains no images.
std::vector<Input> open_data(const std::vector<std::string>& files, std::string_view format);

}  // namespace unfold
