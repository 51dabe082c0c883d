#pragma once
/// The parameters of a circuit as tensors of a model file, one per parameter, by its name.

#include "unfold/circuit/parameters.h"
#include "unfold/data/safetensors.h"

namespace unfold {

/// Throws ModelError unless every parameter of the circuit is there, in its shape and type, and nothing else is but
/// `others`. To be called before any memory is taken, so that a card of enormous sizes does no harm.
template <class T>
void check_tensors(const Circuit& circuit, const SafetensorsFile& file, const std::vector<std::string>& others = {});
/// Throws ModelError for a value that is not finite. REQUIRES check_tensors.
template <class T>
void read_tensors(const SafetensorsFile& file, Parameters<T>& parameters);
/// What they refer to must live until they are written.
template <class T>
void add_tensors(SafetensorsWriter& writer, const Parameters<T>& parameters);

}  // namespace unfold
