#include "tests/graph/device/simulated_device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Simulate = int (*)(void (*kernel)(), const std::uint64_t*, long long, long long, long long, bool, bool);

constexpr Index kSharedBytes = 99 << 10;  // that of the smallest supported GPU
constexpr Index kMostThreads = 1024;
constexpr std::size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xd7;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// FNV-1a, applied twice.
std::string hash_of(const std::string& text) {
  std::string result;
  for (std::uint64_t hash : {0xcbf29ce484222325u, 0x9ae16a3b2f90404fu}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    std::ostringstream digits;
    digits << std::hex << hash;
    result += digits.str();
  }
  return result;
}

/// Compiles a source to a library and opens it. The library is cached in the temporary folder between runs.
void* compiled(const std::string& source) {
  static std::mutex mutex;
  static std::map<std::string, void*> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(source); found != known.end()) return found->second;

  const std::string words = contents(UNFOLD_SIMULATED_WORDS);
  if (words.empty()) throw RuntimeFailure("the words of simulated kernels are missing: " UNFOLD_SIMULATED_WORDS);
  const std::string text = words + "\n#line 1 \"kernel\"\n" + source;
  const std::string command =
      "c++ -std=c++17 -O0 -shared -fPIC -w -ffp-contract=off -fno-math-errno "
      "-fvisibility=hidden";
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("unfold-kernels-" + std::to_string(getuid()));
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::owner_all);
  const std::string name = hash_of(command + "\n" + text);
  const fs::path library = folder / (name + ".so");
  if (!fs::exists(library)) {
    const std::string own = (folder / (name + "." + std::to_string(getpid()))).string();
    const std::string file = own + ".cpp", said = own + ".log", made = own + ".so";
    std::ofstream(file, std::ios::binary) << text;
    const bool failed = std::system((command + " -o '" + made + "' '" + file + "' 2>'" + said + "'").c_str()) != 0;
    const std::string log = contents(said);
    fs::remove(file);
    fs::remove(said);
    if (failed) throw RuntimeFailure("kernels do not compile: " + log);
    fs::rename(made, library);
  }
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw RuntimeFailure(std::string("kernels cannot be loaded: ") + dlerror());
  return known[source] = handle;
}

float rounded(float x, DevicePrecision precision) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  if (precision == DevicePrecision::exact || (bits & 0x7f800000u) == 0x7f800000u) return x;
  if (precision == DevicePrecision::tf32) {
    bits = (bits + 0x1000u) & ~0x1fffu;
  } else {
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  }
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

