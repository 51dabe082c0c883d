#pragma once
/// Whether one model predicts better than another: the paired bootstrap (report/bootstrap.h) on bits per symbol, or per
/// position or example of data with fields, on the same data.
///
///   const Comparison found = compare({.models = {"lstm", "gru"}});
///   found.pairs.front().difference.differs();

#include <string>
#include <vector>

#include "unfold/report/bootstrap.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct CompareRequest {
  std::vector<std::string> models;     ///< two or more run folders or model files
  std::vector<std::string> data = {};  ///< files; empty: the part that each run says, which must be the same
  std::string unknown = "error";       ///< symbols that a model does not know: "error" or "skip"
  Index block = 0;                     ///< symbols of a block; 0: chosen
  Index samples = 10'000;
  double level = 0.95;
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: every processor available
};

struct ComparedModel {
  std::string name, model;  ///< as given; its SPEC
  double bits = 0;          ///< per symbol, position or example
};
/// b against a: bits of a minus bits of b, so that above 0 b is better.
struct ComparedPair {
  std::size_t a = 0, b = 0;
  PairedDifference difference;
  /// "b is better", "a is better", "no difference".
  std::string verdict(const std::vector<ComparedModel>& models) const;
};
struct Comparison {
  std::string unit = {};    ///< "character", "byte", "word", "symbol"; "position of chunk", "example of label"
  std::string data = {};    ///< for people
  bool validation = false;  ///< the models were chosen by the data that they are compared on
  Index symbols = 0;        ///< predicted, or positions, or examples
  Index block = 0;          ///< symbols of a block; 0: a block is a sequence or an example
  double level = 0;
  std::vector<ComparedModel> models = {};
  std::vector<ComparedPair> pairs = {};  ///< every one, in order

  std::string entries() const;  ///< what `symbols` counts: "symbols", "positions", "examples"
  std::string units() const;    ///< the unit, of several: "characters", "positions of chunk"
};

/// How long blocks are, where nobody says: a 400th of the symbols, at least 32, so that what is alike in neighbours
/// does not count as often as it occurs.
Index choose_block(Index symbols);

/// Throws UsageError: fewer than two models, unlike units or data, too little for blocks; DataError, ModelError.
Comparison compare(const CompareRequest& request, Reporter& reporter);
Comparison compare(const CompareRequest& request);

}  // namespace unfold
