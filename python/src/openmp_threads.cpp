#include "openmp_threads.h"

#include <dlfcn.h>

namespace unfold::python {
namespace {

/// Returns the function that `library` itself would call: its dependencies are searched in its order. Other OpenMP
/// libraries may be loaded in the same process.
template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::unique_ptr<OpenMpThreads> OpenMpThreads::of_pytorch() {
  void* const torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);  // never closed: PyTorch stays loaded
  Functions functions = {};
  if (torch == nullptr || !find(torch, "GOMP_parallel", functions.parallel) ||
      !find(torch, "omp_get_thread_num", functions.thread) || !find(torch, "omp_get_num_threads", functions.threads) ||
      !find(torch, "omp_in_parallel", functions.in_parallel))
    return nullptr;
  return std::unique_ptr<OpenMpThreads>(new OpenMpThreads(functions));
}

bool OpenMpThreads::run(int threads, void (*body)(void* context, int id), void* context) {
  if (functions_.in_parallel() != 0) return false;  // a nested region has one thread
  struct Region {
    const Functions& functions;
    int threads;
    void (*body)(void* context, int id);
    void* context;
    bool complete;
  } region{functions_, threads, body, context, false};
  const auto execute = [](void* data) {
    auto& r = *static_cast<Region*>(data);
    const int id = r.functions.thread();
    if (r.functions.threads() != r.threads) return;  // a limit of the system or of the user
    if (id == 0) r.complete = true;
    r.body(r.context, id);
  };
  functions_.parallel(execute, &region, static_cast<unsigned>(threads), 0);
  return region.complete;
}

}  // namespace unfold::python
