#include "compression/range_coder.h"

namespace unfold {
namespace {

constexpr std::uint64_t kLeastRange = std::uint64_t{1} << 56;
__extension__ using Wide = unsigned __int128;

/// floor(range * place / 2^bits)
std::uint64_t part(std::uint64_t range, std::uint64_t place, int bits) {
  return static_cast<std::uint64_t>((static_cast<Wide>(range) * place) >> bits);
}

}  // namespace

void RangeEncoder::add(std::uint64_t begin) {
  low_ += begin;
  if (low_ >= begin) return;
  for (auto byte = code_.rbegin(); byte != code_.rend(); ++byte) {  // carry propagation
    *byte = static_cast<char>(static_cast<std::uint8_t>(*byte) + 1);
    if (*byte != 0) return;
  }
}

void RangeEncoder::encode(std::uint64_t first, std::uint64_t size, int bits) {
  const std::uint64_t begin = part(range_, first, bits), end = part(range_, first + size, bits);
  narrow(begin, end - begin);
}

void RangeEncoder::encode_share(std::uint32_t first, std::uint32_t size, std::uint32_t total) {
  const std::uint64_t unit = range_ / total;
  narrow(unit * first, unit * size);
}

void RangeEncoder::narrow(std::uint64_t begin, std::uint64_t size) {
  add(begin);
  range_ = size;
  while (range_ < kLeastRange) {
    code_ += static_cast<char>(low_ >> 56);
    low_ <<= 8;
    range_ <<= 8;
  }
}

void RangeEncoder::encode_bit(int bit, std::uint64_t one, int bits) {
  const std::uint64_t split = part(range_, one, bits);
  bit != 0 ? narrow(0, split) : narrow(split, range_ - split);
}

std::string RangeEncoder::finish() {
  // The shortest number in the range; the decoder reads zeros past the end.
  for (int kept = 1; kept <= 8; ++kept) {
    const std::uint64_t below = kept == 8 ? 0 : ~std::uint64_t{0} >> (8 * kept);
    const std::uint64_t up = (~low_ + 1) & below;  // distance to the next number that ends in zeros
    if (up >= range_) continue;
    add(up);
    for (int i = 0; i < kept; ++i) code_ += static_cast<char>(low_ >> (56 - 8 * i));
    break;
  }
  while (!code_.empty() && code_.back() == 0) code_.pop_back();
  low_ = 0;
  range_ = ~std::uint64_t{0};
  std::string code;
  code.swap(code_);
  return code;
}

RangeDecoder::RangeDecoder(std::string_view code) : code_(code) {
  for (int i = 0; i < 8; ++i) value_ = value_ << 8 | next();
}

std::uint8_t RangeDecoder::next() {
  return position_ < code_.size() ? static_cast<std::uint8_t>(code_[position_++]) : std::uint8_t{0};
}

std::uint64_t RangeDecoder::place(int bits) const {
  const auto found = static_cast<std::uint64_t>((((static_cast<Wide>(value_) + 1) << bits) - 1) / range_);
  const std::uint64_t last = (std::uint64_t{1} << bits) - 1;
  return found < last ? found : last;  // out of range only in damaged codes
}

void RangeDecoder::consume(std::uint64_t first, std::uint64_t size, int bits) {
  const std::uint64_t begin = part(range_, first, bits), end = part(range_, first + size, bits);
  narrow(begin, end - begin);
}

std::uint32_t RangeDecoder::position_in_total(std::uint32_t total) const {
  const std::uint64_t found = value_ / (range_ / total);
  return found < total ? static_cast<std::uint32_t>(found) : total - 1;  // out of range only in damaged codes
}

void RangeDecoder::consume_share(std::uint32_t first, std::uint32_t size, std::uint32_t total) {
  const std::uint64_t unit = range_ / total;
  narrow(unit * first, unit * size);
}

void RangeDecoder::narrow(std::uint64_t begin, std::uint64_t size) {
  value_ -= begin;
  range_ = size;
  while (range_ < kLeastRange) {
    value_ = value_ << 8 | next();
    range_ <<= 8;
  }
}

int RangeDecoder::decode_bit(std::uint64_t one, int bits) {
  const std::uint64_t split = part(range_, one, bits);
  const bool bit = value_ < split;
  bit ? narrow(0, split) : narrow(split, range_ - split);
  return bit ? 1 : 0;
}

}  // namespace unfold
