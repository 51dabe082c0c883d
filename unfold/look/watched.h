#pragma once
/// A network of which more is to be seen: what each layer gives and every gate in it are outputs too. Its parameters
/// are those of the model, which must outlive it.
///
///   const Watched<float> watched(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters());
///   Unfolding<float> u(watched.network().plan, team);
///   u.set_parameters(watched.parameters());  ...  u.forward();
///   u.value(watched.hidden().back());                          // [positions x units]

#include <string>
#include <vector>

#include "unfold/models/network_body.h"

namespace unfold {

/// A signal between 0 and 1 that others are multiplied with: the image of a sigmoid inside a layer.
struct Gate {
  std::string name;  ///< "layer1 forget"; of cells that are not known by name "layer1 sigmoid9"
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
  const std::vector<Signal>& hidden() const { return network_.hidden; }  ///< of each layer, from below
  const std::vector<Gate>& gates() const { return gates_; }
  /// Affine maps that read what goes in: the gradient there is the one in what a position adds to the network.
  const std::vector<Signal>& readers() const { return readers_; }

 private:
  void find_gates(const ModelSpec& spec);
  void find_readers();

  const Parameters<T>& parameters_;
  Circuit circuit_;
  Network<T> network_;
  std::vector<Gate> gates_;
  std::vector<Signal> readers_;
};

/// A recurrent matrix: a square block of weights from what a layer was to what it becomes.
struct RecurrentBlock {
  std::string name;  ///< "layer1 forget", or of one block alone "layer1"
  int parameter;     ///< index in the circuit
  Index column = 0, size = 0;
};
/// The square blocks of weights on links along `previous`, in the order of the circuit. None for networks whose
/// recurrence has no matrix.
std::vector<RecurrentBlock> recurrent_blocks(const Circuit& circuit, const ModelSpec& spec);

/// The largest modulus of an eigenvalue of a square block, by the growth of a vector that it is applied to 1,500 times:
/// exact up to a few thousandths where eigenvalues share a modulus. 0 where powers vanish.
template <class T>
double spectral_radius(Matrix<const T> block);

}  // namespace unfold
