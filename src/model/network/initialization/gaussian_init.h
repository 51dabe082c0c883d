#pragma once
/// Initialization from Gaussians for `F=hybrid:K` with one label per sequence, in a network that reads vectors of
/// numbers: before training, the scores of the states come from separate hidden Markov models, one fitted to the
/// sequences of each label. Joint training then makes the scores discriminate between labels, which maximum likelihood
/// does not.

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// If the SPEC has gaussians=S above 0, replaces randomly initialized parameters. Each label gets a left-to-right
/// hidden Markov model of K states (loss/hmm/vector_hmm.h), fitted from a uniform segmentation of its sequences. The
/// output of a state becomes S log N(x_t; m, C), which is linear in x and in all products of two of its components. The
/// transitions are taken from the fit, and the initial output of the layers is zero. Throws UsageError for any other
/// kind of head or input field.
template <class T>
void initialize_from_gaussians(NetworkModel<T>& model, const ExampleSet& training, Team& team);

}  // namespace unfold
