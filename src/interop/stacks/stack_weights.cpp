#include "interop/stacks/stack_weights.h"

#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

/// Computes W x + b for the rows of one gate.
Vector gate_sum(const StackMatrix& w, const Vector& b, const Vector& x, Index gate, Index n) {
  Vector y(place(n));
  for (Index i = 0; i < n; ++i) {
    double sum = b[place(gate * n + i)];
    for (Index j = 0; j < w.cols; ++j) sum += w(gate * n + i, j) * x[place(j)];
    y[place(i)] = sum;
  }
  return y;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// One time step of a layer; updates h and c in place.
class StackStep {
 public:
  StackStep(StackCell cell, const StackLayer& layer, Index units)
      : cell_(cell), layer_(layer), n_(units), h_(place(units)), c_(place(units)) {}

  const Vector& step(const Vector& x) {
    if (cell_ == StackCell::lstm)
      step_lstm(x);
    else if (cell_ == StackCell::gru || cell_ == StackCell::gru_before)
      step_gru(x);
    else
      step_rnn(x);
    return h_;
  }

 private:
  Vector from_input(const Vector& x, Index gate) const {
    return gate_sum(layer_.input, layer_.input_bias, x, gate, n_);
  }
  Vector from_state(const Vector& h, Index gate) const {
    return gate_sum(layer_.recurrent, layer_.recurrent_bias, h, gate, n_);
  }

  void step_rnn(const Vector& x) {
    const Vector w = from_input(x, 0), u = from_state(h_, 0);
    for (std::size_t i = 0; i < h_.size(); ++i) {
      const double sum = w[i] + u[i];
      h_[i] = cell_ == StackCell::rnn_tanh ? std::tanh(sum) : sum < 0 ? 0 : sum;  // propagates NaN
    }
  }

  void step_lstm(const Vector& x) {
    Rows w, u;
    for (Index gate = 0; gate < 4; ++gate) w.push_back(from_input(x, gate)), u.push_back(from_state(h_, gate));
    for (std::size_t k = 0; k < h_.size(); ++k) {
      const double i = logistic(w[0][k] + u[0][k]), f = logistic(w[1][k] + u[1][k]), g = std::tanh(w[2][k] + u[2][k]),
                   o = logistic(w[3][k] + u[3][k]);
      c_[k] = f * c_[k] + i * g;
      h_[k] = o * std::tanh(c_[k]);
    }
  }

  void step_gru(const Vector& x) {
    const Vector wr = from_input(x, 0), wz = from_input(x, 1), wn = from_input(x, 2), ur = from_state(h_, 0),
                 uz = from_state(h_, 1);
    Vector r(h_.size());
    for (std::size_t k = 0; k < r.size(); ++k) r[k] = logistic(wr[k] + ur[k]);
    Vector inner;
    if (cell_ == StackCell::gru) {
      inner = from_state(h_, 2);
      for (std::size_t k = 0; k < r.size(); ++k) inner[k] *= r[k];
    } else {
      Vector reset(h_);
      for (std::size_t k = 0; k < r.size(); ++k) reset[k] *= r[k];
      inner = from_state(reset, 2);
    }
    for (std::size_t k = 0; k < r.size(); ++k) {
      const double z = logistic(wz[k] + uz[k]), candidate = std::tanh(wn[k] + inner[k]);
      h_[k] = (1 - z) * candidate + z * h_[k];
    }
  }

  StackCell cell_;
  const StackLayer& layer_;
  Index n_;
  Vector h_, c_;
};

Rows run_layer(const StackWeights& stack, const StackLayer& layer, const Rows& x, bool backward) {
  StackStep step(stack.cell, layer, stack.units);
  Rows y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t t = backward ? x.size() - 1 - i : i;
    y[t] = step.step(x[t]);
  }
  return y;
}

}  // namespace

Index gates_of(StackCell cell) {
  switch (cell) {
    case StackCell::lstm: return 4;
    case StackCell::gru:
    case StackCell::gru_before: return 3;
    default: return 1;
  }
}

const char* to_string(StackCell cell) {
  switch (cell) {
    case StackCell::rnn_tanh: return "RNN";
    case StackCell::rnn_relu: return "RNN with nonlinearity=relu";
    case StackCell::lstm: return "LSTM";
    case StackCell::gru: return "GRU";
    case StackCell::gru_before: return "GRU with reset_after=False";
  }
  return "";
}

std::vector<double> StackWeights::vector_of(Symbol symbol) const {
  Vector x(place(inputs()));
  if (symbol == kNoSymbol) return x;
  if (embedding.rows == 0)
    x[place(symbol)] = 1;
  else
    for (Index j = 0; j < embedding.cols; ++j) x[place(j)] = embedding(symbol, j);
  return x;
}

std::vector<std::vector<double>> reference(const StackWeights& stack, const std::vector<std::vector<double>>& x) {
  Rows below = x;
  for (Index l = 0; l < stack.depth(); ++l) {
    Rows y = run_layer(stack, stack.layers[place(l * stack.directions())], below, false);
    if (stack.both_directions) {
      const Rows backward = run_layer(stack, stack.layers[place(2 * l + 1)], below, true);
      for (std::size_t t = 0; t < y.size(); ++t) y[t].insert(y[t].end(), backward[t].begin(), backward[t].end());
    }
    below = std::move(y);
  }
  Rows outputs;
  outputs.reserve(below.size());
  for (const Vector& h : below) outputs.push_back(gate_sum(stack.output, stack.output_bias, h, 0, stack.output.rows));
  return outputs;
}

void fold_symbol(StackWeights& stack, Symbol symbol) {
  StackLayer& first = stack.layers.front();
  const Vector x = stack.vector_of(symbol);
  const Vector moved = gate_sum(first.input, first.input_bias, x, 0, first.input.rows);
  if (stack.embedding.rows > 0) {
    for (Index r = 0; r < stack.embedding.rows; ++r)
      for (Index j = 0; j < stack.embedding.cols; ++j) stack.embedding(r, j) -= x[place(j)];
  } else {
    const StackMatrix before = first.input;
    for (Index i = 0; i < before.rows; ++i)
      for (Index j = 0; j < before.cols; ++j) first.input(i, j) = before(i, j) - before(i, symbol);
  }
  first.input_bias = moved;
}

StackScale StackScale::inverse() const {
  StackScale result = *this;
  for (std::size_t i = 0; i < shift.size(); ++i) {
    result.shift[i] = -shift[i] * scale[i];
    result.scale[i] = 1 / scale[i];
  }
  return result;
}

double StackScale::operator()(double x, Index i) const {
  return shift.empty() ? x : (x - shift[place(i)]) * scale[place(i)];
}

void rescale(StackWeights& stack, const StackScale& read, const StackScale& given) {
  for (Index d = 0; d < stack.directions(); ++d) {
    StackLayer& first = stack.layers[place(d)];
    for (Index i = 0; i < first.input.rows && !read.shift.empty(); ++i)
      for (Index j = 0; j < first.input.cols; ++j) {
        first.input(i, j) *= read.scale[place(j)];
        first.input_bias[place(i)] -= first.input(i, j) * read.shift[place(j)];
      }
  }
  const StackScale back = given.inverse();
  for (Index i = 0; i < stack.output.rows && !given.shift.empty(); ++i) {
    stack.output_bias[place(i)] = back(stack.output_bias[place(i)], i);
    for (Index j = 0; j < stack.output.cols; ++j) stack.output(i, j) *= back.scale[place(i)];
  }
}

}  // namespace unfold
