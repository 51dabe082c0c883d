#include "unfold/app/sample.h"

#include "unfold/app/figures.h"
#include "unfold/app/run_folder.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

Symbol last_of(const std::vector<Symbol>& prime) { return prime.empty() ? kNoSymbol : prime.back(); }

}  // namespace

void sample(const SampleRequest& request, const std::function<void(const SampledText&)>& use) {
  SamplingOptions sampling = request.sampling;
  validate(sampling);
  const std::unique_ptr<SymbolModel> model = load_model(request.model);
  const Alphabet& alphabet = model->alphabet();
  if (!request.prime.empty()) sampling.prime = alphabet.encode(request.prime);
  const std::unique_ptr<Predictor> fresh = model->predictor();  // of adaptive models, no sample shall know another
  for (sampling.number = 0; sampling.number < request.count; ++sampling.number) {
    const std::vector<Symbol> drawn = sample(*fresh->clone(), alphabet, sampling);
    use({alphabet.decode(drawn, last_of(sampling.prime)), static_cast<Index>(drawn.size())});
  }
}

std::vector<SampledText> sample(const SampleRequest& request) {
  std::vector<SampledText> result;
  sample(request, [&](const SampledText& text) { result.push_back(text); });
  return result;
}

double CompletedText::bits() const { return unfold::bits(-completion.log_probability); }

double CompletedText::probability() const {
  double probability = completion.log_probability;
  vector_exp(&probability, &probability, 1);
  return probability;
}

std::vector<CompletedText> complete(const CompleteRequest& request) {
  BeamOptions beam = request.beam;
  validate(beam);
  const std::unique_ptr<SymbolModel> model = load_model(request.model);
  const Alphabet& alphabet = model->alphabet();
  if (!request.prime.empty()) beam.prime = alphabet.encode(request.prime);
  std::vector<CompletedText> result;
  for (Completion& completion : complete(*model->predictor(), alphabet, beam)) {
    CompletedText text{.completion = {}, .text = alphabet.decode(completion.symbols, last_of(beam.prime)), .names = {}};
    for (const Symbol symbol : completion.symbols) text.names.push_back(alphabet.name(symbol));
    text.completion = std::move(completion);
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace unfold
