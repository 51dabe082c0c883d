#pragma once
/// Includes all headers that programs usually need:
///
///   #include <unfold/unfold.h>
///
/// Circuits and cells, networks and their training, models of every kind, text and data with fields, scores, samples,
/// compression. To reduce compile times, include only the headers that you use; each header is self-contained.

#include "base/error.h"
#include "base/threads/team.h"
#include "compression/compress.h"
#include "data/tasks/tasks.h"
#include "data/text/alphabet.h"
#include "data/text/corpus.h"
#include "data/text/split.h"
#include "gradcheck/derivative_check.h"
#include "graph/cells/cells.h"
#include "graph/cells/register_cell.h"
#include "graph/cells/registry.h"
#include "graph/circuit/circuit.h"
#include "graph/circuit/parameters.h"
#include "graph/engine/stepper.h"
#include "graph/engine/unfolding.h"
#include "graph/structure/structure.h"
#include "loss/loss.h"
#include "loss/network.h"
#include "loss/registry.h"
#include "model/decoding/beam.h"
#include "model/decoding/sampling.h"
#include "model/network/language_model.h"
#include "model/network/network_model.h"
#include "model/network/train.h"
#include "model/registry/registry.h"
#include "model/symbol_model.h"
#include "optim/optimizer.h"
#include "optim/register_optimizer.h"
#include "train/trainer.h"
