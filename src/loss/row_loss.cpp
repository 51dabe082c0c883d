#include "unfold/loss/loss.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

constexpr Index kGrain = 8;  // minimum number of rows per thread

/// Calls use(first row, rows) for each thread's rows.
template <class Use>
void divide_rows(Team& team, Index rows, Use&& use) {
  team.run([&](Member& me) {
    const Range mine = me.share(rows, kGrain);
    if (!mine.empty()) use(mine.begin, mine.size());
  });
}

}  // namespace

template <class T>
void RowLoss<T>::negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const {
  divide_rows(team, o.signal.rows, [&](Index first, Index rows) {
    row_losses(o.signal.rows_from(first, rows), o.targets.from_row(first, rows), nats + first);
  });
}

template <class T>
void RowLoss<T>::gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint, std::span<T>) const {
  require_shape<T>(this->name(), "the adjoint", adjoint, o.signal);
  divide_rows(team, o.signal.rows, [&](Index first, Index rows) {
    row_gradients(o.signal.rows_from(first, rows), o.targets.from_row(first, rows), scale, nats + first,
                  adjoint.rows_from(first, rows));
  });
}

template <class T>
void RowCurvature<T>::curvature(const Observed<T>& o, T scale, Team& team, Matrix<const T> tangent, std::span<const T>,
                                Matrix<T> result, std::span<T>) const {
  require_shape<T>(this->name(), "the tangent", tangent, o.signal);
  require_shape<T>(this->name(), "the result", result, o.signal);
  divide_rows(team, o.signal.rows, [&](Index first, Index rows) {
    row_curvatures(o.signal.rows_from(first, rows), o.targets.from_row(first, rows), scale,
                   tangent.rows_from(first, rows), result.rows_from(first, rows));
  });
}

template <class T>
void RowCurvature<T>::curvature_sample(const Observed<T>& o, T scale, Team& team, std::uint64_t seed,
                                       std::uint64_t stream, Matrix<T> result, std::span<T>) const {
  require_shape<T>(this->name(), "the result", result, o.signal);
  divide_rows(team, o.signal.rows, [&](Index first, Index rows) {
    const Matrix<T> noise = result.rows_from(first, rows);
    fill_signs(seed, stream, first, noise);
    row_curvature_roots(o.signal.rows_from(first, rows), o.targets.from_row(first, rows), scale, noise, noise);
  });
}

template class RowLoss<float>;
template class RowLoss<double>;
template class RowCurvature<float>;
template class RowCurvature<double>;

}  // namespace unfold
