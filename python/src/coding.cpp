#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "app/settings/train_settings.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "unfold/compression/compress.h"
#include "work.h"

namespace unfold::python {
namespace {

/// Returns the contents of a bytes-like object: bytes, bytearray, memoryview or array.
std::string bytes_like(nb::handle given) {
  Py_buffer view;
  if (PyObject_GetBuffer(given.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::string bytes(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len));
  PyBuffer_Release(&view);
  return bytes;
}

ByteSource source_of(const std::string& bytes) {
  return [&bytes, at = std::size_t{0}](char* out, std::size_t size) mutable {
    const std::size_t n = std::min(size, bytes.size() - at);
    std::memcpy(out, bytes.data() + at, n);
    at += n;
    return n;
  };
}

nb::bytes compress_bytes(nb::handle data, const std::string& model, std::optional<Index> block, bool independent,
                         bool verify, Index threads) {
  const std::string in = bytes_like(data);
  std::string out;
  PythonReporter reporter{nb::none()};
  reporter.run([&] {
    CompressOptions options{.model = model};
    if (block) options.block = *block;
    options.independent = independent;
    options.threads = thread_count(threads);
    options.verify = verify;
    options.stop = reporter.stop();
    compress(
        source_of(in), [&](std::string_view bytes) { out += bytes; }, options);
  });
  return nb::bytes(out.data(), out.size());
}

nb::bytes decompress_bytes(nb::handle data, Index memory, Index output, Index threads) {
  const std::string in = bytes_like(data);
  std::string out;
  PythonReporter reporter{nb::none()};
  reporter.run([&] {
    DecompressOptions options{.size = static_cast<Index>(in.size())};
    options.limits = {.memory = memory, .output = output};
    options.threads = thread_count(threads);
    options.stop = reporter.stop();
    decompress(
        source_of(in), [&](std::string_view bytes) { out += bytes; }, options);
  });
  return nb::bytes(out.data(), out.size());
}

}  // namespace

void add_coding(nb::module_& module) {
  module.def("compress", &compress_bytes, nb::arg("data"), nb::kw_only(), nb::arg("model") = "cm:memory=64",
             nb::arg("block").none() = nb::none(), nb::arg("independent") = false, nb::arg("verify") = true,
             nb::arg("threads") = 1,
             "Compress bytes losslessly into the container format of `unfold compress`. `model`: the SPEC of an "
             "untrained model that learns while compressing.");
  module.def("decompress", &decompress_bytes, nb::arg("data"), nb::kw_only(), nb::arg("max_memory") = 0,
             nb::arg("max_output") = 0, nb::arg("threads") = 1,
             "Restore bytes compressed by `compress` or `unfold compress`. Limits are in bytes; 0: the defaults of the "
             "command.");
}

}  // namespace unfold::python
