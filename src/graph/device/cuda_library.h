#pragma once
/// Dynamically loaded NVIDIA libraries: the driver, the runtime compiler NVRTC, and cuBLAS. They are opened on first
/// use, so the same program runs on machines without them. Internal to graph/device/.

#include <cublas_v2.h>
#include <cuda.h>
#include <nvrtc.h>

#include <string>

namespace unfold {

// Names that are macros in cuda.h stand for the versioned symbols of the header.
// clang-format off
#define UNFOLD_CUDA_FUNCTIONS(X) \
  X(cuInit) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemHostAlloc) \
  X(cuMemFreeHost) X(cuMemsetD8Async) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncSetAttribute) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuLaunchKernel) X(cuLaunchCooperativeKernel) X(cuStreamCreate) \
  X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiate) \
  X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy) X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize) \
  X(cuEventElapsedTime) X(cuEventDestroy) X(cuGetErrorName) X(cuGetErrorString)
#define UNFOLD_NVRTC_FUNCTIONS(X) \
  X(nvrtcCreateProgram) X(nvrtcCompileProgram) X(nvrtcDestroyProgram) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) \
  X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetErrorString)
#define UNFOLD_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate) X(cublasDestroy) X(cublasSetStream) X(cublasSetWorkspace) X(cublasGemmEx_64) X(cublasDgemm_64) \
  X(cublasGetStatusName) X(cublasGetStatusString)
// clang-format on

#define UNFOLD_DECLARE(name) decltype(&::name) name = nullptr;
struct CudaDriver {
  UNFOLD_CUDA_FUNCTIONS(UNFOLD_DECLARE)
};
struct CudaCompiler {
  UNFOLD_NVRTC_FUNCTIONS(UNFOLD_DECLARE)
};
struct CudaProducts {
  UNFOLD_CUBLAS_FUNCTIONS(UNFOLD_DECLARE)
};
#undef UNFOLD_DECLARE

/// Each function opens its library on the first call. Throws RuntimeFailure with a remedy if the library is missing.
const CudaDriver& cuda_driver();
const CudaCompiler& cuda_compiler();
const CudaProducts& cuda_products();

/// Throws RuntimeFailure if a call failed: the message names the call, the error and, if known, a remedy.
void check_cuda(CUresult result, const char* call, const std::string& remedy = {});
void check_cuda(nvrtcResult result, const char* call, const std::string& remedy = {});
void check_cuda(cublasStatus_t result, const char* call, const std::string& remedy = {});

}  // namespace unfold
