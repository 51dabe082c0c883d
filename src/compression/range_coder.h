#pragma once
/// A range coder with integer frequencies (Martin 1979; carry propagation as in Schindler's coder): 64-bit state,
/// totals up to 2^40, byte-wise output. Uses only integer arithmetic.
///
/// A symbol is an interval [first, first + size) of [0, 2^bits). The cost of a symbol is -log2(size / 2^bits) bits to
/// within 2^-16 bit; a whole code is at most two bytes longer than the sum of these costs.

#include <cstdint>
#include <string>
#include <string_view>

namespace unfold {

inline constexpr int kMostCodingBits = 40;

class RangeEncoder {
 public:
  /// REQUIRES: 0 < size, first + size <= 2^bits, 0 <= bits <= kMostCodingBits.
  void encode(std::uint64_t first, std::uint64_t size, int bits);
  /// Encodes one bit with P(1) = one / 2^bits, 0 < one < 2^bits.
  void encode_bit(int bit, std::uint64_t one, int bits);
  /// Encodes one of several alternatives with integer weights that sum to `total`. REQUIRES: 0 < size, first + size <=
  /// total < 2^24.
  void encode_share(std::uint32_t first, std::uint32_t size, std::uint32_t total);
  /// Ends the code and returns it; resets the encoder.
  std::string finish();

 private:
  void narrow(std::uint64_t begin, std::uint64_t size);
  void add(std::uint64_t begin);
  std::uint64_t low_ = 0, range_ = ~std::uint64_t{0};
  std::string code_;
};

/// Decodes the output of RangeEncoder. Accepts any bytes: damaged input decodes to different symbols and never raises
/// an error.
class RangeDecoder {
 public:
  explicit RangeDecoder(std::string_view code);  ///< `code` must outlive the decoder
  explicit RangeDecoder(std::string&&) = delete;
  /// Returns the position in [0, 2^bits) that lies in the interval of the next symbol.
  std::uint64_t place(int bits) const;
  void consume(std::uint64_t first, std::uint64_t size, int bits);
  int decode_bit(std::uint64_t one, int bits);
  std::uint32_t position_in_total(std::uint32_t total) const;  ///< a position in [0, total)
  void consume_share(std::uint32_t first, std::uint32_t size, std::uint32_t total);

 private:
  void narrow(std::uint64_t begin, std::uint64_t size);
  std::uint8_t next();
  std::string_view code_;
  std::size_t position_ = 0;
  std::uint64_t value_ = 0, range_ = ~std::uint64_t{0};  // value of the code, relative to the low end of the range
};

}  // namespace unfold
