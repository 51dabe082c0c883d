#pragma once
/// Writes the step of export_c_step.h. Internal to interop/.

#include <fmt/format.h>

#include <functional>
#include <span>

#include "interop/c/export_c_step.h"
#include "interop/steps/value_locations.h"
#include "unfold/base/views.h"

namespace unfold {

/// Memory layout of the sums of an affine map with several gates: tiles of `width` units, each with the same units of
/// all gates, one gate after another. The last tile has the remaining units, padded to multiples of 16.
struct CTiling {
  Index units, gates, width;
  bool local = false;                            ///< the sums are a local variable of the tile's block, not part of the
                                                 ///< state
  Index whole() const { return units / width; }  ///< number of whole tiles
  Index rest() const { return units % width; }
  Index columns() const { return gates * width; }  ///< number of columns of a whole tile
  Index size() const;
  /// For each column of a tile in [0, whole()], the component of the map; -1: padding.
  std::vector<Index> components(Index tile) const;
};
/// The tile that is being written.
struct CTile {
  std::string number, first;  ///< C expressions: the index of the tile and of its first unit
  Index count, width;
  std::string next = {};  ///< a C expression: the index of the tile visited next; empty: no prefetch
};

/// C expressions that load and store the vector at component i, or the remaining numbers that do not fill a vector.
struct CVectors {
  std::string part = {};  ///< number of remaining numbers; empty: a whole vector
  std::string load(const std::string& from) const {
    return part.empty() ? fmt::format("@@_LOAD({} + i)", from) : fmt::format("@load_part({} + i, {})", from, part);
  }
  std::string store(const std::string& to, const std::string& x) const {
    return part.empty() ? fmt::format("@@_STORE({} + i, {})", to, x)
                        : fmt::format("@store_part({} + i, {}, {})", to, x, part);
  }
};

template <class T>
class CStepWriter {
 public:
  CStepWriter(const Plan& plan, const Parameters<T>& parameters, int output, const CText& text,
              const StepInputs& inputs)
      : plan_(plan),
        parameters_(parameters),
        text_(text),
        inputs_(inputs),
        places_(plan, output, !inputs.numbers.empty()) {}
  CStep write(int output);

 private:
  // export_c_step.cpp
  std::string pointer(int node) const;
  bool last_is_of_output(int output) const;
  std::size_t step_from(std::size_t k);
  void declare_values();
  void begin_histories();
  void push_histories();
  void take_inputs();
  void affine(const Item& item);
  void pointwise(const Item& item, const CTile* tile = nullptr);
  void by_vectors(Index size, const std::function<std::string(const CVectors&)>& body);
  std::string map_text(const Node& node, const std::string& x, const std::string& y);

  // export_c_tiles.cpp
  struct TiledMap;
  void find_tiles(int output);
  void note_readers(std::map<int, Index>& units, std::set<int>& refused) const;
  bool is_local(int node) const;
  bool reads(const Item& program, int base) const;
  bool is_lookup(const Node::AffineTerm& term) const {
    return term.dense() && node(term.source).kind() == Node::Kind::symbols;
  }
  const CTiling* tiling_of(const Item& item) const;
  std::size_t tiles_from(std::size_t k);
  TiledMap tiled_map(const Item& item);
  void tile(std::span<const TiledMap> maps, const Item* item, const CTile& tile);
  std::string tiled_columns(const Matrix<const T>& w, const CTiling& tiling);
  std::string pointer(int node, const CTile& tile) const;
  Index state_size_of(int node) const;

  // export_c_terms.cpp
  std::string symbol_of(int node) const;
  std::string looked_up(const Node& n, const Node::AffineTerm* term);
  void product(const Matrix<const T>& w, const std::string& x, const std::string& from, const std::string& to);
  std::string columns(const Matrix<const T>& w);
  void columns_calls(Index rows, Index cols, const std::string& w, const std::string& x, const std::string& from,
                     const std::string& to);
  void apply_operator(const Node::AffineTerm& term, const std::string& to, const Node& n);
  void apply_sparse(const Node::AffineTerm& term, const std::string& to);
  void apply_unitary(const Node::AffineTerm& term, const std::string& to);
  std::vector<T> response_to(const Node::AffineTerm& term, Index ones) const;

  // arrays and statements
  std::string array(const std::string& name, std::span<const T> numbers);
  std::string places(const std::string& name, std::span<const std::int32_t> numbers);
  std::string room(Index size);
  std::string fresh(const char* kind) { return fmt::format("{}{}", kind, ++names_); }
  template <class... Parts>
  void say(fmt::format_string<Parts...> format, Parts&&... parts) {
    out_.statements += indent_ + text_(fmt::format(format, std::forward<Parts>(parts)...)) + "\n";
  }
  void call(const std::string& function) { out_.functions.insert(function); }
  const Node& node(int i) const { return plan_.nodes()[at(i)]; }

  const Plan& plan_;
  const Parameters<T>& parameters_;
  const CText& text_;
  const StepInputs& inputs_;
  CStep out_ = {};
  ValueLocations places_;
  std::vector<const Item*> items_ = {};
  std::map<int, CTiling> tilings_ = {};  // tilings of affine nodes, by node
  bool turns_ = false;                   // every other step visits the tiles in reverse order
  std::string indent_ = "  ";
  int names_ = 0;
};

inline Index padded_to_lanes(Index n) { return (n + 15) / 16 * 16; }

}  // namespace unfold
