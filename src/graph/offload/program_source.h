#pragma once
/// Source code of element-wise maps: the code that a device kernel runs for one element of every location. Internal to
/// offload/.

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/engine/map_programs.h"

namespace unfold {

/// Returns the part of the kernel prelude that follows the device primitives: the number type T and the functions of
/// the table of maps. If `quick`, sigmoid and tanh have an absolute error of about 1e-7, for products that are rounded
/// anyway.
std::string number_prelude(bool doubles, bool quick = false);

/// Returns the statement for an instruction. `names` are the names of its slots, "" for slots that it does not read.
struct InstructionNames {
  std::string out, x0, x1, y, seed;
};
std::string statement(const Instruction& instruction, const InstructionNames& names);

/// Straight-line code for one element of each place, with one variable per place. A place is loaded once and stored
/// whenever it changes.
class ElementCode {
 public:
  /// A place, identified by its column. Signals that are several times as wide as the code have one variable per block.
  struct Variable {
    What what = What::value;
    int root = -1;     ///< -1: exists only within the code
    Index column = 0;  ///< column of element 0
    Index shift = 0;
    int scratch = -1;  ///< distinguishes variables that exist only within the code
    bool operator==(const Variable&) const = default;
    bool operator<(const Variable& other) const {
      const auto order = [](const Variable& v) { return std::tie(v.what, v.root, v.column, v.shift, v.scratch); };
      return order(*this) < order(other);
    }
  };

  /// `suffix` is appended to the name of every variable, for example "[e]" for arrays.
  explicit ElementCode(const Plan& plan, std::string suffix = {}) : plan_(&plan), suffix_(std::move(suffix)) {}

  /// Starts a new program: its local variables are distinct from the variables of earlier programs.
  void begin_program() { ++program_; }
  /// Appends a program, with every slot shifted by `block` columns.
  void append(const Program& program, Index block);
  void append(const Instruction& instruction, const std::vector<Program::Slot>& slots, Index block);

  Variable variable(const Program::Slot& slot, Index block) const;
  std::string name(const Variable& variable);     ///< declares the variable
  std::string element(const Variable& variable);  ///< name with the suffix
  /// Loads the value of a variable that is read before it is written.
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

/// A kernel that runs a program over all rows and the width of its nodes: its source, and the places in the order of
/// its arguments (rows, then address and stride of each place).
struct ProgramKernel {
  std::string source;
  std::vector<ElementCode::Variable> places;
  Index width = 0;
};
ProgramKernel program_kernel(const Plan& plan, const Program& program, const std::string& name);

}  // namespace unfold
