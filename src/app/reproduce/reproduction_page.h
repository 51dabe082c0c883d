#pragma once
/// The page with the results of a reproduced table: tables, plots, appendix and commands, and its JSON file.

#include "app/plots/table.h"
#include "app/reproduce/reproduction_plan.h"

namespace unfold {

/// Returns medians and quartiles over the runs of each cell, next to the published results.
TextTable summary_table(const PlannedTable& planned);

/// Writes NAME.md, NAME.json and the plots in the folder `request.out`. `threads` is the number of threads of a run.
void write_reproduction_page(const ReproduceRequest& request, const ReproductionPlan& plan, Index threads,
                             Reporter& reporter);

}  // namespace unfold
