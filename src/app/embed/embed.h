#pragma once
/// Writes the states of a network for data (model/states/layer_states.h): one vector per example, or one per position.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"
#include "unfold/base/types.h"

namespace unfold {

enum class StateFormat {
  tsv,    ///< a header, then `example`, with positions `position` (both from 1), and the components s1, s2, ...
  jsonl,  ///< one object per vector: {"example", "position", "state": [..]}
  npy     ///< one array [vectors, components], in the precision of the model
};

struct EmbedRequest {
  std::string model = {};              ///< run folder or model file
  std::vector<std::string> data = {};  ///< files in the format of the training data
  bool every_position = false;
  bool by_line = false;  ///< text models: each line is a sequence, even if the model was trained on whole files
  Index layer = 0;       ///< number of the layer, from 1; 0: the last layer
  StateFormat format = StateFormat::tsv;
  Index threads = 0;             ///< 0: all available processors
  Reporter* reporter = nullptr;  ///< receives the notes of the reader
};

/// Writes the vectors in pieces, in the order of the data. Throws UsageError, DataError, ModelError.
void embed(const EmbedRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