float number_of(float x) { return x; }
double number_of(double x) { return x; }
float number_of(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class T, class Operand>
void plain_product(const DeviceProduct& p) {
  const Operand* a = reinterpret_cast<const Operand*>(p.a);
  const Operand* b = reinterpret_cast<const Operand*>(p.b);
  T* c = reinterpret_cast<T*>(p.c);
  const auto operand = [&](Operand x) -> T {
    if constexpr (std::is_same_v<Operand, float>) return rounded(x, p.precision);
    return number_of(x);
  };
  std::vector<T> row(at(p.n));
  for (Index i = 0; i < p.m; ++i) {
    std::fill(row.begin(), row.end(), T{0});
    for (Index k = 0; k < p.k; ++k) {
      const T x = operand(p.transposed_a ? a[k * p.lda + i] : a[i * p.lda + k]);
      for (Index j = 0; j < p.n; ++j) row[at(j)] += x * operand(p.transposed_b ? b[j * p.ldb + k] : b[k * p.ldb + j]);
    }
    for (Index j = 0; j < p.n; ++j) {
      T& to = c[i * p.ldc + j];
      to = p.accumulate ? to + row[at(j)] : row[at(j)];
    }
  }
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(Index processors, std::size_t bytes) : processors_(processors), bytes_(bytes) {}
  ~SimulatedDevice() override {
    while (!sizes_.empty()) release(sizes_.begin()->first);
  }
  SimulatedDevice(const SimulatedDevice&) = delete;
  SimulatedDevice& operator=(const SimulatedDevice&) = delete;

  std::string name() const override { return "simulated"; }
  Index processors() const override { return processors_; }
  Index shared_bytes() const override { return kSharedBytes; }

  Address allocate(std::size_t bytes) override {
    refuse_while_recording("allocate");
    const std::size_t free = bytes_ - allocated_;
    if (bytes > free)
      throw RuntimeFailure("the simulated device has no memory left: " + std::to_string(bytes) +
                           " bytes were requested, " + std::to_string(free) + " of its " + std::to_string(bytes_) +
                           " are free");
    constexpr std::size_t kAlignment = 256;
    const std::size_t whole = (bytes + 2 * kAlignment + kAlignment - 1) / kAlignment * kAlignment;
    char* memory = static_cast<char*>(std::aligned_alloc(kAlignment, whole));
    if (memory == nullptr) throw RuntimeFailure("there is no memory left for the simulated device");
    std::memset(memory, kGuardByte, kAlignment);
    std::memset(memory + kAlignment, 0, bytes);
    std::memset(memory + kAlignment + bytes, kGuardByte, kGuard);
    const auto address = reinterpret_cast<Address>(memory + kAlignment);
    sizes_.emplace(address, bytes);
    allocated_ += bytes;
    return address;
  }

  /// Aborts the program if a kernel wrote outside its memory, since its results cannot be trusted.
  void release(Address memory) noexcept override {
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return;
    if (!guarded(memory, found->second)) {
      std::fprintf(stderr, "simulated device: kernels wrote outside an allocation of %zu bytes\n", found->second);
      std::abort();
    }
    constexpr std::size_t kAlignment = 256;
    allocated_ -= found->second;
    sizes_.erase(found);
    std::free(static_cast<char*>(pointer(memory)) - kAlignment);
  }

  std::size_t allocated_bytes() const override { return allocated_; }

  void upload(Address to, const void* from, std::size_t bytes) override {
    refuse_while_recording("upload");
    check_range(to, bytes);
    if (bytes > 0) std::memcpy(pointer(to), from, bytes);
  }
  void download(void* to, Address from, std::size_t bytes) override {
    refuse_while_recording("download");
    check_range(from, bytes);
    if (bytes > 0) std::memcpy(to, pointer(from), bytes);
  }
  void clear(Address memory, std::size_t bytes) override {
    check_range(memory, bytes);
    ask([memory, bytes] { std::memset(pointer(memory), 0, bytes); });
  }
  void copy(Address to, Address from, std::size_t bytes) override {
    check_range(to, bytes);
    check_range(from, bytes);
    ask([to, from, bytes] { std::memmove(pointer(to), pointer(from), bytes); });
  }

  std::vector<int> compile(const std::string& source, const std::vector<std::string>& kernels) override {
    refuse_while_recording("compile");
    void* library = compiled(source);
    std::vector<int> numbers;
    for (const std::string& name : kernels) {
      const auto [place, is_new] = numbers_.try_emplace({library, name}, static_cast<int>(kernels_.size()));
      if (is_new) {
        Kernel kernel;
        kernel.name = name;
        kernel.run = reinterpret_cast<void (*)()>(dlsym(library, name.c_str()));
        kernel.simulate = reinterpret_cast<Simulate>(dlsym(library, "unfold_simulate"));
        if (kernel.run == nullptr) {
          numbers_.erase(place);
          throw RuntimeFailure("the source has no kernel '" + name + "'");
        }
        kernels_.push_back(kernel);
      }
      numbers.push_back(place->second);
    }
    return numbers;
  }

  void launch(int kernel, const Launch& how, const Arguments& arguments) override {
    const Kernel& what = kernels_.at(at(kernel));
    const auto refuse = [&](const std::string& why) { throw RuntimeFailure("kernel " + what.name + ": " + why); };
    if (how.blocks <= 0 || how.threads <= 0) return;
    if (how.threads > kMostThreads) refuse("a block has at most " + std::to_string(kMostThreads) + " threads");
    if (how.shared_bytes > kSharedBytes)
      refuse("a block has at most " + std::to_string(kSharedBytes) + " bytes of shared memory");
    if (how.together && how.blocks > processors_)
      refuse("of " + std::to_string(how.blocks) + " blocks only " + std::to_string(processors_) + " run at once");
    ask([this, what, how, arguments] { run(what, how, arguments); });
  }

  void multiply(const DeviceProduct& p) override {
    if (p.m <= 0 || p.n <= 0) return;
    ask([p] {
      p.doubles  ? plain_product<double, double>(p)
      : p.halves ? plain_product<float, std::uint16_t>(p)
                 : plain_product<float, float>(p);
    });
  }

  void record() override {
    refuse_while_recording("record");
    recording_ = true;
  }
  int recorded() override {
    if (!recording_) throw RuntimeFailure("nothing is being recorded");
    recording_ = false;
    recordings_.push_back(std::exchange(asked_, {}));
    return static_cast<int>(recordings_.size()) - 1;
  }
  void replay(int recording) override {
    refuse_while_recording("replay");
    for (const auto& work : recordings_.at(at(recording))) work();
  }
  void forget(int recording) noexcept override {
    if (recording >= 0 && at(recording) < recordings_.size()) recordings_[at(recording)].clear();
  }

  void wait() override {
    refuse_while_recording("wait");
    for (const auto& [memory, bytes] : sizes_)
      if (!guarded(memory, bytes))
        throw RuntimeFailure("kernels wrote outside an allocation of " + std::to_string(bytes) + " bytes");
  }
  int mark() override {
    refuse_while_recording("mark");
    marks_.push_back(std::chrono::steady_clock::now());
    return static_cast<int>(marks_.size()) - 1;
  }
  double seconds_between(int first, int second) override {
    return std::chrono::duration<double>(marks_.at(at(second)) - marks_.at(at(first))).count();
  }

 private:
  using Work = std::function<void()>;
  struct Kernel {
    std::string name;
    void (*run)() = nullptr;
    Simulate simulate = nullptr;
  };

  void ask(Work work) {
    if (recording_) {
      asked_.push_back(std::move(work));
    } else {
      work();
    }
  }
  void refuse_while_recording(const char* what) const {
    if (recording_) throw RuntimeFailure(std::string(what) + " is asked of the device while a recording is made");
  }

  /// Throws unless these bytes belong to one allocation.
  void check_range(Address memory, std::size_t bytes) const {
    if (bytes == 0) return;
    auto found = sizes_.upper_bound(memory);
    if (found == sizes_.begin() || (--found, memory + bytes > found->first + found->second))
      throw RuntimeFailure(std::to_string(bytes) + " bytes of the device are asked for that are not allocated");
  }

  static bool guarded(Address memory, std::size_t bytes) {
    const auto is_guard = [](const unsigned char* from) {
      return std::all_of(from, from + kGuard, [](unsigned char c) { return c == kGuardByte; });
    };
    const auto* begin = static_cast<const unsigned char*>(pointer(memory));
    return is_guard(begin - kGuard) && is_guard(begin + bytes);
  }

  void run(const Kernel& what, const Launch& how, const Arguments& arguments) {
    constexpr std::array<const char*, 4> kOutcomes = {"", "its threads wait for each other for ever",
                                                      "a thread needs more than 64 KB of stack", "no memory is left"};
    const int outcome = what.simulate(what.run, arguments.words(), how.blocks, how.threads, how.shared_bytes,
                                      how.together, ++launches_ % 2 == 0);
    if (outcome == 1 && !how.together && how.blocks > 1)
      throw RuntimeFailure("kernel " + what.name + ": " + kOutcomes[1] +
                           "; its blocks were not launched together, so none may wait for a later one");
    if (outcome != 0) throw RuntimeFailure("kernel " + what.name + ": " + kOutcomes.at(at(outcome)));
  }

  Index processors_;
  std::size_t bytes_, allocated_ = 0;
  std::map<Address, std::size_t> sizes_;
  std::map<std::pair<void*, std::string>, int> numbers_;
  std::vector<Kernel> kernels_;
  Index launches_ = 0;
  bool recording_ = false;
  std::vector<Work> asked_;
  std::vector<std::vector<Work>> recordings_;
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

}  // namespace

std::shared_ptr<Device> simulated_device(Index processors, std::size_t bytes) {
  return std::make_shared<SimulatedDevice>(processors, bytes);
}

}  // namespace unfold
