#pragma once
/// Import and export of conditional random fields over column features (model/network/linear.h) in the text formats of
/// other programs: the output of `crfsuite dump`, and CRF++ text models (`crf_learn -t`, read back with `crf_learn
/// -C`). Weights are written with all digits, so a model that is exported and imported again gives the same results.
///
/// CRFsuite has attributes with arbitrary names. Exported attributes are named NAME=TEXT, where NAME is a template
/// ("word[-1]|pos[0]") or a column, possibly derived ("word.suffix3"). The attributes `__BOS__` and `__EOS__` occur at
/// the first and the last position and hold the start and stop weights of the labels. Attributes of templates in the
/// syntax of CRF++ (U05:a/b) are imported with the template file that defines them. CRF++ numbers columns from 0; the
/// columns are imported under the names "1", "2", ... or under the names in a given list. Start and stop weights are
/// features of the values beyond the ends, %x[-1,0] and %x[1,0].

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

/// A CRF in the form common to both file formats. Internal to interop/.
struct CrfWeights {
  /// Weights by output. With n labels, output j is label j, and n + i n + j is the transition from label i to label j.
  using Weights = std::map<Index, double>;
  /// One feature, a template or a column, with the weights of each of its values.
  struct Read {
    std::string name;
    std::vector<std::string> texts;  ///< values of the feature, in the order of the file
    std::map<std::string, Weights, std::less<>> weights;
  };

  std::vector<std::string> labels;
  std::vector<Read> reads;
  std::vector<double> transitions, start, stop;  ///< [n x n], [n], [n]
  Index columns = 0;                             ///< CRF++: number of data columns, not counting the label column

  explicit CrfWeights(std::vector<std::string> of);
  Read& read(const std::string& name);  ///< inserted if missing
  /// Adds to the weight of one output (a label or a transition) for one value of a feature.
  void add(const std::string& read, const std::string& text, Index output, double weight);
  bool has_transition_features() const;
};

/// Reads the output of `crfsuite dump MODEL`. `templates` maps the names of CRF++ templates ("U05") to the feature
/// names used here. Throws a DataError that names the file, the line and a fix.
CrfWeights read_crfsuite(const Input& input, const std::map<std::string, std::string, std::less<>>& templates);
void write_crfsuite(const CrfWeights& crf, const std::function<void(std::string_view)>& write);
/// Reads a CRF++ text model. `columns` holds the names of the columns. Throws DataError as above.
CrfWeights read_crfpp(const Input& input, const std::vector<std::string>& columns);
/// Writes a CRF++ text model. Throws UsageError for a feature that is not a template over the given columns.
void write_crfpp(const CrfWeights& crf, const std::vector<std::string>& columns,
                 const std::function<void(std::string_view)>& write);
/// Reads a template file in the syntax of CRF++; returns feature names by template name.
std::map<std::string, std::string, std::less<>> named_templates(const std::string& file,
                                                                const std::vector<std::string>& columns);
/// Returns all ways to split a string into `parts` parts at a separator.
std::vector<std::vector<std::string>> cuts(std::string_view text, char separator, std::size_t parts);

/// Returns the column names "1", "2", ...
std::vector<std::string> numbered_columns(Index count);

// Functions called by the commands `export` and `import`.

struct ExportCrfRequest {
  std::string model;                      ///< run folder or model file
  bool crfpp = false;                     ///< false: CRFsuite
  std::vector<std::string> columns = {};  ///< CRF++: names of the columns, in order; empty: their numbers
};
/// Writes a CRF model by calling write(text) repeatedly. Throws ModelError; UsageError if the model is not a `crf` or
/// has a part that the format does not support.
void export_crf(const ExportCrfRequest& request, const std::function<void(std::string_view)>& write);

struct ImportCrfRequest {
  std::string file, out;
  std::string label = {};                 ///< name of the label column; empty (only for CRF++): the column after the
                                          ///< feature columns
  std::string templates = {};             ///< CRFsuite: a template file in the syntax of CRF++
  std::vector<std::string> columns = {};  ///< names of the columns that templates refer to; empty: numbers from 1
};
struct ImportCrfOutcome {
  Index labels = 0, features = 0;  ///< `features` counts pairs of a feature value and an output
};
ImportCrfOutcome import_crf(const ImportCrfRequest& request);
/// Returns whether import_crf can read a file, judged by its first line.
bool is_crf_file(const std::string& file);

}  // namespace unfold
