#pragma once
/// A trained SegmentNetwork as a model file.
///
///     SegmentModel(network, {"north", "south"}).save("load.safetensors");
///     const SegmentModel model(ModelFile::open("load.safetensors"));
///     model.network().shape().horizon
///
/// In the card, "segments" contains the sizes of the network and "series" the names of the series that have an
/// embedding.

#include <memory>
#include <string>
#include <vector>

#include "model/forecast/segments/segment_network.h"
#include "unfold/model/model.h"

namespace unfold::forecasting {

class SegmentModel final : public Model {
 public:
  static constexpr const char* kKind = "segment-forecaster";

  /// `names` are the names of the series with an embedding, as many as the network has embeddings.
  SegmentModel(std::shared_ptr<const SegmentNetwork<float>> network, std::vector<std::string> names);
  /// Throws ModelError.
  explicit SegmentModel(const ModelFile& file);

  std::string spec_text() const override;
  std::string kind() const override { return kKind; }
  const SegmentNetwork<float>& network() const { return *network_; }
  std::shared_ptr<const SegmentNetwork<float>> shared_network() const { return network_; }
  /// Returns the index of the embedding of a series; -1 if it has no embedding.
  Index embedding(const std::string& name) const;

 private:
  void add_tensors(SafetensorsWriter& writer) const override;
  void add_to_card(nlohmann::json& card) const override;

  std::shared_ptr<const SegmentNetwork<float>> network_;
  std::vector<std::string> names_;
};

/// Returns the canonical description of a network, such as "segments:24,window=168,horizon=48,units=64".
std::string describe(const SegmentShape& shape);

}  // namespace unfold::forecasting
