#include <nanobind/nanobind.h>

#include "circuit.h"
#include "parallel_streams.h"
#include "recurrent.h"
#include "stream.h"
#include "work.h"

NB_MODULE(_core, module) {
  // PyTorch keeps the graph of a global tensor, and with it the passes of a cell, until the process ends.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = UNFOLD_VERSION;
  unfold::python::translate_errors();
  unfold::python::add_command(module);
  unfold::python::add_streams(module);
  unfold::python::add_parallel_streams(module);
  unfold::python::add_models(module);
  unfold::python::add_training(module);
  unfold::python::add_coding(module);
  unfold::python::add_recurrent(module);
  unfold::python::add_hidden_markov(module);
  unfold::python::add_forecasting(module);
  unfold::python::add_circuits(module);
  unfold::python::add_passes(module);
  unfold::python::add_optimizer(module);
}
