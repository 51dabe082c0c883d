#pragma once
/// Data passed by a Python program: files, or objects in memory, as described by unfold/_data.py.

#include <nanobind/nanobind.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/train/train_in_memory.h"
#include "data/readers/memory_data.h"

namespace unfold::python {

namespace nb = nanobind;

/// Files, or data in memory under the name that `files` contains.
struct DataArgument {
  std::vector<std::string> files;
  std::map<std::string, std::shared_ptr<MemoryData>, std::less<>> memory;
};

/// Converts a description made by unfold._data.describe: a dictionary with "format" and either "arrays", "columns" and
/// "ends", or "texts". Copies every number once. Throws DataError, TypeError.
std::shared_ptr<MemoryData> memory_data(const nb::dict& description);
/// Returns paths as files, and other objects as data in memory with a name. Raises TypeError for objects that are
/// neither.
DataArgument data_of(nb::handle given, const char* what, const char* name = kDataInMemory);

/// Calls `work`. A DataError or ModelError about a missing or unreadable file is also a FileNotFoundError or
/// PermissionError (unfold/errors.py), with the same message.
void with_os_errors(const std::vector<std::string>& files, const std::function<void()>& work);

/// Appends the numbers of an array of any shape and strides, in C order. The type is float, double, bool or an integer.
/// Raises TypeError for other objects.
void append_numbers(nb::handle array, std::vector<double>& numbers, std::vector<Index>* shape = nullptr);

}  // namespace unfold::python
