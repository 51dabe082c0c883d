#include "unfold/c.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "app/evaluate/reading.h"
#include "model/finite.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/registry/registry.h"

struct unfold_model {
  std::shared_ptr<const unfold::SymbolModel> model;
  std::string spec;
};

struct unfold_stream {
  std::shared_ptr<const unfold::SymbolModel> model;  // must outlive its predictor
  std::unique_ptr<unfold::Predictor> predictor;
  /// Lock shared by a stream and its clones, whose predictors may use common memory; null without clones. The thread
  /// that clones a stream also sets the lock of the original.
  mutable std::shared_ptr<std::mutex> turns = nullptr;

  std::unique_lock<std::mutex> turn() const {
    return turns ? std::unique_lock<std::mutex>(*turns) : std::unique_lock<std::mutex>();
  }
};

namespace {

using unfold::at;
using unfold::Index;
using unfold::Symbol;
using unfold::UsageError;

std::string& last_message() {
  thread_local std::string message;
  return message;
}

/// Runs `action` and converts exceptions to a status and a message.
template <class Action>
int guarded(Action action) {
  try {
    action();
    return UNFOLD_OK;
  } catch (const unfold::Error& error) {
    last_message() = error.what();
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    last_message() = "out of memory";
  } catch (const std::exception& error) {
    last_message() = error.what();
  } catch (...) {
    last_message() = "an unknown error";
  }
  return UNFOLD_FAILURE;
}

void need(const void* pointer, const char* what) {
  if (pointer == nullptr) throw UsageError(std::string(what) + " is NULL");
}

/// No object is larger; a larger size results from the conversion of a negative number.
constexpr std::size_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();

void need_size(std::size_t size, const char* what) {
  if (size > kMostBytes) throw UsageError(std::string("the size of ") + what + " is out of range");
}

std::string_view view(const char* text, std::size_t size, const char* what = "text") {
  if (size > 0) need(text, what);
  need_size(size, what);
  return {text, size};
}

/// Initializes a result that the caller frees: it is null until the object exists, so nothing can be freed twice after
/// a failure.
template <class Object>
void need_result(Object** result, const char* what) {
  need(result, what);
  *result = nullptr;
}

unfold_model* holding(std::unique_ptr<unfold::SymbolModel> model) {
  std::string spec = model->spec_text();
  return new unfold_model{std::move(model), std::move(spec)};
}

void check_symbol(const unfold::SymbolModel& model, int symbol) {
  if (symbol < 0 || symbol >= model.alphabet().size())
    throw UsageError("symbol " + std::to_string(symbol) + " is not in an alphabet of " +
                     std::to_string(model.alphabet().size()));
}

/// Reads a text in the same way as `unfold score` reads a file with this content.
unfold::Corpus read_text(const unfold::SymbolModel& model, std::string_view text) {
  std::vector<unfold::Input> inputs = {unfold::Input::from_bytes("the text", std::string(text))};
  return load_for(model, std::move(inputs), unfold::UnknownPolicy::error);
}

/// Stores the surprisals in nats, in order.
unfold::Evaluation score_text(const unfold::SymbolModel& model, const unfold::Corpus& corpus, float* nats,
                              std::size_t room) {
  if (nats != nullptr && room < at(corpus.symbols()))
    throw UsageError("the buffer has " + std::to_string(room) + " numbers, but the text has " +
                     std::to_string(corpus.symbols()) + " symbols");
  if (nats != nullptr) std::fill_n(nats, at(corpus.symbols()), std::numeric_limits<float>::quiet_NaN());
  unfold::SurprisalCheck check;
  const unfold::Evaluation result =
      unfold::evaluate(model, corpus, unfold::whole_corpus(corpus, "all"), {}, 1, [&](Index place, float surprisal) {
        check.see(place, surprisal);
        if (nats != nullptr) nats[place] = surprisal;
      });
  check.require(model, "the model", false);
  return result;
}

unfold::SamplingOptions options_of(const unfold_sampling& given, const unfold::SymbolModel& model) {
  if (given.length > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    throw UsageError("length is out of range");
  unfold::SamplingOptions options{.length = static_cast<Index>(given.length),
                                  .temperature = given.temperature,
                                  .top_k = given.top_k,
                                  .top_p = given.top_p,
                                  .min_p = given.min_p,
                                  .seed = given.seed};
  validate(options);
  options.prime = model.alphabet().encode(view(given.prime, given.prime_size, "prime"));
  return options;
}

}  // namespace

extern "C" {

const char* unfold_version(void) { return UNFOLD_VERSION; }
const char* unfold_message(void) { return last_message().c_str(); }

int unfold_load(const char* path, unfold_model** model) {
  return guarded([&] {
    need_result(model, "model"), need(path, "path");
    *model = holding(unfold::load_model(path));
  });
}

int unfold_load_bytes(const void* bytes, size_t size, unfold_model** model) {
  return guarded([&] {
    need_result(model, "model"), need(bytes, "bytes"), need_size(size, "bytes");
    *model = holding(unfold::symbol_model_from_bytes(std::string(static_cast<const char*>(bytes), size), "the model"));
  });
}

void unfold_free(unfold_model* model) { delete model; }

const char* unfold_spec(const unfold_model* model) { return model == nullptr ? nullptr : model->spec.c_str(); }
int unfold_symbols(const unfold_model* model) {
  return model == nullptr ? 0 : static_cast<int>(model->model->alphabet().size());
}

const char* unfold_text(const unfold_model* model, int symbol, size_t* size) {
  if (size != nullptr) *size = 0;
  if (symbol < 0 || symbol >= unfold_symbols(model)) return nullptr;
  const std::string_view text = model->model->alphabet().text(symbol);
  if (size != nullptr) *size = text.size();
  return text.data();
}

int unfold_find(const unfold_model* model, const char* text, size_t size) {
  if (model == nullptr || text == nullptr || size > kMostBytes) return UNFOLD_NO_SYMBOL;
  return model->model->alphabet().find({text, size});
}

int unfold_encode(const unfold_model* model, const char* text, size_t size, int32_t* symbols, size_t room,
                  size_t* count) {
  return guarded([&] {
    need(count, "count");
    *count = 0;
    need(model, "model");
    if (room > 0) need(symbols, "symbols");
    const std::vector<Symbol> encoded = model->model->alphabet().encode(view(text, size));
    *count = encoded.size();
    for (std::size_t i = 0; i < encoded.size() && i < room; ++i) symbols[i] = encoded[i];
  });
}

int unfold_open(const unfold_model* model, unfold_stream** stream) {
  return guarded([&] {
    need_result(stream, "stream"), need(model, "model");
    *stream = new unfold_stream{model->model, model->model->predictor()};
  });
}

int unfold_clone(const unfold_stream* stream, unfold_stream** clone) {
  return guarded([&] {
    need_result(clone, "clone"), need(stream, "stream");
    if (!stream->turns) stream->turns = std::make_shared<std::mutex>();
    const auto turn = stream->turn();
    *clone = new unfold_stream{stream->model, stream->predictor->clone(), stream->turns};
  });
}

void unfold_close(unfold_stream* stream) { delete stream; }

int unfold_push(unfold_stream* stream, int symbol) {
  return guarded([&] {
    need(stream, "stream");
    check_symbol(*stream->model, symbol);
    const auto turn = stream->turn();
    stream->predictor->observe(symbol);
  });
}

const float* unfold_log_probabilities(unfold_stream* stream) {
  const float* result = nullptr;
  guarded([&] {
    need(stream, "stream");
    const auto turn = stream->turn();
    result = stream->predictor->log_probabilities().data();
  });
  return result;
}

int unfold_reset(unfold_stream* stream) {
  return guarded([&] {
    need(stream, "stream");
    const auto turn = stream->turn();
    stream->predictor->reset();
  });
}

int unfold_score(const unfold_model* model, const char* text, size_t size, double* nats, size_t* predicted) {
  return guarded([&] {
    if (nats != nullptr) *nats = 0;
    if (predicted != nullptr) *predicted = 0;
    need(model, "model");
    const unfold::Evaluation result = score_text(*model->model, read_text(*model->model, view(text, size)), nullptr, 0);
    if (nats != nullptr) *nats = result.nats;
    if (predicted != nullptr) *predicted = at(result.predicted);
  });
}

int unfold_score_symbols(const unfold_model* model, const char* text, size_t size, float* nats, size_t room,
                         size_t* count) {
  return guarded([&] {
    need(count, "count");
    *count = 0;
    need(model, "model");
    if (room > 0) need(nats, "nats");
    const unfold::Corpus corpus = read_text(*model->model, view(text, size));
    *count = at(corpus.symbols());
    if (room > 0) score_text(*model->model, corpus, nats, room);
  });
}

unfold_sampling unfold_default_sampling(void) {
  const unfold::SamplingOptions o;
  return {.length = at(o.length),
          .temperature = o.temperature,
          .top_k = static_cast<int>(o.top_k),
          .top_p = o.top_p,
          .min_p = o.min_p,
          .prime = nullptr,
          .prime_size = 0,
          .seed = o.seed};
}

int unfold_sample(const unfold_model* model, const unfold_sampling* options, char** text, size_t* size) {
  return guarded([&] {
    need_result(text, "text");
    if (size != nullptr) *size = 0;
    need(model, "model");
    const unfold::SymbolModel& symbols = *model->model;
    const unfold::SamplingOptions chosen =
        options_of(options != nullptr ? *options : unfold_default_sampling(), symbols);
    const auto predictor = unfold::finite_predictor(symbols, "the model");
    const std::vector<Symbol> drawn = unfold::sample(*predictor, symbols.alphabet(), chosen);
    const std::string written =
        symbols.alphabet().decode(drawn, chosen.prime.empty() ? unfold::kNoSymbol : chosen.prime.back());
    auto* copy = static_cast<char*>(std::malloc(written.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, written.c_str(), written.size() + 1);
    *text = copy;
    if (size != nullptr) *size = written.size();
  });
}

void unfold_free_text(char* text) { std::free(text); }

}  // extern "C"
