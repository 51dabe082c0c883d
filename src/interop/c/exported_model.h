#pragma once
/// The parts shared by all exports of networks with fields to C: text, inputs, head and outputs. Internal to interop/.

#include "interop/c/export_c.h"
#include "interop/c/export_c_functions.h"
#include "interop/c/export_c_outputs.h"
#include "interop/steps/step_fields.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

template <class T>
struct ExportedModel {
  /// Keeps a reference to `of`. Throws UsageError if the network has several heads.
  ExportedModel(const NetworkModel<T>& of, const ExportCRequest& request)
      : model(of),
        text(request.name, sizeof(T) == sizeof(double)),
        read(reads_of(of)),
        head(exported_head(of.network(), "export --to c")),
        field(of.data().field(head.field)),
        outputs(field, given_by(head.loss->name())) {}

  const NetworkModel<T>& model;
  CText text;
  FieldReads read;
  const Head<T>& head;
  const FieldSpecification& field;
  COutputs outputs;
};

}  // namespace unfold
