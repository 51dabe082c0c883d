#include "graph/device/device.h"

#include <algorithm>
#include <cstring>

#include "graph/device/cuda_device.h"
#include "unfold/base/error.h"

namespace unfold {

Arguments& Arguments::add(double number) {
  std::uint64_t word = 0;
  static_assert(sizeof word == sizeof number);
  std::memcpy(&word, &number, sizeof word);
  return put(word);
}

Arguments& Arguments::put(std::uint64_t word) {
  if (count_ == kMost) throw RuntimeFailure("a kernel has more than " + std::to_string(kMost) + " arguments");
  words_[count_++] = word;
  return *this;
}

std::shared_ptr<Device> open_device(std::string_view name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (name == "cuda") return open_cuda_device(0);
  if (name.starts_with(kPrefix)) {
    const std::string_view digits = name.substr(kPrefix.size());
    constexpr std::size_t kMostDigits = 6;
    if (!digits.empty() && digits.size() <= kMostDigits &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return open_cuda_device(std::stoi(std::string(digits)));
  }
  throw UsageError("unknown device '" + std::string(name) +
                   "'; use cuda for the first NVIDIA GPU, or cuda:N for GPU number N, counted from 0");
}

bool has_device_support() { return cuda_is_built(); }

}  // namespace unfold
