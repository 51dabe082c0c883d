/// Writes a text of words with Zipf frequencies, half of which depend on the preceding word of their line, for
/// bench/peers/kenlm.sh.
///
///   bench_zipf_text WORDS [VOCABULARY] > text                  20 words per line; default: a vocabulary of 200,000

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "unfold/numerics/random.h"

namespace {

using namespace unfold;

constexpr Index kLine = 20, kSuccessors = 4;

/// Draws ranks with a probability proportional to 1 / (rank + 1).
class Zipf {
 public:
  explicit Zipf(Index vocabulary) : cumulated_(at(vocabulary)) {
    double sum = 0;
    for (Index r = 0; r < vocabulary; ++r) cumulated_[at(r)] = sum += 1 / static_cast<double>(r + 1);
    for (double& x : cumulated_) x /= sum;
    // The first rank of each of many equal intervals of probability, from which the search starts.
    first_.resize(at(4 * vocabulary));
    for (std::size_t i = 0, r = 0; i < first_.size(); ++i) {
      while (cumulated_[r] * static_cast<double>(first_.size()) <= static_cast<double>(i)) ++r;
      first_[i] = static_cast<std::uint32_t>(r);
    }
  }
  std::uint32_t draw(Random& random) const {
    const double u = random.uniform();
    std::uint32_t r = first_[static_cast<std::size_t>(u * static_cast<double>(first_.size()))];
    while (cumulated_[r] <= u && r + 1 < cumulated_.size()) ++r;
    return r;
  }

 private:
  std::vector<double> cumulated_;
  std::vector<std::uint32_t> first_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: bench_zipf_text WORDS [VOCABULARY] > text\n", stderr), 2;
  const Index words = std::atol(argv[1]), vocabulary = argc > 2 ? std::atol(argv[2]) : 200'000;
  const Zipf zipf(vocabulary);
  Random random(1, "text");
  std::vector<std::uint32_t> successors(at(vocabulary * kSuccessors));
  for (std::uint32_t& word : successors) word = zipf.draw(random);
  std::vector<std::string> names(at(vocabulary));
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "w" + std::to_string(i) + " ";
  std::string line;
  for (Index done = 0; done < words; done += kLine) {
    line.clear();
    std::uint32_t word = 0;
    for (Index i = 0; i < kLine; ++i) {
      const std::uint64_t choice = random.below(2 * kSuccessors);
      word = i > 0 && choice < kSuccessors ? successors[word * kSuccessors + choice] : zipf.draw(random);
      line += names[word];
    }
    line.back() = '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}
