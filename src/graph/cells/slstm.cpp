#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Represents m_0 = -infinity: links start at 0, so they carry m plus this constant. The factors of the gates depend
/// only on differences of m, so its rounding errors cancel, and h does not depend on m at all.
constexpr double kInitialLogOffset = 8192;

/// Returns the larger of x and y; x if both are equal.
Signal larger(Signal x, Signal y) { return x + relu(y - x); }

/// Returns the logarithm of the value of a gate.
Signal log_of(Signal z, bool exponential) { return exponential ? z : -1 * softplus(-1 * z); }

}  // namespace

/// z = tanh(..), log i = .., log f = log sigmoid(..) or .., o = sigmoid(..) of x_t W + h_{t-1} U + b
/// m_t = max(log f + m_{t-1}, log i)          i' = exp(log i - m_t), f' = exp(log f + m_{t-1} - m_t)
/// c_t = f' * c_{t-1} + i' * z                n_t = f' * n_{t-1} + i'
/// h_t = o * c_t / n_t                        m_0 = -infinity, c_0 = n_0 = 0                     Beck et al. 2024
Signal slstm(Circuit& c, Signal x, Index n, const SlstmOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto cell = c.link(n), norm = c.link(n), most = c.link(n);
  auto a = c.affine("z", 4 * n, {{"W", x, Init::glorot(4)}, {"U", h, Init::orthogonal(4)}},
                    Init::block_values({0, options.forget_bias, 0, 0}));
  auto [i, f, o, z] = c.split<4>(a);
  auto log_f = log_of(f, options.exponential_forget);
  auto next_most = larger(i + kInitialLogOffset, log_f + most);
  auto let_in = exp(i - (next_most + -kInitialLogOffset)), keep = exp(log_f + (most - next_most));
  auto next_cell = keep * cell + let_in * tanh(z), next_norm = keep * norm + let_in;
  auto y = sigmoid(o) * (next_cell * exp(-1 * log(next_norm)));
  c.feed(most, next_most);
  c.feed(cell, next_cell);
  c.feed(norm, next_norm);
  c.feed(h, y);
  return y;
}

template <class Visitor>
void describe(Visitor& v, SlstmOptions& o) {
  v("forget", o.exponential_forget, "type of the forget gate", {{false, "sigmoid"}, {true, "exponential"}});
  v("forget-bias", o.forget_bias, "initial bias of the forget gate", range(-100, 100));
}

CellEntry slstm_cell() {
  return CellOf<SlstmOptions>{
      .name = "slstm", .help = "LSTM with exponential gates and a normalizer state (xLSTM)", .add = slstm};
}

}  // namespace unfold
