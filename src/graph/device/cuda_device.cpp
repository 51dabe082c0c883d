/// NVIDIA GPUs, through the CUDA driver, NVRTC and cuBLAS.

#include "graph/device/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "graph/device/cuda_library.h"
#include "graph/device/kernel_prelude.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

#define UNFOLD_CALL(name, ...) check_cuda(cuda_driver().name(__VA_ARGS__), #name)

/// Size of each half of the double-buffered staging memory for uploads.
constexpr std::size_t kStagedBytes = std::size_t{8} << 20;
constexpr std::size_t kAlignment = 256;
/// Workspace of cuBLAS, allocated once. With a fixed workspace, cuBLAS does not allocate memory during a recording, and
/// its choice of algorithm does not depend on free memory.
constexpr std::size_t kProductBytes = std::size_t{64} << 20;
constexpr int kMarks = 1024;
/// Shared memory per block that a kernel can use without opting in to more.
constexpr int kUsualSharedBytes = 48 << 10;

std::string in_megabytes(std::size_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number) {
    UNFOLD_CALL(cuInit, 0);
    int count = 0;
    UNFOLD_CALL(cuDeviceGetCount, &count);
    if (number >= count)
      throw RuntimeFailure("there is no GPU cuda:" + std::to_string(number) + ": this machine has " +
                           std::to_string(count) + ", numbered from 0");
    UNFOLD_CALL(cuDeviceGet, &device_, number);
    std::array<char, 256> name{};
    UNFOLD_CALL(cuDeviceGetName, name.data(), static_cast<int>(name.size()), device_);
    name_ = name.data();
    processors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    shared_bytes_ = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    architecture_ = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                    attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    constexpr int kOldest = 80;
    if (architecture_ < kOldest)
      throw RuntimeFailure("the GPU cuda:" + std::to_string(number) + " (" + name_ +
                           ") is too old: compute capability 8.0 or later is needed; run on the CPU");
    try {
      UNFOLD_CALL(cuDevicePrimaryCtxRetain, &context_, device_);
      enter();
      UNFOLD_CALL(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
      for (Half& half : halves_) {
        UNFOLD_CALL(cuMemHostAlloc, &half.memory, kStagedBytes, 0);
        UNFOLD_CALL(cuEventCreate, &half.read, CU_EVENT_DISABLE_TIMING);
      }
    } catch (...) {
      free_everything();
      throw;
    }
  }
  ~CudaDevice() override { free_everything(); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const override { return name_; }
  Index processors() const override { return processors_; }
  Index shared_bytes() const override { return shared_bytes_; }

  Address allocate(std::size_t bytes) override {
    enter_outside_recordings("allocate");
    CUdeviceptr memory = 0;
    const CUresult result = cuda_driver().cuMemAlloc(&memory, std::max<std::size_t>(bytes, 1));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      std::size_t free = 0, all = 0;
      cuda_driver().cuMemGetInfo(&free, &all);
      throw RuntimeFailure("the GPU has no free memory: " + in_megabytes(bytes) + " were requested, " +
                           in_megabytes(free) + " of its " + in_megabytes(all) + " are free, " +
                           in_megabytes(allocated_) + " are in use by this program; smaller batches need less memory");
    }
    check_cuda(result, "cuMemAlloc");
    try {
      sizes_.emplace(memory, bytes);
    } catch (...) {
      cuda_driver().cuMemFree(memory);
      throw;
    }
    allocated_ += bytes;
    clear(memory, bytes);
    return memory;
  }

  void release(Address memory) noexcept override {
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return;
    allocated_ -= found->second;
    sizes_.erase(found);
    cuda_driver().cuCtxSetCurrent(context_);
    cuda_driver().cuMemFree(memory);  // waits until pending work no longer uses it
  }

  std::size_t allocated_bytes() const override { return allocated_; }

  void upload(Address to, const void* from, std::size_t bytes) override {
    enter_outside_recordings("upload");
    const char* next = static_cast<const char*>(from);
    while (bytes > 0) {
      if (staged_ == kStagedBytes) change_halves();
      const std::size_t part = std::min(bytes, kStagedBytes - staged_);
      char* place = static_cast<char*>(halves_[half_].memory) + staged_;
      std::memcpy(place, next, part);
      UNFOLD_CALL(cuMemcpyHtoDAsync, to, place, part, stream_);
      staged_ = std::min(kStagedBytes, (staged_ + part + kAlignment - 1) / kAlignment * kAlignment);
      next += part, to += part, bytes -= part;
    }
  }

  void download(void* to, Address from, std::size_t bytes) override {
    enter_outside_recordings("download");
    if (bytes == 0) return wait();
    // Once the device is idle, all staged data has been copied, so both halves are free.
    if (bytes > kStagedBytes - staged_) {
      wait();
      staged_ = 0;
    }
    char* next = static_cast<char*>(to);
    if (bytes <= kStagedBytes - staged_) {
      char* place = static_cast<char*>(halves_[half_].memory) + staged_;
      UNFOLD_CALL(cuMemcpyDtoHAsync, place, from, bytes, stream_);
      wait();
      std::memcpy(next, place, bytes);
      staged_ = 0;
      return;
    }
    std::size_t asked = 0, done = 0;
    const auto ask = [&] {
      const std::size_t part = std::min(kStagedBytes, bytes - asked);
      const Half& half = halves_[asked / kStagedBytes % 2];
      UNFOLD_CALL(cuMemcpyDtoHAsync, half.memory, from + asked, part, stream_);
      UNFOLD_CALL(cuEventRecord, half.read, stream_);
      asked += part;
    };
    ask();
    while (done < bytes) {
      if (asked < bytes) ask();
      const Half& half = halves_[done / kStagedBytes % 2];
      UNFOLD_CALL(cuEventSynchronize, half.read);
      const std::size_t part = std::min(kStagedBytes, bytes - done);
      std::memcpy(next + done, half.memory, part);
      done += part;
    }
  }

  void clear(Address memory, std::size_t bytes) override {
    enter();
    if (bytes > 0) UNFOLD_CALL(cuMemsetD8Async, memory, 0, bytes, stream_);
  }

  void copy(Address to, Address from, std::size_t bytes) override {
    enter();
    if (bytes > 0) UNFOLD_CALL(cuMemcpyDtoDAsync, to, from, bytes, stream_);
  }

  std::vector<int> compile(const std::string& source, const std::vector<std::string>& kernels) override {
    enter_outside_recordings("compile");
    auto module = modules_.find(source);
    if (module == modules_.end()) {
      const std::string binary = binary_of(source);
      CUmodule loaded = nullptr;
      UNFOLD_CALL(cuModuleLoadData, &loaded, binary.data());
      module = modules_.emplace(source, loaded).first;
    }
    std::vector<int> numbers;
    for (const std::string& name : kernels) {
      const auto [place, is_new] = numbers_.try_emplace({module->second, name}, static_cast<int>(kernels_.size()));
      if (is_new) {
        Kernel kernel{.name = name};
        const CUresult result = cuda_driver().cuModuleGetFunction(&kernel.function, module->second, name.c_str());
        if (result != CUDA_SUCCESS) numbers_.erase(place);
        check_cuda(result, "cuModuleGetFunction", "the source has no kernel '" + name + "'");
        kernels_.push_back(kernel);
      }
      numbers.push_back(place->second);
    }
    return numbers;
  }

  void launch(int kernel, const Launch& how, const Arguments& arguments) override {
    enter();
    if (how.blocks <= 0 || how.threads <= 0) return;
    Kernel& what = kernels_.at(at(kernel));
    const auto blocks = static_cast<unsigned>(how.blocks), threads = static_cast<unsigned>(how.threads);
    const int shared = static_cast<int>(how.shared_bytes);
    if (shared > std::max(what.shared_bytes, kUsualSharedBytes)) {
      check_cuda(
          cuda_driver().cuFuncSetAttribute(what.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared),
          "cuFuncSetAttribute",
          what.name + " wants " + std::to_string(shared) + " bytes of shared memory; a block may have at most " +
              std::to_string(shared_bytes_));
      what.shared_bytes = shared;
    }
    // Passed by value, as one struct.
    void* parameters[] = {const_cast<std::uint64_t*>(arguments.words())};
    const CUresult result =
        how.together ? cuda_driver().cuLaunchCooperativeKernel(what.function, blocks, 1, 1, threads, 1, 1,
                                                               static_cast<unsigned>(shared), stream_, parameters)
                     : cuda_driver().cuLaunchKernel(what.function, blocks, 1, 1, threads, 1, 1,
                                                    static_cast<unsigned>(shared), stream_, parameters, nullptr);
    if (result != CUDA_SUCCESS) explain(result, what, how);
  }

  void multiply(const DeviceProduct& p) override {
    if (p.m <= 0 || p.n <= 0) return;
    enter();
    start_products();
    // cuBLAS is column-major: compute the transposed product.
    const cublasOperation_t first = p.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = p.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const Index lda = std::max<Index>(p.lda, 1), ldb = std::max<Index>(p.ldb, 1);
    if (p.doubles) {
      const double alpha = 1, beta = p.accumulate ? 1 : 0;
      check_cuda(cuda_products().cublasDgemm_64(
                     products_, first, second, p.n, p.m, p.k, &alpha, reinterpret_cast<const double*>(p.b), ldb,
                     reinterpret_cast<const double*>(p.a), lda, &beta, reinterpret_cast<double*>(p.c), p.ldc),
                 "cublasDgemm");
      return;
    }
    const float alpha = 1, beta = p.accumulate ? 1 : 0;
    const cublasComputeType_t how = p.precision == DevicePrecision::exact  ? CUBLAS_COMPUTE_32F_PEDANTIC
                                    : p.precision == DevicePrecision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                           : CUBLAS_COMPUTE_32F_FAST_16BF;
    const cudaDataType_t numbers = p.halves ? CUDA_R_16BF : CUDA_R_32F;
    check_cuda(cuda_products().cublasGemmEx_64(
                   products_, first, second, p.n, p.m, p.k, &alpha, reinterpret_cast<const void*>(p.b), numbers, ldb,
                   reinterpret_cast<const void*>(p.a), numbers, lda, &beta, reinterpret_cast<void*>(p.c), CUDA_R_32F,
                   p.ldc, p.halves ? CUBLAS_COMPUTE_32F : how, CUBLAS_GEMM_DEFAULT),
               "cublasGemmEx");
  }

  void record() override {
    enter_outside_recordings("record");
    start_products();
    UNFOLD_CALL(cuStreamBeginCapture, stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    recording_ = true;
  }

  int recorded() override {
    enter();
    if (!recording_) throw RuntimeFailure("nothing is being recorded on the GPU");
    recording_ = false;
    CUgraph graph = nullptr;
    UNFOLD_CALL(cuStreamEndCapture, stream_, &graph);
    CUgraphExec made = nullptr;
    const CUresult result = cuda_driver().cuGraphInstantiate(&made, graph, 0);
    cuda_driver().cuGraphDestroy(graph);
    check_cuda(result, "cuGraphInstantiate",
               result == CUDA_ERROR_NOT_SUPPORTED
                   ? "this driver cannot record kernels whose blocks run together: install a newer one"
                   : "");
    recordings_.push_back(made);
    return static_cast<int>(recordings_.size()) - 1;
  }

  void replay(int recording) override {
    enter_outside_recordings("replay");
    const CUgraphExec made = recordings_.at(at(recording));
    if (made == nullptr) throw RuntimeFailure("cannot replay a recording that was deleted");
    UNFOLD_CALL(cuGraphLaunch, made, stream_);
  }

  void forget(int recording) noexcept override {
    if (recording < 0 || at(recording) >= recordings_.size() || recordings_[at(recording)] == nullptr) return;
    cuda_driver().cuCtxSetCurrent(context_);
    cuda_driver().cuStreamSynchronize(stream_);
    cuda_driver().cuGraphExecDestroy(std::exchange(recordings_[at(recording)], nullptr));
  }

  void wait() override {
    enter_outside_recordings("wait");
    UNFOLD_CALL(cuStreamSynchronize, stream_);
  }

  int mark() override {
    enter_outside_recordings("mark");
    CUevent& event = marks_[at(marked_ % kMarks)];
    if (event == nullptr) UNFOLD_CALL(cuEventCreate, &event, CU_EVENT_DEFAULT);
    UNFOLD_CALL(cuEventRecord, event, stream_);
    return marked_++;
  }

  double seconds_between(int first, int second) override {
    enter();
    if (std::min(first, second) < std::max(0, marked_ - kMarks) || std::max(first, second) >= marked_)
      throw RuntimeFailure("cannot measure the time between marks that are not among the last " +
                           std::to_string(kMarks));
    const CUevent from = marks_[at(first % kMarks)], to = marks_[at(second % kMarks)];
    UNFOLD_CALL(cuEventSynchronize, from);
    UNFOLD_CALL(cuEventSynchronize, to);
    float milliseconds = 0;
    UNFOLD_CALL(cuEventElapsedTime, &milliseconds, from, to);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  struct Half {
    void* memory = nullptr;
    CUevent read = nullptr;  ///< recorded after the last copy from this half
  };
  struct Kernel {
    std::string name;
    CUfunction function = nullptr;
    int shared_bytes = 0;  ///< limit that the kernel has opted in to
  };

  int attribute(CUdevice_attribute which) const {
    int value = 0;
    UNFOLD_CALL(cuDeviceGetAttribute, &value, which, device_);
    return value;
  }

  /// Makes the context current; the caller may be any thread, and may have used a different GPU earlier.
  void enter() const { UNFOLD_CALL(cuCtxSetCurrent, context_); }
  void enter_outside_recordings(const char* what) const {
    if (recording_) throw RuntimeFailure(std::string(what) + " is not allowed while the GPU is recording");
    enter();
  }

  /// Switches to the other half for staging, after all copies from it are complete.
  void change_halves() {
    UNFOLD_CALL(cuEventRecord, halves_[half_].read, stream_);
    half_ = 1 - half_;
    UNFOLD_CALL(cuEventSynchronize, halves_[half_].read);
    staged_ = 0;
  }

  std::string binary_of(const std::string& source) const {
    const CudaCompiler& compiler = cuda_compiler();
    const std::string text = std::string(kCudaPrelude) + "\n#line 1 \"kernel\"\n" + source;
    nvrtcProgram program = nullptr;
    check_cuda(compiler.nvrtcCreateProgram(&program, text.c_str(), "words", 0, nullptr, nullptr), "nvrtcCreateProgram");
    struct Program {
      nvrtcProgram made;
      ~Program() { cuda_compiler().nvrtcDestroyProgram(&made); }
    } const owner{program};
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(architecture_);
    const char* options[] = {architecture.c_str(), "--std=c++17", "-default-device"};
    const nvrtcResult result = compiler.nvrtcCompileProgram(program, std::size(options), options);
    if (result == NVRTC_ERROR_COMPILATION) {
      std::size_t size = 0;
      check_cuda(compiler.nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
      std::string log(size, '\0');
      check_cuda(compiler.nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
      throw RuntimeFailure("kernels do not compile: " + std::string(log.c_str()));
    }
    check_cuda(result, "nvrtcCompileProgram",
               result == NVRTC_ERROR_INVALID_OPTION
                   ? "this version of CUDA does not support the GPU " + name_ + ": install a newer one"
                   : "");
    std::size_t size = 0;
    check_cuda(compiler.nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize");
    std::string binary(size, '\0');
    check_cuda(compiler.nvrtcGetCUBIN(program, binary.data()), "nvrtcGetCUBIN");
    return binary;
  }

  /// Throws the error of a failed launch.
  [[noreturn]] void explain(CUresult result, const Kernel& what, const Launch& how) const {
    std::string remedy = "kernel " + what.name + ", " + std::to_string(how.blocks) + " blocks of " +
                         std::to_string(how.threads) + " threads with " + std::to_string(how.shared_bytes) +
                         " bytes of shared memory";
    if (result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) {
      int each = 0;
      cuda_driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, what.function, static_cast<int>(how.threads),
                                                                static_cast<std::size_t>(how.shared_bytes));
      remedy += "; launch at most " + std::to_string(each * processors_) + " blocks";
    }
    if (result == CUDA_ERROR_NOT_SUPPORTED && how.together && recording_)
      remedy += "; this driver cannot record kernels whose blocks run together: install a newer one";
    check_cuda(result, how.together ? "cuLaunchCooperativeKernel" : "cuLaunchKernel", remedy);
    throw RuntimeFailure("kernel " + what.name + " was not launched");
  }

  void start_products() {
    if (products_ != nullptr) return;
    const CudaProducts& library = cuda_products();
    if (workspace_ == 0)
      check_cuda(cuda_driver().cuMemAlloc(&workspace_, kProductBytes), "cuMemAlloc",
                 "the GPU has no " + in_megabytes(kProductBytes) + " left that products need");
    check_cuda(library.cublasCreate(&products_), "cublasCreate");
    check_cuda(library.cublasSetStream(products_, stream_), "cublasSetStream");  // cublasSetStream resets the workspace
    check_cuda(library.cublasSetWorkspace(products_, reinterpret_cast<void*>(workspace_), kProductBytes),
               "cublasSetWorkspace");
  }

  /// Return codes are ignored because all these calls fail after a failed kernel.
  void free_everything() noexcept {
    if (context_ == nullptr) return;
    const CudaDriver& driver = cuda_driver();
    driver.cuCtxSetCurrent(context_);
    if (recording_) {
      CUgraph graph = nullptr;
      driver.cuStreamEndCapture(stream_, &graph);
      if (graph != nullptr) driver.cuGraphDestroy(graph);
    }
    if (stream_ != nullptr) driver.cuStreamSynchronize(stream_);
    if (products_ != nullptr) cuda_products().cublasDestroy(products_);
    for (const CUgraphExec made : recordings_)
      if (made != nullptr) driver.cuGraphExecDestroy(made);
    for (const CUevent event : marks_)
      if (event != nullptr) driver.cuEventDestroy(event);
    for (const auto& [source, module] : modules_) driver.cuModuleUnload(module);
    for (const auto& [memory, size] : sizes_) driver.cuMemFree(memory);
    if (workspace_ != 0) driver.cuMemFree(workspace_);
    for (const Half& half : halves_) {
      if (half.memory != nullptr) driver.cuMemFreeHost(half.memory);
      if (half.read != nullptr) driver.cuEventDestroy(half.read);
    }
    if (stream_ != nullptr) driver.cuStreamDestroy(stream_);
    driver.cuCtxSetCurrent(nullptr);
    driver.cuDevicePrimaryCtxRelease(device_);
  }

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string name_;
  int processors_ = 0, shared_bytes_ = 0, architecture_ = 0;

  std::unordered_map<Address, std::size_t> sizes_;
  std::size_t allocated_ = 0;

  std::array<Half, 2> halves_{};
  std::size_t half_ = 0, staged_ = 0;  ///< bytes used in the current half

  std::unordered_map<std::string, CUmodule> modules_;  ///< compiled modules by source
  std::map<std::pair<CUmodule, std::string>, int> numbers_;
  std::vector<Kernel> kernels_;

  cublasHandle_t products_ = nullptr;
  CUdeviceptr workspace_ = 0;

  bool recording_ = false;
  std::vector<CUgraphExec> recordings_;
  std::array<CUevent, kMarks> marks_{};
  int marked_ = 0;
};

}  // namespace

std::shared_ptr<Device> open_cuda_device(int number) { return std::make_shared<CudaDevice>(number); }

bool cuda_is_built() { return true; }

}  // namespace unfold
