#pragma once
/// Default settings of the command: the settings with the best results on ordinary text within minutes on a small
/// machine (docs/performance.md). Those that depend on the data are chosen among them by text_defaults.h for running
/// text and by app/fields/problem_defaults.h for data with fields, which also adapts the batch size to the number of
/// examples.

#include "unfold/base/types.h"

namespace unfold {

inline constexpr const char* kDefaultModel = "gru:448,reset=after,dropout=0.15";
inline constexpr const char* kDefaultOptimizer = "adam:rate=0.006,clip=1,schedule=cosine,warmup=100";
/// For running text with a budget in minutes: this, or fewer units with a higher learning rate
/// (text_defaults.h).
inline constexpr const char* kTimedModel = "gru:448,reset=after,gated-state=true,dropout=0.15";
inline constexpr const char* kTimedOptimizer = "adamw:rate={},clip=1,decay=0.05,schedule=cosine,warmup=100";
inline constexpr double kTimedRate = 0.006;
inline constexpr Index kDefaultWindow = 64;
inline constexpr Index kDefaultBatch = 16;
inline constexpr double kDefaultEpochs = 10;  ///< budget in epochs if none is given

/// Data is small if its default epochs have fewer updates than kFewestUpdates. It is trained for that number of
/// updates, validated kSmallDataValidations times; training stops after kSmallDataPatience validations without an
/// improvement.
inline constexpr Index kFewestUpdates = 600;
inline constexpr Index kSmallDataValidations = 60, kSmallDataPatience = 20, kSmallestBatch = 4;

/// For running text that is so short that kDefaultEpochs epochs have few updates (text_defaults.h).
inline constexpr const char* kSmallTextModel = "gru:128,reset=after,dropout=0.3";
/// For a list of names or words: a smaller network reproduces fewer lines of the list when it samples.
inline constexpr const char* kSmallListModel = "gru:64,reset=after,dropout=0.3";
inline constexpr const char* kSmallTextOptimizer = "adam:rate=0.006,clip=1,schedule=cosine,warmup=100";
inline constexpr double kSmallTextEpochs = 40;

/// For data with fields, depending on what is predicted: a label for each position, a label for each sequence (of
/// symbols; of words), or the numbers of a series.
inline constexpr const char* kTaggingModel = "bilstm:256,dropout=0.6,embedding=128";
/// Labels of positions if the network reads its own outputs (--feedback always).
inline constexpr const char* kFeedbackModel = "lstm:256,dropout=0.6,embedding=128";
inline constexpr const char* kTaggingOptimizer = "adam:rate=0.002,clip=1,schedule=cosine,warmup=100";
inline constexpr double kTaggingEpochs = 16;
inline constexpr const char* kLabelModel = "bilstm:128,dropout=0.3,embedding=128";
inline constexpr const char* kLabelOptimizer = "adam:rate=0.003,clip=1,schedule=cosine,warmup=100";
inline constexpr const char* kTextLabelModel = "bag:256,start=logistic,dropout=0.5,pool=mean";
inline constexpr const char* kTextLabelOptimizer = "adamw:rate=0.002,clip=1,decay=0.5,schedule=cosine,warmup=100";
/// Shorter trainings have higher learning rates: kTextLabelTravel divided by the number of steps, between the two
/// rates.
inline constexpr const char* kShortTextLabelOptimizer = "adamw:rate={:.4g},clip=1,decay=0.5,schedule=cosine,warmup=100";
inline constexpr double kTextLabelTravel = 4.6, kTextLabelRate = 0.002, kMostTextLabelRate = 0.004;
inline constexpr Index kTextLabelBatch = 32;
inline constexpr const char* kSeriesModel = "lstm:128,embedding=32";
inline constexpr const char* kSeriesOptimizer = "adam:rate=0.003,clip=1,schedule=cosine,warmup=100";
inline constexpr double kSeriesEpochs = 200;

}  // namespace unfold
