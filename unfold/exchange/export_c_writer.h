#pragma once
/// Writes the step of export_c_step.h piece by piece. Internal to exchange/.

#include <fmt/format.h>

#include <span>

#include "unfold/base/views.h"
#include "unfold/exchange/export_c_step.h"
#include "unfold/exchange/step_places.h"

namespace unfold {

template <class T>
class CStepWriter {
 public:
  CStepWriter(const Plan& plan, const Parameters<T>& parameters, int output, const CText& text,
              std::span<const int> inputs)
      : plan_(plan), parameters_(parameters), text_(text), inputs_(inputs), places_(plan, output, !inputs.empty()) {}
  CStep write(int output);

 private:
  // export_c_step.cpp
  std::string pointer(int node) const;
  void declare_values();
  void begin_histories();
  void push_histories();
  void take_inputs();
  void affine(const Item& item);
  void pointwise(const Item& item);
  std::string map_text(const Node& node, const std::string& x, const std::string& y);

  // export_c_terms.cpp
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
    out_.statements += "  " + text_(fmt::format(format, std::forward<Parts>(parts)...)) + "\n";
  }
  void call(const std::string& function) { out_.functions.insert(function); }
  const Node& node(int i) const { return plan_.nodes()[at(i)]; }

  const Plan& plan_;
  const Parameters<T>& parameters_;
  const CText& text_;
  std::span<const int> inputs_;
  CStep out_ = {};
  StepPlaces places_;
  int names_ = 0;
};

inline Index padded_to_lanes(Index n) { return (n + 15) / 16 * 16; }

}  // namespace unfold
