#include "model/ngram/ngram_trie.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {

NgramTrie::NgramTrie(Index order, Index alphabet) : alphabet_(alphabet), levels_(static_cast<std::size_t>(order)) {
  const auto nodes = static_cast<std::size_t>(alphabet) + 1;
  double uniform = 1 / static_cast<double>(alphabet);
  vector_log(&uniform, &uniform, 1);
  level(1).log_probabilities.assign(nodes, static_cast<float>(uniform));
  for (Index n = 1; n < order; ++n) {
    level(n).log_backoffs.assign(n == 1 ? nodes : 0, 0.0F);
    level(n).children.assign(n == 1 ? nodes + 1 : 1, 0);
  }
}

std::uint32_t NgramTrie::child(Index n, std::uint32_t node, std::uint32_t symbol) const {
  const std::uint32_t* const children = level(n).children.data();
  const std::uint32_t* const symbols = level(n + 1).symbols.data();
  const std::uint32_t *first = symbols + children[node], *const end = symbols + children[node + 1];
  auto length = static_cast<std::size_t>(end - first);
  while (length > 1) {  // branch-free, because the position of the match is unpredictable
    const std::size_t half = length / 2;
    first += first[half - 1] < symbol ? half : 0;
    length -= half;
  }
  if (length == 0 || *first != symbol) return kNone;
  return static_cast<std::uint32_t>(first - symbols);
}

void NgramTrie::add_tensors(SafetensorsWriter& writer) const {
  const auto add = [&]<class T>(const char* what, Index n, const GrowingArray<T>& x) {
    const std::string name = fmt::format("{}{}", what, n);
    writer.add<T>(name, {static_cast<Index>(x.size())}, std::span<const T>(x));
    writer.after_reading(name, [&x] { x.release(); });
  };
  for (Index n = 1; n <= order(); ++n) {
    const NgramLevel& l = level(n);
    if (n > 1) add("symbols", n, l.symbols);
    add("log_probabilities", n, l.log_probabilities);
    if (n == order()) continue;
    add("log_backoffs", n, l.log_backoffs);
    add("children", n, l.children);
  }
}

namespace {

void check_level(const ModelFile& file, const NgramLevel& l, Index n, Index next, Index alphabet) {
  if (!all_finite<float>(l.log_probabilities) || !all_finite<float>(l.log_backoffs))
    file.fail(fmt::format("level {} contains a number that is not finite", n));
  for (const float x : l.log_probabilities)
    if (x > 1e-3F) file.fail(fmt::format("level {} contains a probability above 1", n));
  for (const std::uint32_t symbol : l.symbols)
    if (symbol >= static_cast<std::uint32_t>(alphabet))
      file.fail(fmt::format("level {} contains a symbol outside the alphabet", n));
  if (next < 0) return;
  if (l.children[0] != 0 || l.children.back() != static_cast<std::uint32_t>(next) ||
      !std::ranges::is_sorted(l.children))
    file.fail(fmt::format("the children of level {} do not match the next level", n));
}

}  // namespace

NgramTrie NgramTrie::read(const ModelFile& file, Index order, Index alphabet) {
  const SafetensorsFile& tensors = file.tensors();
  NgramTrie trie;
  trie.alphabet_ = alphabet;
  trie.levels_.resize(static_cast<std::size_t>(order));
  std::vector<std::string> names;
  const auto take = [&]<class T>(const char* what, Index n, Index elements, GrowingArray<T>& out) {
    names.push_back(fmt::format("{}{}", what, n));
    const Tensor& tensor = tensors.tensor(names.back());
    if (tensor.shape.size() != 1 || tensor.shape[0] != elements)
      file.fail(fmt::format("tensor {} does not have the shape [{}]", tensor.name, elements));
    out.resize(static_cast<std::size_t>(elements));
    tensors.read(tensor.name, tensor.shape, std::span<T>(out));
  };
  for (Index n = 1; n <= order; ++n) {
    NgramLevel& l = trie.level(n);
    const Index nodes = n == 1 ? alphabet + 1 : tensors.tensor(fmt::format("symbols{}", n)).elements();
    if (n > 1) take("symbols", n, nodes, l.symbols);
    take("log_probabilities", n, nodes, l.log_probabilities);
    if (n == order) continue;
    take("log_backoffs", n, nodes, l.log_backoffs);
    take("children", n, nodes + 1, l.children);
  }
  file.expect_tensors(names);
  for (Index n = 1; n <= order; ++n) check_level(file, trie.level(n), n, n < order ? trie.size(n + 1) : -1, alphabet);
  for (Index n = 1; n < order; ++n)
    for (Index node = 0; node < trie.size(n); ++node) {
      const auto* symbols = trie.level(n + 1).symbols.data();
      const auto* children = trie.level(n).children.data() + node;
      for (std::uint32_t x = children[0]; x + 1 < children[1]; ++x)
        if (symbols[x] >= symbols[x + 1]) file.fail(fmt::format("level {} is not sorted", n + 1));
    }
  return trie;
}

