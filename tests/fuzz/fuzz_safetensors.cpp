#include "check.h"
#include "unfold/base/error.h"
#include "unfold/data/files/safetensors.h"

using namespace unfold;

/// The result is either a ModelError or tensors that lie within the file and round-trip.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(as_text(data, size));
  try {
    const SafetensorsFile file = SafetensorsFile::from_bytes(bytes, "file", Checksum::optional);
    SafetensorsWriter writer;
    for (const Tensor& tensor : file.tensors()) {
      check(static_cast<Index>(tensor.bytes.size()) == tensor.elements() * width(tensor.dtype));
      writer.add_bytes(tensor);
    }
    for (const auto& [key, value] : file.metadata()) {
      if (key != "checksum" && key != "mac") writer.set_metadata(key, value);
    }
    const SafetensorsFile again = SafetensorsFile::from_bytes(writer.bytes(), "again");
    check(again.tensors().size() == file.tensors().size());
    for (const Tensor& tensor : file.tensors()) check(again.tensor(tensor.name).bytes == tensor.bytes);
  } catch (const ModelError&) {
  }
  return 0;
}
