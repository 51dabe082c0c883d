#pragma once
/// A copy of a network with additional outputs: the output of each layer and every gate in it. It uses the parameters
/// of the model, which must outlive it.
///
///   const Watched<float> watched(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters());
///   Unfolding<float> u(watched.network().plan, team);
///   u.set_parameters(watched.parameters());  ...  u.forward();
///   u.value(watched.hidden().back());                          // [positions x units]

#include <string>
#include <vector>

#include "unfold/model/network/network_body.h"

namespace unfold {

/// A signal between 0 and 1 that multiplies other signals: the output of a sigmoid inside a layer.
struct Gate {
  std::string name;  ///< "layer1 forget"; for cells without established gate names "layer1 sigmoid9"
  Signal signal;
};

template <class T>
class Watched {
 public:
  Watched(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
          const Parameters<T>& parameters);
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  const Network<T>& network() const { return network_; }
  const Parameters<T>& parameters() const { return parameters_; }
  const Circuit& circuit() const { return circuit_; }
  /// Returns the outputs of the layers, from the input upwards.
  const std::vector<Signal>& hidden() const { return network_.hidden; }
  const std::vector<Gate>& gates() const { return gates_; }
  /// Returns the affine maps that read the inputs. The gradient with respect to their outputs is the gradient with
  /// respect to the contribution of a position.
  const std::vector<Signal>& readers() const { return readers_; }
  /// Returns whether no layer reads other positions, as in a bag of words. The readers are then outputs.
  bool is_memoryless() const;

 private:
  void find_gates(const ModelSpec& spec);
  void find_readers();

  const Parameters<T>& parameters_;
  Circuit circuit_;
  Network<T> network_;
  std::vector<Gate> gates_;
  std::vector<Signal> readers_;
};

/// A recurrent weight matrix: a square block that maps a layer's previous output to its next one.
struct RecurrentBlock {
  std::string name;  ///< "layer1 forget", or "layer1" if there is only one block
  int parameter;     ///< index in the circuit
  Index column = 0, size = 0;
};
/// Returns the square blocks of weights on links along `previous`, in the order of the circuit. Empty for networks
/// whose recurrence has no matrix.
std::vector<RecurrentBlock> recurrent_blocks(const Circuit& circuit, const ModelSpec& spec);

/// Returns the spectral radius of a square block, computed from the growth of a vector over 1,500 multiplications. The
/// error is up to a few thousandths if several eigenvalues have the largest modulus. Returns 0 if the powers vanish.
template <class T>
double spectral_radius(Matrix<const T> block);

}  // namespace unfold
