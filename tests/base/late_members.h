#pragma once
/// Simulates a busy machine for teams: all threads except the first are late.

#include <chrono>
#include <thread>

#include "unfold/base/threads/team.h"

namespace unfold::testing_support {

/// Runs a team whose threads, except the first, arrive late at a barrier, until `enough` consecutive parallel regions
/// used `members` threads. Returns false if that takes longer than half a minute.
inline bool comes_to(Team& team, int members, std::chrono::milliseconds late, int enough) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int seen = 0; std::chrono::steady_clock::now() < end;) {
    int size = 0;
    team.run([&](Member& me) {
      if (me.id() == 0) size = me.size();
      if (me.id() > 0) std::this_thread::sleep_for(late);
      me.sync();
    });
    seen = size == members ? seen + 1 : 0;
    if (seen == enough) return true;
  }
  return false;
}

}  // namespace unfold::testing_support
