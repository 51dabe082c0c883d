#pragma once
/// Comparison of models on the same data with the paired bootstrap (app/statistics/paired_bootstrap.h): bits per
/// symbol, or per position or example for data with fields.
///
///   const Comparison found = compare({.models = {"lstm", "gru"}});
///   found.pairs.front().difference.differs();

#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/statistics/paired_bootstrap.h"

namespace unfold {

struct CompareRequest {
  std::vector<std::string> models;     ///< two or more run folders or model files
  std::vector<std::string> data = {};  ///< files; empty: the part specified by each run, which must be the same
  std::string unknown = "error";       ///< handling of symbols that a model does not know: "error" or "skip"
  Index block = 0;                     ///< symbols per block; 0: automatic
  Index samples = 10'000;
  double level = 0.95;
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: all available processors
};

struct ComparedModel {
  std::string name, model;  ///< name of the model as in the request; its SPEC
  double bits = 0;          ///< bits per symbol, position or example
};
/// The comparison of two models. The difference is bits of a minus bits of b, so positive values mean that b is better.
struct ComparedPair {
  std::size_t a = 0, b = 0;
  PairedDifference difference;
  /// Returns "b is better", "a is better" or "no difference".
  std::string verdict(const std::vector<ComparedModel>& models) const;
};
struct Comparison {
  std::string unit = {};    ///< "character", "byte", "word", "symbol"; "position of chunk", "example of label"
  std::string data = {};    ///< description of the data
  bool validation = false;  ///< the data was also used to select the models
  Index symbols = 0;        ///< number of predicted symbols, positions or examples
  Index block = 0;          ///< symbols per block; 0: each sequence or example is a block
  double level = 0;
  std::vector<ComparedModel> models = {};
  std::vector<ComparedPair> pairs = {};  ///< all pairs, in order

  std::string entries() const;  ///< plural of what `symbols` counts: "symbols", "positions", "examples"
  std::string units() const;    ///< plural of `unit`: "characters", "positions of chunk"
};

/// Returns the default block length: 1/400 of the symbols, at least 32. Blocks account for the dependence between
/// neighboring symbols.
Index choose_block(Index symbols);

/// Throws UsageError for fewer than two models, different units or data, or too little data for blocks; DataError,
/// ModelError.
Comparison compare(const CompareRequest& request, Reporter& reporter);
Comparison compare(const CompareRequest& request);

}  // namespace unfold
