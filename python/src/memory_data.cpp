#include "memory_data.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "arguments.h"
#include "data/arrow/arrow_stream.h"
#include "data/examples/array_examples.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"
#include "work.h"

namespace unfold::python {
namespace {

/// A view of the memory of a Python object, released by the destructor.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) throw nb::python_error();
  }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  ~BufferView() { PyBuffer_Release(&view_); }
  const Py_buffer& operator*() const { return view_; }

 private:
  Py_buffer view_;
};

/// Appends the elements of the dimensions from `dimension` on.
template <class Stored>
void append_elements(const Py_buffer& view, int dimension, const char* from, std::vector<double>& out) {
  if (dimension == view.ndim) {
    Stored value;
    std::memcpy(&value, from, sizeof value);
    out.push_back(static_cast<double>(value));
    return;
  }
  const Py_ssize_t count = view.shape[dimension], stride = view.strides[dimension];
  if (dimension + 1 < view.ndim) {
    for (Py_ssize_t i = 0; i < count; ++i) append_elements<Stored>(view, dimension + 1, from + i * stride, out);
    return;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + i * stride, sizeof value);
    out.push_back(static_cast<double>(value));
  }
}

/// Calls f with a value of the type that a format character of a buffer denotes. Returns false for other types.
bool with_type(char format, const auto& f) {
  switch (format) {
    case 'd': return f(double{}), true;
    case 'f': return f(float{}), true;
    case '?': return f(bool{}), true;
    case 'b': return f(static_cast<signed char>(0)), true;
    case 'B': return f(static_cast<unsigned char>(0)), true;
    case 'h': return f(short{}), true;
    case 'H': return f(static_cast<unsigned short>(0)), true;
    case 'i': return f(int{}), true;
    case 'I': return f(0u), true;
    case 'l': return f(0L), true;
    case 'L': return f(0uL), true;
    case 'q': return f(0LL), true;
    case 'Q': return f(0uLL), true;
    default: return false;
  }
}

/// An entry is missing if it is None, or if all its numbers are NaN.
void mark_missing_numbers(const std::string& source, ExampleColumn& column) {
  const Index entries = column.entries(), width = column.width;
  for (Index entry = 0; entry < entries; ++entry) {
    double* const begin = column.numbers.data() + entry * width;
    Index missing = 0;
    for (Index i = 0; i < width; ++i) {
      if (std::isinf(begin[i]))
        throw DataError(source + ": column " + column.name + ", entry " + std::to_string(entry) +
                        " is not finite; use NaN for missing values");
      missing += std::isnan(begin[i]) ? 1 : 0;
    }
    if (missing == 0) continue;
    if (missing < width)
      throw DataError(source + ": column " + column.name + ", entry " + std::to_string(entry) + " is NaN in " +
                      std::to_string(missing) + " of " + std::to_string(width) +
                      " numbers; use nan for all numbers of a missing vector");
    if (column.missing.empty()) column.missing.resize(at(entries), 0);
    column.missing[at(entry)] = 1;
    std::fill(begin, begin + width, 0);
  }
}

void read_texts(nb::handle values, bool empty_is_missing, ExampleColumn& column) {
  for (nb::handle value : values) {
    column.texts.push_back(value.is_none() ? std::string() : text_of(value));
    mark_entry(column, value.is_none() || (empty_is_missing && column.texts.back().empty()));
  }
}

/// A column is (name, once, values): a list of str and None, or an array [entries] or [entries, numbers].
ExampleColumn column_of(const std::string& source, nb::handle described, bool empty_is_missing) {
  ExampleColumn column{.name = utf8_of(described[0]), .once = PyObject_IsTrue(described[1].ptr()) == 1};
  const nb::object values = described[2];
  if (nb::isinstance<nb::list>(values)) {
    read_texts(values, empty_is_missing, column);
    return column;
  }
  std::vector<Index> shape;
  append_numbers(values, column.numbers, &shape);
  column.width = shape.size() > 1 ? shape[1] : 1;
  mark_missing_numbers(source, column);
  return column;
}

