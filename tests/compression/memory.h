#pragma once
/// In-memory sources and sinks.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "unfold/compression/container.h"

namespace unfold::test {

/// `piece`: the maximum number of bytes per call, to simulate a pipe.
inline ByteSource from(std::string bytes, std::size_t piece = 1 << 30) {
  return [bytes = std::make_shared<const std::string>(std::move(bytes)), piece, at = std::make_shared<std::size_t>(0)](
             char* out, std::size_t size) {
    const std::size_t n = std::min({size, piece, bytes->size() - *at});
    std::memcpy(out, bytes->data() + *at, n);
    *at += n;
    return n;
  };
}

inline ByteSink into(std::string& bytes) {
  return [&bytes](std::string_view more) { bytes += more; };
}

}  // namespace unfold::test
