#pragma once
/// Models fitted to small texts, for tests.

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "unfold/model/registry/registry.h"

namespace unfold::test {

/// Fits a model to a text over the alphabet of its characters.
inline std::unique_ptr<FittedModel> fitted(std::string_view spec, const std::string& text) {
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  auto model = make_fitted_model(spec, corpus.alphabet());
  Team team(1);
  model->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
  return model;
}

}  // namespace unfold::test
