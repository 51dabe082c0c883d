#pragma once
/// A network that reads a window of a series in segments and predicts all segments of the horizon at once (SegRNN; Lin,
/// Lin, Wu, Zhao, Zhao and Zhu, "SegRNN: segment recurrent neural network for long-term time series forecasting",
/// 2023).
///
///     z_i = relu(s_i W + b)                     for each of the n segments s_i of the window
///     h_i = GRU(z_i, h_{i-1})
///     g_k = GRU(e_k + c + relu(b), h_n)         for each of the K segments of the horizon; e_k: embedding of its
///                                               place, c: embedding of the series
///     quantiles of segment k = dropout(g_k) V + b
///
/// All K segments read h_n, so the structure of a window is a tree: a chain of n nodes whose last node has K children.
/// A single cell is used for the window and the horizon because it reads the state of the parent.

#include <memory>
#include <vector>

#include "unfold/data/files/safetensors.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/loss/network.h"

namespace unfold::forecasting {

struct SegmentShape {
  Index segment = 24;                            ///< values of a segment
  Index window = 96;                             ///< values read; a multiple of `segment`
  Index horizon = 24;                            ///< values predicted
  Index units = 128;                             ///< number of units of the recurrent layer
  Index series = 0;                              ///< number of series with an embedding; 0: none
  double dropout = 0;                            ///< dropout rate on the output of the recurrent layer
  std::vector<double> levels = {0.1, 0.5, 0.9};  ///< levels of the quantiles; the middle quantile is the forecast

  Index read() const { return window / segment; }                        ///< n
  Index predicted() const { return (horizon + segment - 1) / segment; }  ///< K
  Index nodes() const { return read() + predicted(); }
  std::size_t median() const { return levels.size() / 2; }
  /// Returns the tree of a window. Node i < n is segment i of the window, node n + k segment k of the horizon.
  Tree tree() const;
  /// Returns the estimated number of operations for the gradient of one window.
  double gradient_operations() const;
};

// Names of the fields of a batch.
inline constexpr const char* kSegmentValues = "segment";
inline constexpr const char* kSegmentPlace = "place";
inline constexpr const char* kSegmentSeries = "series";
inline constexpr const char* kSegmentTarget = "target";

/// Adds the network to a circuit. The result has no plan.
template <class T>
Network<T> add_segment_network(Circuit& circuit, const SegmentShape& shape);

template <class T>
class SegmentNetwork {
 public:
  /// Parameters are zero until they are initialized. Throws UsageError for sizes below 1, a window that is not a
  /// multiple of the segment, and levels outside (0, 1).
  explicit SegmentNetwork(const SegmentShape& shape);
  /// Reads the parameters. Throws ModelError like check_tensors and read_tensors (model/parameter_tensors.h).
  SegmentNetwork(const SegmentShape& shape, const SafetensorsFile& file);

  const SegmentShape& shape() const { return shape_; }
  const Circuit& circuit() const { return *circuit_; }
  const Network<T>& network() const { return network_; }  ///< valid during the lifetime of this object
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }

 private:
  SegmentShape shape_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  Network<T> network_;
  Parameters<T> parameters_;
};

}  // namespace unfold::forecasting
