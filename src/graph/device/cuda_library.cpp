#include "graph/device/cuda_library.h"

#include <dlfcn.h>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The toolkit directory of the build is searched last. A loaded library stays open.
void* open_library(const std::string& file, const std::string& missing) {
  if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const std::string reason = dlerror();
  if (void* library = dlopen((UNFOLD_CUDA_LIBRARIES "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw RuntimeFailure(missing + " (" + reason + ")");
}

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw RuntimeFailure("the installed NVIDIA libraries are too old: they do not have " + std::string(name) +
                         "; CUDA " UNFOLD_CUDA_MAJOR " or later is needed");
}

#define UNFOLD_TEXT_OF(name) #name
#define UNFOLD_FIND(name) find_function(library, UNFOLD_TEXT_OF(name), functions.name);

const char* remedy_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NO_DEVICE: return "this machine has no NVIDIA GPU that the driver supports; run on the CPU";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU: return "install a driver that supports CUDA " UNFOLD_CUDA_MAJOR;
    case CUDA_ERROR_DEVICE_UNAVAILABLE: return "another program has exclusive use of the GPU";
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
      return "these blocks cannot all be resident on the GPU at the same time";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED: return "an earlier kernel failed; this process can no longer use the GPU";
    default: return nullptr;
  }
}

[[noreturn]] void fail(const char* call, const char* name, const char* text, const std::string& remedy) {
  std::string message = "GPU error: " + std::string(call) + ": " + name;
  if (text != nullptr) message += " (" + std::string(text) + ")";
  if (!remedy.empty()) message += "; " + remedy;
  throw RuntimeFailure(message);
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = [] {
    void* library = open_library("libcuda.so.1", "no NVIDIA driver found: install one, or run on the CPU");
    CudaDriver functions;
    UNFOLD_CUDA_FUNCTIONS(UNFOLD_FIND)
    return functions;
  }();
  return driver;
}

const CudaCompiler& cuda_compiler() {
  static const CudaCompiler compiler = [] {
    void* library = open_library("libnvrtc.so." UNFOLD_CUDA_MAJOR,
                                 "NVRTC, which compiles for the GPU, was not found: install CUDA " UNFOLD_CUDA_MAJOR);
    CudaCompiler functions;
    UNFOLD_NVRTC_FUNCTIONS(UNFOLD_FIND)
    return functions;
  }();
  return compiler;
}

const CudaProducts& cuda_products() {
  static const CudaProducts products = [] {
    void* library = open_library("libcublas.so." UNFOLD_CUDA_MAJOR, "no cuBLAS found: install CUDA " UNFOLD_CUDA_MAJOR);
    CudaProducts functions;
    UNFOLD_CUBLAS_FUNCTIONS(UNFOLD_FIND)
    return functions;
  }();
  return products;
}

void check_cuda(CUresult result, const char* call, const std::string& remedy) {
  if (result == CUDA_SUCCESS) return;
  const char *name = nullptr, *text = nullptr;
  cuda_driver().cuGetErrorName(result, &name);
  cuda_driver().cuGetErrorString(result, &text);
  const char* known = remedy_of(result);
  const std::string number = "error " + std::to_string(static_cast<int>(result));
  fail(call, name != nullptr ? name : number.c_str(), text, remedy.empty() && known != nullptr ? known : remedy);
}

void check_cuda(nvrtcResult result, const char* call, const std::string& remedy) {
  if (result != NVRTC_SUCCESS) fail(call, cuda_compiler().nvrtcGetErrorString(result), nullptr, remedy);
}

void check_cuda(cublasStatus_t result, const char* call, const std::string& remedy) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  fail(call, cuda_products().cublasGetStatusName(result), cuda_products().cublasGetStatusString(result), remedy);
}

}  // namespace unfold
