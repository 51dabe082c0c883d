#include "train/text_sources.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

/// Returns the average number of symbols per step.
Index symbols_of_step(const Split& training, const BatchOptions& b, Index streams) {
  if (!b.whole_sequences) return b.window * streams;
  const auto sequences = std::max<Index>(1, static_cast<Index>(training.pieces.size()));
  return training.symbols() * std::min(b.batch, sequences) / sequences;
}

}  // namespace

bool reads_whole_batches(std::string_view optimizer) {
  const std::string_view name = optimizer.substr(0, optimizer.find(':'));
  return name == "ruop" || name == "rbpm" || name == "ascent";
}

template <class T>
TrainingSources<T> text_sources(const TrainingData& data, const TrainerOptions& options) {
  BatchOptions b = options.batches;
  if (options.processes != nullptr && !reads_whole_batches(options.optimizer)) {
    const Sharding sharding{.shards = options.shards, .processes = options.processes};
    b.own = {sharding.shards, sharding.own()};
  }
  auto batches = std::make_unique<TextBatches>(data.corpus, data.training, b, options.seed);
  TrainingSources<T> sources{.training = nullptr,
                             .step_symbols = symbols_of_step(data.training, b, batches->streams())};
  sources.training = std::move(batches);
  if (data.validation != nullptr && !data.validation->empty()) {
    const Corpus& corpus = data.validation_corpus != nullptr ? *data.validation_corpus : data.corpus;
    const Split& part = *data.validation;
    require_predictions(corpus, part, b.predict_after);
    sources.validation_symbols =
        part.symbols() + (b.whole_sequences ? 0 : options.validation_streams * options.validation_warmup);
    sources.validation = [&corpus, &part, options] {
      const BatchOptions& o = options.batches;
      auto reader = std::make_unique<StreamReader>(corpus, o.whole_sequences ? 64 : o.window, o.predict_after);
      // A model trained on whole sequences relies on their full context, which segments would cut off.
      reader->start(o.whole_sequences
                        ? exact_streams(part, options.validation_streams)
                        : scoring_streams(corpus, part, options.validation_streams, options.validation_warmup));
      return reader;
    };
  }
  sources.configuration = nlohmann::json{{"training_symbols", data.training.symbols()},
                                         {"validation_symbols", sources.validation ? data.validation->symbols() : 0},
                                         {"window", b.window},
                                         {"batch", b.batch},
                                         {"whole_sequences", b.whole_sequences},
                                         {"curriculum", b.curriculum.step},
                                         {"predict_after", b.predict_after},
                                         {"validation_lanes", options.validation_streams},
                                         {"validation_warmup", options.validation_warmup}};
  if (b.curriculum.each_epoch) (*sources.configuration)["curriculum_each_epoch"] = true;
  return sources;
}

template TrainingSources<float> text_sources(const TrainingData& data, const TrainerOptions& options);
template TrainingSources<double> text_sources(const TrainingData& data, const TrainerOptions& options);

}  // namespace unfold
