#pragma once
/// Tables that `unfold reproduce` runs again: rows (methods) x columns (problems), each cell several seeds of a command
/// `unfold train ...`. The tables themselves are an explicit list in reproductions.cpp: a row or a column is one line.

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unfold {

/// A row or a column: how it is named, and what it adds to the command.
struct Variant {
  std::string label;
  std::string arguments;  ///< of `unfold train`, separated by blanks
};

/// One size of a table.
struct ReproductionScale {
  std::vector<Variant> columns;
  int seeds = 1;
  std::string budget;  ///< arguments of every run
};

struct Reproduction {
  std::string name, title, source;
  std::string measure;       ///< key in the results of `train --json` under "valid"
  std::string measure_text;  ///< "wrong sequences"
  bool percent = false;      ///< shown times 100
  /// A run has succeeded when its measure is at most this.
  double success = 0;
  std::string curve;  ///< key of validation events for the plots of learning
  std::vector<Variant> rows;
  ReproductionScale small, full;
  std::map<std::pair<std::string, std::string>, std::string> theirs = {};  ///< by (row, column): as published
};

const std::vector<Reproduction>& reproductions();

}  // namespace unfold