/// Reads an object that exports an Arrow stream.
void take_stream(nb::handle object, const std::string& source, MemoryData& data) {
  const nb::object capsule = object.attr("__arrow_c_stream__")();
  void* stream = PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream");
  if (stream == nullptr) throw nb::python_error();
  ArrowTable table = read_arrow_stream(source, static_cast<ArrowArrayStream*>(stream));
  data.format = std::move(table.format);
  data.examples = std::move(table.examples);
}

}  // namespace

void append_numbers(nb::handle array, std::vector<double>& numbers, std::vector<Index>* shape) {
  const BufferView buffer(array);
  const Py_buffer& view = *buffer;
  const char* format = view.format == nullptr ? "B" : view.format;
  Py_ssize_t count = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (shape != nullptr) shape->push_back(static_cast<Index>(view.shape[d]));
    count *= view.shape[d];
  }
  numbers.reserve(numbers.size() + static_cast<std::size_t>(count));
  const auto append = [&]<class Stored>(Stored) {
    if (count > 0) append_elements<Stored>(view, 0, static_cast<const char*>(view.buf), numbers);
  };
  if (format[0] == '@' || format[0] == '=') ++format;
  if (format[1] != '\0' || !with_type(format[0], append))
    throw nb::type_error("expected an array of floating-point numbers or integers");
}

std::shared_ptr<MemoryData> memory_data(const nb::dict& description) {
  auto data = std::make_shared<MemoryData>();
  const std::string source = kDataInMemory;
  data->format = utf8_of(description["format"]);
  if (description.contains("texts")) {
    for (nb::handle text : description["texts"]) {
      const auto bytes = nb::borrow<nb::bytes>(text[1]);
      data->texts.push_back(Input::from_bytes(utf8_of(text[0]), std::string(bytes.c_str(), bytes.size())));
    }
    return data;
  }
  if (description.contains("arrays")) {
    std::vector<NpyArray> arrays;
    for (nb::handle array : description["arrays"]) {
      NpyArray& next = arrays.emplace_back();
      next.name = utf8_of(array[0]);
      append_numbers(array[1], next.values, &next.shape);
    }
    data->examples = examples_of_arrays(source, std::move(arrays));
    return data;
  }
  if (description.contains("stream")) {
    take_stream(description["stream"], source, *data);
    return data;
  }
  data->examples.source = source;
  std::vector<double> ends;
  append_numbers(description["ends"], ends);
  data->examples.ends.assign(ends.begin(), ends.end());
  for (nb::handle column : description["columns"])
    data->examples.columns.push_back(column_of(source, column, data->format == "table"));
  return data;
}

DataArgument data_of(nb::handle given, const char* what, const char* name) {
  if (nb::isinstance<nb::dict>(given) && nb::borrow<nb::dict>(given).contains("__described__"))
    return {{name}, {{name, memory_data(nb::borrow<nb::dict>(given))}}};
  const nb::object described = nb::module_::import_("unfold._data").attr("describe")(given, what);
  if (described.is_none()) return {paths_of(given, what), {}};
  return {{name}, {{name, memory_data(nb::cast<nb::dict>(described))}}};
}

namespace {

bool is_in_memory(const std::string& file) {
  return file == kDataInMemory || file == kValidationInMemory || file == kTestInMemory;
}

}  // namespace

void with_os_errors(const std::vector<std::string>& files, const std::function<void()>& work) {
  const auto translate = [&](const Error& error, const char* kind) {
    for (const std::string& file : files) {
      if (file == "-" || is_in_memory(file) || access(file.c_str(), R_OK) == 0) continue;
      const int number = errno;
      if (number != ENOENT && number != EACCES) continue;
      const std::string name = std::string(kind) + (number == ENOENT ? "NotFoundError" : "PermissionError");
      const std::string what = with_keywords(error.what());
      const nb::object text =
          nb::steal(PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
      const nb::object made = nb::module_::import_("unfold.errors").attr(name.c_str())(text);
      made.attr("errno") = number;
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
      throw nb::python_error();
    }
  };
  try {
    work();
  } catch (const DataError& error) {
    translate(error, "Data");
    throw;
  } catch (const ModelError& error) {
    translate(error, "Model");
    throw;
  }
}

}  // namespace unfold::python
