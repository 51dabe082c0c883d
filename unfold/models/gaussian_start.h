#pragma once
/// A start from Gaussians for `F=hybrid:K` of one label a sequence, over a network that reads vectors of numbers:
/// before anything is learnt, states say what those of plain hidden Markov models say, one fitted to the sequences of
/// each label. Training together then makes them tell labels apart, which likelihood never asked them to.

#include "unfold/base/team.h"
#include "unfold/data/example_set.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// Where the SPEC says gaussians=S above 0, replaces parameters that were drawn at random. Each label gets a hidden
/// Markov model of K states in a row (markov/vector_hmm.h), fitted from an even cut of its sequences; the output at a
/// state becomes S log N(x_t; m, C), which is a sum over x, and over all products of two numbers of it; steps become
/// those of the fit, and the layers begin by saying nothing. Throws UsageError for other heads and other fields.
template <class T>
void start_from_gaussians(NetworkModel<T>& model, const ExampleSet& training, Team& team);

}  // namespace unfold
