#pragma once
/// Lists of image files: a file that lists images with labels, or a folder of images.

#include <string>
#include <vector>

#include "base/formats/file.h"

namespace unfold {

/// Whether the name ends in .png, .pgm, .ppm or .pnm, the formats with one image per file.
bool is_image_name(std::string_view name);

/// Whether an input is the list that open_data made of a folder, and no file of its name.
bool is_folder_list(const Input& input);

/// The files of data of a format. Of images, in place of a folder the list of its images (read_images.cpp), in the
/// order of their names: images in subfolders have the label of the subfolder's name. Throws DataError: missing,
/// unreadable, a folder without images.
std::vector<Input> open_data(const std::vector<std::string>& files, std::string_view format);

}  // namespace unfold
