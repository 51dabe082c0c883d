#pragma once
/// Tables that `unfold reproduce` runs again: rows (methods) x columns (problems), each cell several seeds of a command
/// `unfold train ...`. The tables themselves are an explicit list in reproductions.cpp: a row or a column is one line.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// What the runs of a column read: texts of a source of known entropy, one to train and one to validate on. Their
/// measure is then counted from what the source itself scores on the validation text.
struct SourceText {
  std::string source;            ///< SPEC, as for `unfold generate`
  Index units = 0, symbols = 0;  ///< of the text to train on; one of the two
  Index valid_units = 0, valid_symbols = 0;
  double solved = 0;  ///< at most so much above the source; 0: a twentieth of what it scores
};

/// A row or a column: how it is named, and what it adds to the command. There {data} stands for the folder of the real
/// data sets (UNFOLD_DATA, by default ../shared/data), {units} for the size that the scale says, {rate} for the
/// column's, {seed} for the number of the run, {made} for where the files of the column are (Variant::prepare), and in
/// rows {start} for the run of the first row in the same column with the same seed, which is carried out before.
struct Variant {
  std::string label;
  std::string arguments;                ///< of `unfold train`, separated by blanks
  std::optional<SourceText> text = {};  ///< of a column
  bool fitted = false;                  ///< a row's model is fitted as a whole: it takes no budget, and one seed
  std::string rate = {};                ///< of a column: {rate} of its rows
  /// Of a column: writes the files that its runs read, whose names begin with `stem` ({made} in arguments), from the
  /// real data sets in `data`. The page tells what it did in its own words.
  void (*prepare)(const std::string& data, const std::string& stem) = nullptr;
  double success = 0;  ///< of a column, where it is not the table's; 0: it is
};

/// One size of a table.
struct ReproductionScale {
  std::vector<Variant> columns;
  int seeds = 1;
  std::string budget;  ///< arguments of every run
  std::string units = {};
  std::string start = {};  ///< of the rows that start from nothing, where others have {start}: their budget
};

/// Those of one name are run together and make one page, one section each.
struct Reproduction {
  std::string name, title, source;
  std::string measure;       ///< key in the results of `train --json` under "valid", or a JSON pointer into all of them
  std::string measure_text;  ///< "wrong sequences"
  bool percent = false;      ///< shown times 100
  /// A run has succeeded when its measure is at most this, or, where more is better, at least.
  double success = 0;
  bool more_is_better = false;
  bool compares = false;        ///< nothing is to be reached: rows are compared with each other
  std::string curve;            ///< key of validation events for the plots of learning
  std::string curve_text = {};  ///< what that is, where it is not the measure; empty: it is
  double curve_factor = 1;      ///< from its unit to that of the measure
  /// What plots of learning go over: "epochs", where all rows read the same; of rows that are compared there are no
  /// others.
  std::string curve_over = "seconds";
  std::vector<Variant> rows;
  ReproductionScale small, full;
  std::map<std::pair<std::string, std::string>, std::string> theirs = {};  ///< by (row, column): as published
  std::string data = {};                                                   ///< what it needs of {data}; "": nothing
  std::string (*appendix)() = nullptr;  ///< more of the page, computed without training (Markdown)
};

/// Of the real data sets: UNFOLD_DATA, by default ../shared/data.
std::string data_folder();

const std::vector<Reproduction>& reproductions();
/// Those of data with fields (field_tables.cpp): tagging, classification, forecasting, music,
/// letter-to-sound.
std::vector<Reproduction> field_reproductions();
/// Those of distributions of vectors (density_tables.cpp).
std::vector<Reproduction> density_reproductions();
/// Those of trees (tree_tables.cpp).
std::vector<Reproduction> tree_reproductions();
/// Learning through search (search_tables.cpp).
Reproduction learning_through_search();
/// Of the CMU dictionary in `data`: writes STEM.pairs, words and their sounds without stress.
void make_sounds(const std::string& data, const std::string& stem);
/// Those of grids (grid_tables.cpp).
std::vector<Reproduction> grid_reproductions();
/// Writes STEM.csv, the first 5,000 values of the laser: 2,000 to train and choose by, 3,000 to test.
void make_laser(const std::string& data, const std::string& stem);
/// |kappa2| / |kappa1| of a recurrent matrix over lengths and sizes: the table in figure 2 of Neyshabur et al. 2016.
std::string path_ratio_table();

}  // namespace unfold
