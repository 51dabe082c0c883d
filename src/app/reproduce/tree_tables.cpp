#include <fmt/format.h>

#include "app/reproduce/reproduction.h"
#include "data/tasks/tree_tasks.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// Writes generated expressions for training, validation and testing, with different seeds.
void make_expressions(const std::string&, const std::string& stem) {
  const auto write = [&](const char* part, std::uint64_t seed, Index count) {
    write_file_atomically(fmt::format("{}.{}.trees", stem, part), generate_trees("arithmetic:4", seed, count).text);
  };
  write("train", 1, 20'000);
  write("valid", 2, 1000);
  write("test", 3, 1000);
}

Reproduction sentiment() {
  const Variant column{"sentiment of sentences",
                       "{data}/sst/train.txt.gz --format trees --valid {data}/sst/dev.txt --test {data}/sst/test.txt"};
  return {.name = "trees",
          .title = "Sentiment, five grades",
          .source = "Stanford Sentiment Treebank, labels at all nodes, no pretrained word vectors",
          .measure = "/test/heads/label/root_accuracy",
          .measure_text = "root accuracy on the test set, %",
          .percent = true,
          .success = 0.457,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats per node",
          .rows = {{"the default", ""},
                   {"child-sum", "--model child-sum-lstm:250,embedding=250,dropout=0.6"},
                   {"recursive tensor", "--model recursive-tensor:30,embedding=100,dropout=0.5"},
                   {"recursive", "--model recursive:30,embedding=30,dropout=0.2"}},
          .small = {.columns = {column}, .seeds = 1, .budget = "--epochs 2"},
          .full = {.columns = {column}, .seeds = 5, .budget = ""},
          .theirs = {{{"the default", column.label}, "43.9 (Tai et al. 2015, random word vectors)"},
                     {{"recursive tensor", column.label}, "45.7 (Socher et al. 2013)"},
                     {{"recursive", column.label}, "43.2 (Socher et al. 2013)"}},
          .data = "sst"};
}

Reproduction expressions() {
  const Variant column{.label = "expressions",
                       .arguments = "{made}.train.trees --valid {made}.valid.trees --test {made}.test.trees",
                       .prepare = make_expressions};
  const std::string further = "--optimizer adam:rate=0.003,clip=1,schedule=cosine,warmup=100";
  return {.name = "trees",
          .title = "Values of expressions",
          .source = "unfold generate arithmetic:4, labels at all operators and digits",
          .measure = "/test/heads/label/root_accuracy",
          .measure_text = "root accuracy on the test set, %",
          .percent = true,
          .success = 0.95,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats per node",
          .rows = {{"tree-lstm", "--model tree-lstm:100,children=3 " + further},
                   {"recursive", "--model recursive:100,children=3 " + further}},
          .small = {.columns = {column}, .seeds = 1, .budget = "--epochs 3"},
          .full = {.columns = {column}, .seeds = 5, .budget = "--epochs 20"}};
}

}  // namespace

std::vector<Reproduction> tree_reproductions() { return {sentiment(), expressions()}; }

}  // namespace unfold
