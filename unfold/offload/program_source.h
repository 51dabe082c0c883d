#pragma once
/// Element-wise maps as text: what the kernels of a device do for one element of every place. Internal to offload/.

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "unfold/engine/programs.h"

namespace unfold {

/// What kernels need beside the words of a device: the number type T and the functions of the table of maps. `quick`:
/// sigmoid and tanh with an absolute error of some 1e-7, for products that are rounded anyway.
std::string number_words(bool doubles, bool quick = false);

/// The statement of an instruction; the names are those of its slots, "" where it reads none.
struct InstructionNames {
  std::string out, x0, x1, y, seed;
};
std::string statement(const Instruction& instruction, const InstructionNames& names);

/// One element of each place that straight-line code touches, as a variable. A place is read once and written where it
/// changes.
class ElementCode {
 public:
  /// A place by its columns: `block` of the width of the code, for signals that are several of it wide.
  struct Variable {
    What what = What::value;
    int root = -1;     ///< -1: lives in the code alone
    Index column = 0;  ///< of element 0
    Index shift = 0;
    int scratch = -1;  ///< tells apart what lives in the code alone
    bool operator==(const Variable&) const = default;
    bool operator<(const Variable& other) const {
      const auto order = [](const Variable& v) { return std::tie(v.what, v.root, v.column, v.shift, v.scratch); };
      return order(*this) < order(other);
    }
  };

  /// `suffix`: after the name of every variable in the text, "[e]" for arrays.
  explicit ElementCode(const Plan& plan, std::string suffix = {}) : plan_(&plan), suffix_(std::move(suffix)) {}

  /// A new piece of code begins: variables that live in it alone are others from now on.
  void begin_program() { ++program_; }
  /// Appends a program; every slot is moved by `block` columns.
  void append(const Program& program, Index block);
  void append(const Instruction& instruction, const std::vector<Program::Slot>& slots, Index block);

  Variable variable(const Program::Slot& slot, Index block) const;
  std::string name(const Variable& variable);     ///< declared from now on
  std::string element(const Variable& variable);  ///< its name with the suffix
  /// Code that reads a variable before it is written needs its value first.
  void read(const Variable& variable);
  void written(const Variable& variable);

  const std::vector<Variable>& variables() const { return variables_; }
  const std::set<Variable>& loads() const { return loads_; }    ///< memory that is read before it is written
  const std::set<Variable>& stores() const { return stores_; }  ///< memory that is written
  const std::string& text() const { return text_; }
  void add_text(const std::string& text) { text_ += text; }
  std::string take_text() { return std::exchange(text_, {}); }

 private:
  const Plan* plan_;
  std::string suffix_;
  int program_ = 0;
  std::vector<Variable> variables_;
  std::set<Variable> loads_, stores_;
  std::string text_;
};

/// A kernel that runs a program over rows x the width of its nodes: its source, and the places in the order of its
/// arguments (rows, then address and stride of each).
struct ProgramKernel {
  std::string source;
  std::vector<ElementCode::Variable> places;
  Index width = 0;
};
ProgramKernel program_kernel(const Plan& plan, const Program& program, const std::string& name);

}  // namespace unfold
