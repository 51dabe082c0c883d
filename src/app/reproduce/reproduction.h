#pragma once
/// Definitions of the tables that `unfold reproduce` runs: rows (methods) x columns (problems). Each cell consists of
/// several seeds of a command `unfold train ...`. The tables are listed explicitly in reproductions.cpp; a row or a
/// column is one line.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Generated training and validation texts for the runs of a column, from a source of known entropy. The measure of
/// these runs is the excess over the score of the source itself on the validation text.
struct SourceText {
  std::string source;            ///< SPEC, as for `unfold generate`
  Index units = 0, symbols = 0;  ///< size of the training text; one of them is set
  Index valid_units = 0, valid_symbols = 0;
  double solved = 0;  ///< largest excess that counts as solved; 0: 5 % of the source's score
};

/// A row or a column: its label and its part of the command line. Placeholders in the arguments: {data} is the folder
/// of the data sets (UNFOLD_DATA, by default ../shared/data), {units} the size given by the scale, {rate} the learning
/// rate given by the column, {seed} the seed of the run, and {made} the path prefix of the column's files
/// (Variant::prepare). In rows, {start} is the run of the first row with the same column and seed, which is trained
/// first.
struct Variant {
  std::string label;
  std::string arguments;                ///< arguments of `unfold train`, separated by spaces
  std::optional<SourceText> text = {};  ///< for columns: the source of generated texts
  bool fitted = false;                  ///< for rows: the model is fitted without gradient descent, so it has no budget
                                        ///< and a single seed
  std::string rate = {};                ///< for columns: the value of {rate} in the rows
  /// For columns: writes the files for its runs, with names that begin with `stem` ({made} in the arguments), from the
  /// data sets in `data`. The page describes the conversion.
  void (*prepare)(const std::string& data, const std::string& stem) = nullptr;
  double success = 0;  ///< for columns: overrides Reproduction::success; 0: no override
};

/// One scale of a table.
struct ReproductionScale {
  std::vector<Variant> columns;
  int seeds = 1;
  std::string budget;  ///< arguments of all runs
  std::string units = {};
  std::string start = {};  ///< budget of the rows without {start}, if other rows have {start}
};

/// A table of published results to be reproduced. Tables with the same name are run together and form one page, with
/// one section each.
struct Reproduction {
  std::string name, title, source;
  std::string measure;       ///< key under "valid" in the results of `train --json`, or a JSON pointer into the results
  std::string measure_text;  ///< "wrong sequences"
  bool percent = false;      ///< shown in percent
  /// Threshold of the measure for a successful run: an upper bound, or a lower bound if more_is_better.
  double success = 0;
  bool more_is_better = false;
  bool compares = false;        ///< whether there is no threshold: rows are only compared with each other
  std::string curve;            ///< key in validation events plotted as learning curve
  std::string curve_text = {};  ///< its description if it differs from the measure; empty: it is the measure
  double curve_factor = 1;      ///< factor that converts its unit to the unit of the measure
  /// The x axis of learning curves, "seconds" or "epochs". The latter requires that all rows read the same data. Tables
  /// with `compares` have plots only over epochs.
  std::string curve_over = "seconds";
  std::vector<Variant> rows;
  ReproductionScale small, full;
  std::map<std::pair<std::string, std::string>, std::string> theirs = {};  ///< published results by (row, column)
  std::string data = {};                                                   ///< path needed in {data}; "": none
  std::string (*appendix)() = nullptr;  ///< additional content of the page (Markdown), computed without training
};

/// Folder of the data sets: UNFOLD_DATA, by default ../shared/data.
std::string data_folder();

const std::vector<Reproduction>& reproductions();
/// Tables on data with fields (field_tables.cpp): tagging, classification, forecasting, music, grapheme-to-phoneme
/// conversion.
std::vector<Reproduction> field_reproductions();
/// Density estimation of vectors (density_tables.cpp).
std::vector<Reproduction> density_reproductions();
/// Tables on trees (tree_tables.cpp).
std::vector<Reproduction> tree_reproductions();
/// Learning through search (search_tables.cpp).
Reproduction learning_through_search();
/// Writes STEM.pairs, words and their phonemes without stress, from the CMU dictionary in `data`.
void make_sounds(const std::string& data, const std::string& stem);
/// Tables on grids (grid_tables.cpp).
std::vector<Reproduction> grid_reproductions();
/// Writes STEM.csv, the first 5,000 values of the laser data set: 2,000 for training and validation, 3,000 for testing.
void make_laser(const std::string& data, const std::string& stem);
/// |kappa2| / |kappa1| of a recurrent matrix for several lengths and sizes: the table in figure 2 of Neyshabur et al.
/// 2016.
std::string path_ratio_table();

}  // namespace unfold
