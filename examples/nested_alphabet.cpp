/// Writes text whose entropy is known exactly, so that a trained model can be judged by its excess over the source.
///
///   nested_alphabet FILE [LINES [SEED]]
///
/// A line is the alphabet a..z. After each letter comes, with probability p = 0.1, a bracket (0123456789); after each
/// digit comes, with probability p, a bracket [ABCDEFGHI] of nine random capitals. A model must remember the outer
/// letter and the outer digit while it reads the inner bracket; nothing but the choices can cost it any bits.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "unfold/numerics/random.h"

namespace {

constexpr double kNesting = 0.1;
constexpr int kCapitals = 9;

std::string line(unfold::Random& random) {
  std::string text;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    text += letter;
    if (random.uniform() >= kNesting) continue;
    text += '(';
    for (char digit = '0'; digit <= '9'; ++digit) {
      text += digit;
      if (random.uniform() >= kNesting) continue;
      text += '[';
      for (int i = 0; i < kCapitals; ++i) text += static_cast<char>('A' + random.below(26));
      text += ']';
    }
    text += ')';
  }
  return text + '\n';
}

/// Expected bits of the choices in a line over its expected length.
double bits_per_symbol() {
  const double choice = -kNesting * std::log2(kNesting) - (1 - kNesting) * std::log2(1 - kNesting);
  const double outer = 26 * kNesting, inner = outer * 10 * kNesting;
  const double bits = 26 * choice + outer * 10 * choice + inner * kCapitals * std::log2(26.0);
  const double symbols = 27 + outer * 12 + inner * (kCapitals + 2);
  return bits / symbols;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: nested_alphabet FILE [LINES [SEED]]\n";
    return 2;
  }
  const long lines = argc > 2 ? std::atol(argv[2]) : 20000;
  const long seed = argc > 3 ? std::atol(argv[3]) : 1;
  std::ofstream out(argv[1], std::ios::binary);
  unfold::Random random(static_cast<std::uint64_t>(seed), "nested alphabet");
  for (long i = 0; i < lines; ++i) out << line(random);
  out.close();
  if (!out) {
    std::cerr << "nested_alphabet: cannot write " << argv[1] << "\n";
    return 1;
  }
  std::cout.precision(4);
  std::cout << "entropy: " << bits_per_symbol() << " bits/symbol\n";
}
