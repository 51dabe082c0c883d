#pragma once
/// K-fold cross-validation of models of examples.
///
///   const std::vector<Index> folds = stratified_folds(classes, {}, 5, seed);   // the fold of each example
///   const CrossValidation<float> found = cross_validate<float>("bilstm:64", training, layout, folds, {}, team);

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// Divides examples among folds at random, so that the examples of each class are spread evenly. Examples of one group
/// are in the same fold; `groups` is empty if each example is a group. The result depends only on the arguments.
/// REQUIRES folds >= 2, and as many groups as classes if there are any.
std::vector<Index> stratified_folds(std::span<const Index> classes, std::span<const Index> groups, Index folds,
                                    std::uint64_t seed);
/// Returns the classes of examples for stratified_folds: the entries of a field of symbols with one entry per example;
/// one class for all examples if the field contains numbers.
std::vector<Index> classes_of(const ExampleSet& examples, const std::string& field);

/// How a network is trained on all folds but one.
struct FoldTraining {
  std::string optimizer = "adam:rate=0.003,clip=1,schedule=cosine,warmup=100";
  double epochs = 15;
  Index batch = 16;
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;    ///< interrupts training if set
  std::function<void(double)> progress = {};  ///< called after every step with the fraction of all folds that is done
};

/// Predictions for each example by a network that was trained without the fold of the example.
template <class T>
struct CrossValidation {
  double nats = 0;  ///< negative log-likelihood per held-out entry
  /// For each head, the signals that its loss reads, one row per example.
  std::vector<Buffer<T>> outputs = {};
};

/// For each fold, trains a network on all other folds and predicts the held-out examples. REQUIRES: heads predict once
/// per example. Throws the same exceptions as Trainer, and InterruptedError.
template <class T>
CrossValidation<T> cross_validate(const std::string& model, const ExampleSet& examples, const NetworkLayout& layout,
                                  const std::vector<Index>& folds, const FoldTraining& training, Team& team);
/// Returns the number of additions and multiplications of cross_validate.
double cross_validation_operations(const std::string& model, const ExampleSet& examples, const NetworkLayout& layout,
                                   Index folds, double epochs);

}  // namespace unfold