NgramPredictor::NgramPredictor(const NgramTrie& trie, Symbol line_end) : trie_(&trie), line_end_(line_end) { reset(); }

void NgramPredictor::reset() {
  nodes_.fill(NgramTrie::kNone);
  nodes_[0] = trie_->begin();
  longest_ = trie_->order() > 1 ? 1 : 0;
  log_probabilities_.clear();
}

float NgramPredictor::log_probability_of(Symbol symbol) {
  if (!log_probabilities_.empty()) return log_probabilities_[static_cast<std::size_t>(symbol)];
  const auto x = static_cast<std::uint32_t>(symbol);
  Index k = longest_;  // length of the longest context that was seen before this symbol
  std::uint32_t found = x;
  for (; k > 0; --k) {
    const std::uint32_t node = nodes_[static_cast<std::size_t>(k - 1)];
    if (node == NgramTrie::kNone) continue;
    found = trie_->child(k, node, x);
    if (found != NgramTrie::kNone) break;
  }
  if (k == 0) found = x;
  float result = trie_->level(k + 1).log_probabilities[found];
  for (++k; k <= longest_; ++k) {
    const std::uint32_t node = nodes_[static_cast<std::size_t>(k - 1)];
    if (node != NgramTrie::kNone) result += trie_->level(k).log_backoffs[node];
  }
  return result;
}

std::span<const float> NgramPredictor::log_probabilities() {
  if (!log_probabilities_.empty()) return log_probabilities_;
  const auto& unigrams = trie_->level(1).log_probabilities;
  log_probabilities_.assign(unigrams.begin(), unigrams.end() - 1);
  for (Index k = 1; k <= longest_; ++k) {
    const std::uint32_t node = nodes_[static_cast<std::size_t>(k - 1)];
    if (node == NgramTrie::kNone) continue;
    const float backoff = trie_->level(k).log_backoffs[node];
    for (float& x : log_probabilities_) x += backoff;
    const NgramLevel& next = trie_->level(k + 1);
    const auto& children = trie_->level(k).children;
    for (std::uint32_t i = children[node]; i < children[node + 1]; ++i)
      log_probabilities_[next.symbols[i]] = next.log_probabilities[i];
  }
  return log_probabilities_;
}

void NgramPredictor::update(Symbol symbol) {
  if (symbol == line_end_) return reset();
  log_probabilities_.clear();
  const auto x = static_cast<std::uint32_t>(symbol);
  const Index most = trie_->order() - 1;
  Index longest = 0;
  for (Index k = std::min(longest_, most - 1); k > 0; --k) {
    const std::uint32_t node = nodes_[static_cast<std::size_t>(k - 1)];
    const std::uint32_t next = node == NgramTrie::kNone ? NgramTrie::kNone : trie_->child(k, node, x);
    nodes_[static_cast<std::size_t>(k)] = next;
    if (next != NgramTrie::kNone) longest = std::max(longest, k + 1);
  }
  if (most > 0) {
    nodes_[0] = x;
    longest = std::max<Index>(longest, 1);
  }
  longest_ = longest;
}

void NgramPredictor::append_context(std::string& to) const {
  for (Index k = 0; k < longest_; ++k) {
    const std::uint32_t node = nodes_[static_cast<std::size_t>(k)];
    for (int byte = 0; byte < 4; ++byte) to.push_back(static_cast<char>(node >> (8 * byte)));
  }
}

std::unique_ptr<Predictor> NgramPredictor::clone() const { return std::make_unique<NgramPredictor>(*this); }

}  // namespace unfold
