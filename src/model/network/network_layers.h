#pragma once
/// Everything below the heads of a network: its inputs, their embedding, and the layers. Internal to model/network.

#include <vector>

#include "model/network/feedback.h"
#include "unfold/loss/network.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// Returns whether a model reads the numbers of several fields as channels, without an embedding.
bool reads_channels(const ModelSpec& spec);

/// Throws UsageError for an input that cannot be the network's own output.
void require_feedback_possible(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout);

/// Adds everything below the heads. If some field is a source, this is an encoder-decoder network. Appends to `inputs`.
Layers add_layers(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout, Circuit& circuit,
                  FeedbackLoops& loops, std::vector<NetworkInput>& inputs);

}  // namespace unfold
