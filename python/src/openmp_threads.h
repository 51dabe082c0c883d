#pragma once
/// The OpenMP threads that PyTorch uses in this process.

#include <memory>

#include "unfold/base/threads/team.h"

namespace unfold::python {

class OpenMpThreads : public ThreadPool {
 public:
  /// Null if PyTorch is not loaded or is built without the interface of GNU OpenMP (which LLVM's and Intel's libraries
  /// have too).
  static std::unique_ptr<OpenMpThreads> of_pytorch();

  bool run(int threads, void (*body)(void* context, int id), void* context) override;

 private:
  /// The functions of libgomp: `parallel` is what compilers call for `#pragma omp parallel`.
  struct Functions {
    void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags);
    int (*thread)();
    int (*threads)();
    int (*in_parallel)();
  };
  explicit OpenMpThreads(const Functions& functions) : functions_(functions) {}

  Functions functions_;
};

}  // namespace unfold::python
