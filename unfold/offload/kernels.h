#pragma once
/// The kernels that every plan uses, in the words of devices/kernel_words.h. Internal to offload/.

#include <string>
#include <vector>

namespace unfold {

/// In the order of their names below.
enum class FixedKernel : unsigned char {
  start_rows,     ///< y, ld, rows, cols, bias (0: zero)
  look_up,        ///< w, cols, symbols, y, ld, rows, how (0: adds, 1: sets), bias (0: none)
  gather_rows,    ///< to, ld, from (0: nothing), ld, predecessors, rows, cols, initial (0: none)
  scatter_rows,   ///< to, ld, from, ld, predecessors, rows, cols: adds; no two rows have one predecessor
  scatter_lists,  ///< to, ld, from, ld, targets, begin, sources, count of targets, cols: adds in the order of the lists
  fill_mask,      ///< mask, ld, rows, cols, keys, settings (on, seed), stream, threshold, kept
  sum_parts,      ///< partial, cols, d, ld, begin, rows (0: themselves), parts
  join_parts,     ///< g, cols, partial, begin, count, how (0: adds, 1: sets)
  square_rows,    ///< to, ld, from, ld, rows, cols
  to_halves,      ///< to, from, ld, rows, cols: bfloat16, packed; cols, ld and places are multiples of 4
  softmax_rows,   ///< signal, ld, targets, rows, cols, scale, nats, adjoint (0: none), ld
  adam_step,      ///< parameters, gradient, mean, square, count, then the numbers of AdamStep (kernels.cpp)
  square_parts,   ///< partial (double, one for each thread), x, count
  join_squares,   ///< total (double), partial, count: one block, a double of shared memory for each thread
};
const std::vector<std::string>& fixed_kernel_names();
std::string fixed_kernels();  ///< after number_words()

}  // namespace unfold
