#include "model/network/online_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "loss/symbol_probabilities.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"
#include "unfold/optim/optimizer.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

/// Copies the state of an optimizer to another optimizer of the same kind.
struct Memory final : StateVisitor<float> {
  void operator()(std::string_view, std::span<float> values) override {
    if (writing)
      std::copy_n(vectors.begin() + static_cast<std::ptrdiff_t>(vector_at), values.size(), values.begin());
    else
      vectors.insert(vectors.end(), values.begin(), values.end());
    vector_at += values.size();
  }
  void operator()(std::string_view, double& value) override {
    if (writing)
      value = numbers[number_at];
    else
      numbers.push_back(value);
    ++number_at;
  }
  bool writing = false;
  std::vector<float> vectors;
  std::vector<double> numbers;
  std::size_t vector_at = 0, number_at = 0;
};

using Weights = std::shared_ptr<const std::vector<float>>;

Weights weights_to_recall(const LanguageModel<float>& model, const OnlineOptions& options) {
  if (options.recall < 0 || options.recall > 1)
    throw UsageError(fmt::format("online learning: recall {} must be from 0 to 1", options.recall));
  const std::span<const float> all = model.parameters().flat();
  return std::make_shared<const std::vector<float>>(options.recall > 0 ? all.begin() : all.end(), all.end());
}

}  // namespace

struct OnlinePredictor::Body final : Objective<float> {
  Body(const LanguageModel<float>& from, const Parameters<float>& start, Weights recalled, const OnlineOptions& o)
      : options(o),
        trained(std::move(recalled)),
        model(from.spec(), from.alphabet()),
        values(model.parameters()),
        next(model.network().heads.front().loss->need<SymbolProbabilities<float>>("online learning")),
        step(model.plan(), crew),
        pass(model.network(), crew),
        optimizer(make_optimizer<float>(o.optimizer, static_cast<Index>(values.flat().size()))),
        now(*model.plan(), 1),
        before(*model.plan(), 1),
        log_probabilities(static_cast<std::size_t>(model.alphabet().size())) {
    if (o.window < 1) throw UsageError(fmt::format("online learning: window {} must be at least 1 symbol", o.window));
    std::copy(start.flat().begin(), start.flat().end(), values.flat().begin());
    step.lay(Structure::chains(1, 1));
    use_parameters();
    batch.carry.slots = {0};
    batch.carry.slots_needed = 1;
    now.reset_all();
    before.reset_all();
    optimizer->attach(*this);
  }

  Parameters<float>& parameters() override { return values; }
  Team& team() override { return crew; }
  const Network<float>& network() const override { return model.network(); }
  double gradient(std::span<float> gradient) override {
    copy_state(before, scratch);
    return pass.gradient(batch, scratch, 1 / static_cast<double>(options.window), gradient) /
           static_cast<double>(options.window);
  }
  double loss() override {
    copy_state(before, scratch);
    return pass.forward(batch, scratch) / static_cast<double>(options.window);
  }

  void use_parameters() {
    step.set_parameters(values);
    pass.set_parameters(values);
  }

  /// Runs the network on the pending symbol.
  void advance() {
    step.symbols(model.symbols())[0] = pending;
    step.forward(&now);
    const Signal signal = model.logits();
    next.log_probabilities({step.value(signal).row(0), static_cast<std::size_t>(signal.size())}, values.flat(),
                           log_probabilities);
    current = true;
  }

  void observe(Symbol symbol) {
    if (!current) advance();
    current = false;
    if (learning) {
      batch.symbol_field(kPreviousSymbol).symbols.push_back(pending);
      batch.symbol_field(kSymbol).symbols.push_back(symbol);
    }
    pending = symbol;
    if (batch.symbol_field(kSymbol).rows() == options.window) learn();
  }

  void learn() {
    lay();
    // A step with a gradient that is not finite is skipped; the predictor continues with what it has learned so far.
    optimizer->step(*this, {steps, 0}, 1);
    ++steps;
    if (!trained->empty()) interpolate<float>(1 - static_cast<float>(options.recall), *trained, values.flat());
    use_parameters();
    begin_window();
  }

  /// Windows have the same length, except at the ends of sequences.
  void lay() {
    const Index rows = batch.symbol_field(kSymbol).rows();
    if (rows == batch.symbols) return;
    batch.structure = Structure::chains(1, rows);
    batch.predicted = batch.symbols = rows;
  }

  void begin_window() {
    batch.symbol_field(kPreviousSymbol).symbols.clear();
    batch.symbol_field(kSymbol).symbols.clear();
    copy_state(now, before);
  }

  OnlineOptions options;
  Weights trained;  // the weights toward which recall decays, shared by clones; empty without recall
  LanguageModel<float> model;
  Parameters<float>& values;
  const SymbolProbabilities<float>& next;
  Team crew{1};
  Unfolding<float> step;
  BatchPass<float> pass;
  std::unique_ptr<Optimizer<float>> optimizer;
  // State after all symbols except the pending symbol; state at the start of the window.
  State<float> now, before, scratch;
  Batch batch;
  Index steps = 0;
  Symbol pending = kNoSymbol;
  bool current = false, learning = true;
  std::vector<float> log_probabilities;
};

OnlinePredictor::OnlinePredictor(const LanguageModel<float>& model, const OnlineOptions& options)
    : body_(std::make_unique<Body>(model, model.parameters(), weights_to_recall(model, options), options)) {}
OnlinePredictor::OnlinePredictor(std::unique_ptr<Body> body) : body_(std::move(body)) {}
OnlinePredictor::~OnlinePredictor() = default;

Index OnlinePredictor::alphabet() const { return body_->model.alphabet().size(); }

std::span<const float> OnlinePredictor::log_probabilities() {
  if (!body_->current) body_->advance();
  return body_->log_probabilities;
}

void OnlinePredictor::update(Symbol symbol) { body_->observe(symbol); }

void OnlinePredictor::set_learning(bool on) {
  body_->learning = on;
  body_->begin_window();
}

void OnlinePredictor::reset() {
  if (body_->options.ends && !body_->batch.symbol_field(kSymbol).symbols.empty()) body_->learn();
  body_->now.reset_all();
  body_->pending = kNoSymbol;
  body_->current = false;
  body_->begin_window();
}

std::unique_ptr<Predictor> OnlinePredictor::clone() const {
  auto copy = std::make_unique<Body>(body_->model, body_->values, body_->trained, body_->options);
  Memory memory;
  body_->optimizer->visit_state(memory);
  memory.writing = true;
  memory.vector_at = memory.number_at = 0;
  copy->optimizer->visit_state(memory);
  copy_state(body_->now, copy->now);
  copy_state(body_->before, copy->before);
  copy->batch = body_->batch;
  copy->steps = body_->steps;
  copy->pending = body_->pending;
  copy->current = body_->current;
  copy->learning = body_->learning;
  copy->log_probabilities = body_->log_probabilities;
  return std::unique_ptr<Predictor>(new OnlinePredictor(std::move(copy)));
}

}  // namespace unfold
