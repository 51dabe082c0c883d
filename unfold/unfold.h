#pragma once
/// Everything that programs usually need, in one line:
///
///   #include <unfold/unfold.h>
///
/// Circuits and cells, networks and their training, models of every kind, text and data with fields, scores, samples,
/// compression. Where compile times matter, include what is used: each header stands alone.

#include "unfold/base/error.h"
#include "unfold/base/team.h"
#include "unfold/capabilities/symbol_model.h"
#include "unfold/cells/cells.h"
#include "unfold/cells/register.h"
#include "unfold/cells/registry.h"
#include "unfold/circuit/circuit.h"
#include "unfold/circuit/parameters.h"
#include "unfold/coding/compress.h"
#include "unfold/data/alphabet.h"
#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/engine/stepper.h"
#include "unfold/engine/structure.h"
#include "unfold/engine/unfolding.h"
#include "unfold/losses/loss.h"
#include "unfold/losses/network.h"
#include "unfold/losses/registry.h"
#include "unfold/models/beam.h"
#include "unfold/models/language_model.h"
#include "unfold/models/network_model.h"
#include "unfold/models/registry.h"
#include "unfold/models/sampling.h"
#include "unfold/models/train.h"
#include "unfold/optim/optimizer.h"
#include "unfold/tasks/tasks.h"
#include "unfold/training/trainer.h"
#include "unfold/verify/derivative_check.h"
