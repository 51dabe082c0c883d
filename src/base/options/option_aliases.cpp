#include "base/options/option_aliases.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace unfold {
namespace {

/// An option and its aliases.
struct OptionAliases {
  std::string_view name;
  std::vector<std::string_view> others;
};

/// SPEC options first, then command options. An alias may occur in several rows: the first row whose option is
/// available is used.
const std::vector<OptionAliases>& option_aliases() {
  static const std::vector<OptionAliases> list = {
      {"rate", {"lr", "learning-rate", "step-size"}},
      {"decay", {"wd", "weight-decay"}},
      {"clip", {"clip-norm", "max-norm", "max-grad-norm", "grad-clip", "gradient-clip", "clip-gradient"}},
      {"epsilon", {"eps"}},
      {"schedule", {"lr-schedule", "scheduler", "lr-scheduler"}},
      {"warmup", {"warmup-steps"}},
      {"layers", {"num-layers", "n-layers", "nlayers"}},
      {"dropout", {"drop", "dropout-rate", "p-dropout"}},
      {"embedding", {"emb", "embed", "embedding-size", "embedding-dim", "embed-dim", "emb-size"}},
      {"activation", {"act", "nonlinearity"}},
      {"init", {"initialisation", "initialization", "initializer"}},
      {"order", {"n"}},
      {"model", {"arch", "architecture", "network"}},
      {"optimizer", {"optimiser", "opt", "optim"}},
      {"batch", {"batch-size", "batchsize", "bs"}},
      {"window", {"bptt", "seq-len", "seq-length", "sequence-length", "context-length", "unroll"}},
      {"epochs", {"epoch", "num-epochs", "n-epochs", "max-epochs"}},
      {"steps", {"iterations", "iters", "num-steps", "n-steps", "max-steps"}},
      {"minutes", {"max-minutes", "time-limit"}},
      {"valid", {"validation", "val", "dev", "valid-file", "validation-file"}},
      {"test", {"test-file"}},
      {"out", {"output", "out-dir", "output-dir", "save", "save-dir"}},
      {"overwrite", {"force"}},
      {"resume", {"continue"}},
      {"seed", {"random-seed", "rng-seed"}},
      {"threads", {"num-threads", "n-threads", "jobs", "workers", "cpus"}},
      {"early-stop", {"early-stopping", "patience"}},
      {"validate-every", {"eval-every", "val-every", "validation-every", "eval-interval"}},
      {"checkpoint-every", {"save-every", "checkpoint-interval"}},
      {"log-every", {"log-interval"}},
      {"vocabulary", {"vocab", "vocab-size", "vocabulary-size", "max-vocab"}},
      {"symbols", {"tokens", "tokenizer", "token-level"}},
      {"predict", {"target", "targets"}},
      {"read", {"features"}},
      {"ahead", {"horizon", "steps-ahead"}},
      {"precision", {"dtype"}},
      {"prime", {"prompt", "prefix", "start"}},
      {"prime-file", {"prompt-file"}},
      {"length", {"len", "max-length", "max-len", "max-tokens", "num-symbols"}},
      {"count", {"num-samples", "n-samples", "samples", "number"}},
      {"temperature", {"temp"}},
      {"top-k", {"topk"}},
      {"top-p", {"topp", "nucleus"}},
      {"beam", {"beam-size", "beam-width", "num-beams"}},
      {"top", {"top-n"}},
      {"quiet", {"silent"}},
  };
  return list;
}

constexpr std::array<std::string_view, 6> kMainSize = {"units",        "hidden",     "hidden-size",
                                                       "hidden-units", "hidden-dim", "num-units"};

std::string with_hyphens(std::string_view word) {
  std::string result(word);
  std::ranges::replace(result, '_', '-');
  return result;
}

bool is_one_of_them(std::string_view word, const auto& names) { return std::ranges::find(names, word) != names.end(); }

}  // namespace

std::string name_behind(std::string_view word, std::span<const std::string> names) {
  if (is_one_of_them(word, names)) return std::string(word);
  std::string hyphened = with_hyphens(word);
  if (is_one_of_them(hyphened, names)) return hyphened;
  for (const OptionAliases& option : option_aliases())
    if (is_one_of_them(option.name, names) && is_one_of_them(hyphened, option.others)) return std::string(option.name);
  return {};
}

bool name_the_same(std::string_view a, std::string_view b) {
  const std::string first = with_hyphens(a), second = with_hyphens(b);
  const auto names = [](const OptionAliases& option, std::string_view word) {
    return word == option.name || is_one_of_them(word, option.others);
  };
  return first == second || std::ranges::any_of(option_aliases(), [&](const OptionAliases& option) {
           return names(option, first) && names(option, second);
         });
}

bool is_main_size(std::string_view word) { return is_one_of_them(with_hyphens(word), kMainSize); }

}  // namespace unfold
