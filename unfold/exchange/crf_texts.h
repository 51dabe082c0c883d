#pragma once
/// Conditional random fields of features of columns (models/linear.h) as texts of other programs: what `crfsuite dump`
/// prints, and the text models of CRF++ (`crf_learn -t`, read back by `crf_learn -C`). Every weight is a number in the
/// file, so a model that goes out and comes back gives the same answers.
///
/// Features. CRFsuite knows attributes, whatever programs call them: ours are NAME=TEXT, NAME being a template
/// ("word[-1]|pos[0]") or a column, derived or not ("word.suffix3"); `__BOS__` and `__EOS__` stand at the first and the
/// last position and hold the weights of first and last labels. Attributes of templates in the syntax of CRF++
/// (U05:a/b) are read with the file of these templates. CRF++ names columns by their numbers, from 0; ours are then
/// called "1", "2", ..., or as a list says. Weights of first and last labels are features of the texts beyond the ends,
/// %x[-1,0] and %x[1,0].

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/file.h"
#include "unfold/base/types.h"

namespace unfold {

/// A field as the formats see it. Internal to exchange/.
struct CrfTexts {
  /// What is read, by its name; of each text, weights by label, and of steps from label i to j by n + i n + j.
  using Weights = std::map<Index, double>;
  struct Read {
    std::string name;
    std::vector<std::string> texts;  ///< in the order of the file
    std::map<std::string, Weights, std::less<>> weights;
  };

  std::vector<std::string> labels;
  std::vector<Read> reads;
  std::vector<double> transitions, start, stop;  ///< [n x n], [n], [n]
  Index columns = 0;                             ///< CRF++: of the data, the labels' own not among them

  explicit CrfTexts(std::vector<std::string> of);
  Read& read(const std::string& name);  ///< there afterwards
  /// Adds to what is there; `output`: a label or a step.
  void add(const std::string& read, const std::string& text, Index output, double weight);
  bool weighs_steps() const;
};

/// What `crfsuite dump MODEL` printed. `templates`: lines of CRF++ by their names ("U05"), as names of ours. Throws
/// DataError naming file, line and remedy.
CrfTexts read_crfsuite(const Input& input, const std::map<std::string, std::string, std::less<>>& templates);
void write_crfsuite(const CrfTexts& crf, const std::function<void(std::string_view)>& write);
/// A text model of CRF++. `columns`: what they are called. Throws DataError in the same way.
CrfTexts read_crfpp(const Input& input, const std::vector<std::string>& columns);
/// UsageError: a read that is no template of columns in the list.
void write_crfpp(const CrfTexts& crf, const std::vector<std::string>& columns,
                 const std::function<void(std::string_view)>& write);
/// The templates of a file in the syntax of CRF++, by their names.
std::map<std::string, std::string, std::less<>> named_templates(const std::string& file,
                                                                const std::vector<std::string>& columns);
/// All ways to cut a text into so many parts at a separator.
std::vector<std::vector<std::string>> cuts(std::string_view text, char separator, std::size_t parts);

/// Columns called "1", "2", ...
std::vector<std::string> numbered_columns(Index count);

// The verbs.

struct ExportCrfRequest {
  std::string model;   ///< run folder or model file
  bool crfpp = false;  ///< otherwise CRFsuite
  std::vector<std::string> columns =
      {};  ///< CRF++: names of the columns, in their order; empty: their names are numbers
};
/// Throws ModelError; UsageError for a model that is no `crf`, naming what has no counterpart.
void export_crf(const ExportCrfRequest& request, const std::function<void(std::string_view)>& write);

struct ImportCrfRequest {
  std::string file, out;
  std::string label = {};                 ///< what the labels are called; empty, CRF++: the column behind the others
  std::string templates = {};             ///< CRFsuite: a file of templates in the syntax of CRF++
  std::vector<std::string> columns = {};  ///< names of the columns that templates speak of; empty: numbers from 1
};
struct ImportCrfOutcome {
  Index labels = 0, features = 0;  ///< pairs of a text and a label
};
ImportCrfOutcome import_crf(const ImportCrfRequest& request);
/// Whether a file is one for import_crf, by its first line.
bool holds_crf(const std::string& file);

}  // namespace unfold
