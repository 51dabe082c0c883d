#pragma once
/// Includes all headers that programs usually need:
///
///   #include <unfold/unfold.h>
///
/// Circuits and cells, networks and their training, models of every kind, text and data with fields, scores, samples,
/// compression. To reduce compile times, include only the headers that you use; each header is self-contained.

#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/compression/compress.h"
#include "unfold/data/tasks/tasks.h"
#include "unfold/data/text/alphabet.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/register_cell.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/graph/structure/structure.h"
#include "unfold/loss/loss.h"
#include "unfold/loss/network.h"
#include "unfold/loss/registry.h"
#include "unfold/model/decoding/completion.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/network/train.h"
#include "unfold/model/registry/registry.h"
#include "unfold/model/streams.h"
#include "unfold/model/symbol_model.h"
#include "unfold/optim/optimizer.h"
#include "unfold/optim/register_optimizer.h"
#include "unfold/train/trainer.h"
