#pragma once
/// Rounds decimal numbers of up to 19 digits to the nearest double, and tests whether their digits are the shortest
/// ones of that double.
///
/// Both use exact integers of 128 bits. The borders between a double m 2^e, with an integer m of 53 bits, and its
/// neighbors are (2m - 1) 2^(e-1) and (2m + 1) 2^(e-1). Multiplied by 2^(1-e) 5^d, they and a decimal number with d
/// decimals are integers. Decimals are the shortest digits of a double if they round to it, no number with one digit
/// less does, and no other number with as many digits is nearer to the double.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace unfold {

struct RoundedDecimal {
  double value = 0;
  bool shortest = false;  ///< certainly the shortest digits; false for a few numbers whose digits are the shortest
};

/// Rounds digits / 10^decimals. Returns false, without a result, in rare cases: for a power of two, halfway between two
/// doubles, and for integers of more than 53 bits with decimals. REQUIRES 0 < decimals <= 19.
inline bool round_decimal(std::uint64_t digits, std::size_t decimals, RoundedDecimal& rounded) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::size_t kMostDecimals = 19;
  constexpr int kFractionBits = 52, kExponentOfOne = 1023;
  constexpr std::uint64_t kFirstBit = std::uint64_t{1} << kFractionBits;
  static constexpr auto kPowersOfFive = [] {
    std::array<std::uint64_t, kMostDecimals + 1> powers = {1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 5;
    return powers;
  }();
  static constexpr auto kPowersOfTen = [] {
    std::array<double, kMostDecimals + 1> powers = {1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  if (digits == 0) return false;
  const double estimate = static_cast<double>(digits) / kPowersOfTen[decimals];  // differs by at most three units
  const auto bits = std::bit_cast<std::uint64_t>(estimate);
  const int exponent = static_cast<int>(bits >> kFractionBits) - kExponentOfOne - kFractionBits;
  const int shift = 1 - exponent - static_cast<int>(decimals);
  if (shift < 1) return false;
  std::uint64_t mantissa = (bits & (kFirstBit - 1)) | kFirstBit;
  const Wide power = kPowersOfFive[decimals], scaled = Wide{digits} << shift;
  Wide middle = power * (2 * mantissa);
  for (; scaled > middle + power; middle += 2 * power) ++mantissa;
  for (; scaled < middle - power; middle -= 2 * power) --mantissa;
  const Wide low = middle - power, high = middle + power;
  if (mantissa <= kFirstBit || mantissa >= 2 * kFirstBit || scaled == low || scaled == high) return false;
  rounded.value = std::bit_cast<double>((bits & ~(kFirstBit - 1)) | (mantissa & (kFirstBit - 1)));
  const std::uint64_t last = digits % 10;
  const Wide below = scaled - (Wide{last} << shift), above = below + (Wide{10} << shift);
  const Wide distance = scaled > middle ? scaled - middle : middle - scaled;
  rounded.shortest = last != 0 && below < low && above > high && distance < Wide{1} << (shift - 1);
  return true;
}

}  // namespace unfold
