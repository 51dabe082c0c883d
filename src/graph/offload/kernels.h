#pragma once
/// The fixed kernels, which every plan uses, written in the kernel language of graph/device/kernel_prelude.h. Internal
/// to offload/.

#include <string>
#include <vector>

namespace unfold {

/// Kernels in the order of their names in the source, with their arguments.
enum class FixedKernel : unsigned char {
  start_rows,    ///< y, ld, rows, cols, bias (0: zero)
  look_up,       ///< w, cols, symbols, y, ld, rows, mode (0: add, 1: set), bias (0: none)
  gather_rows,   ///< to, ld, from (0: none), ld, predecessors, rows, cols, initial (0: none)
  scatter_rows,  ///< to, ld, from, ld, predecessors, rows, cols: adds; predecessors are distinct
  /// to, ld, from, ld, targets, begin, sources, number of targets, cols: adds in the order of the lists
  scatter_lists,
  fill_mask,     ///< mask, ld, rows, cols, keys, settings (on, seed), stream, threshold, kept
  sum_parts,     ///< partial, cols, d, ld, begin, rows (0: identity), parts
  join_parts,    ///< g, cols, partial, begin, count, mode (0: add, 1: set)
  square_rows,   ///< to, ld, from, ld, rows, cols
  to_halves,     ///< to, from, ld, rows, cols: packed bfloat16; cols, ld and addresses are multiples of 4 elements
  softmax_rows,  ///< signal, ld, targets, rows, cols, scale, nats, adjoint (0: none), ld
  adam_step,     ///< parameters, gradient, mean, square, count, then the members of AdamStep (kernels.cpp)
  square_parts,  ///< partial (double, one per thread), x, count
  join_squares,  ///< total (double), partial, count: one block, with one double of shared memory per thread
};
const std::vector<std::string>& fixed_kernel_names();
std::string fixed_kernels();  ///< follows number_prelude() in the source

}  // namespace unfold
