#pragma once
/// Stores the parameters of a circuit in a model file: one tensor per parameter, by its name.

#include "unfold/data/files/safetensors.h"
#include "unfold/graph/circuit/parameters.h"

namespace unfold {

/// Throws ModelError unless the file contains every parameter of the circuit with its shape and type, and no other
/// tensors except `others`. Call it before allocating memory, so a card with huge sizes does no harm.
template <class T>
void check_tensors(const Circuit& circuit, const SafetensorsFile& file, const std::vector<std::string>& others = {});
/// Throws ModelError for a value that is not finite. REQUIRES check_tensors.
template <class T>
void read_tensors(const SafetensorsFile& file, Parameters<T>& parameters);
/// The parameters must stay valid until the tensors are written.
template <class T>
void add_tensors(SafetensorsWriter& writer, const Parameters<T>& parameters);

}  // namespace unfold
