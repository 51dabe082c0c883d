#include "optim/direction/postponed_rows.h"

#include "numerics/adam/skipped_adam.h"
#include "unfold/base/checks.h"

namespace unfold {

template <class T>
bool PostponedRows<T>::has_tables(const RowTables& tables) const {
  return std::equal(
      tables_.begin(), tables_.end(), tables.begin(), tables.end(),
      [](const Table& a, const RowTable& b) { return a.offset == b.offset && a.rows == b.rows && a.cols == b.cols; });
}

template <class T>
void PostponedRows<T>::set_tables(const RowTables& tables) {
  if (has_tables(tables)) return;
  tables_.clear();
  for (const RowTable& table : tables)
    tables_.push_back({table.offset, table.rows, table.cols, std::vector<std::uint8_t>(at(table.rows), 0)});
}

/// Takes the postponed steps of adjacent rows that have taken the same number of steps.
template <class T>
void PostponedRows<T>::take(const Table& table, Range rows, const Vectors& vectors) const {
  const std::size_t taken = table.taken[at(rows.begin)];
  if (taken == steps_.size()) return;
  const auto first = at(table.offset + rows.begin * table.cols), count = at(rows.size() * table.cols);
  skipped_adam_steps<T>(vectors.p.subspan(first, count), vectors.m.subspan(first, count),
                        vectors.v.subspan(first, count), std::span(steps_).subspan(taken));
}

template <class T>
void PostponedRows<T>::take_read(Team& team, const RowTables& tables, const Vectors& vectors) {
  if (!any()) return;
  team.run([&](Member& me) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const Range mine = me.share(static_cast<Index>(tables[t].read.size()));
      for (Index i = mine.begin; i < mine.end; ++i) {
        const Index row = tables[t].read[at(i)];
        take(tables_[t], {row, row + 1}, vectors);
        tables_[t].taken[at(row)] = static_cast<std::uint8_t>(steps_.size());
      }
    }
  });
}

template <class T>
void PostponedRows<T>::take_all(Team& team, const Vectors& vectors) {
  if (!any()) return;
  team.run([&](Member& me) {
    for (const Table& table : tables_) {
      const Range mine = me.share(table.rows);
      for (Index begin = mine.begin, end = begin; begin < mine.end; begin = end) {
        while (end < mine.end && table.taken[at(end)] == table.taken[at(begin)]) ++end;
        take(table, {begin, end}, vectors);
      }
    }
  });
  for (Table& table : tables_) std::fill(table.taken.begin(), table.taken.end(), std::uint8_t{0});
  steps_.clear();
}

template <class T>
void PostponedRows<T>::add(const AdamFactors<T>& step, const RowTables& tables) {
  steps_.push_back(step);
  for (std::size_t t = 0; t < tables_.size(); ++t)
    for (const Index row : tables[t].read) tables_[t].taken[at(row)] = static_cast<std::uint8_t>(steps_.size());
}

template class PostponedRows<float>;
template class PostponedRows<double>;

}  // namespace unfold
