#include "app/bench/distributed_trace.h"
#include "base/formats/trusted_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace unfold {
namespace {

using Lane = Timeline::Lane;
using TraceJson = nlohmann::ordered_json;

std::vector<Timeline::Entry> steps_of(const Timeline& timeline) {
  std::vector<Timeline::Entry> steps;
  for (const Timeline::Entry& e : timeline.entries())
    if (e.lane == Lane::step) steps.push_back(e);
  return steps;
}

TraceJson named(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

const char* category_of(Lane lane) {
  switch (lane) {
    case Lane::step: return "step";
    case Lane::computing: return "computing";
    case Lane::beside: return "exchange beside";
    case Lane::alone: return "exchange alone";
  }
  return "";
}

}  // namespace

double waited_in_step(const Timeline& timeline) {
  constexpr std::size_t kFirst = 2;
  const std::vector<Timeline::Entry> steps = steps_of(timeline);
  if (steps.empty()) return 0;
  const std::size_t skipped = std::min(kFirst, steps.size() - 1);
  double waited = 0;
  for (const Timeline::Entry& e : timeline.entries())
    if (e.lane == Lane::alone && e.begin >= steps[skipped].begin && e.end <= steps.back().end)
      waited += e.end - e.begin;
  return waited / static_cast<double>(steps.size() - skipped);
}

std::string to_trace(Processes& processes, const Timeline& timeline, int steps) {
  const std::vector<Timeline::Entry> all = steps_of(timeline);
  const auto wanted = std::min(all.size(), static_cast<std::size_t>(steps));
  const int me = processes.number();
  TraceJson events = {named("process_name", me, 0, "process " + std::to_string(me) + " on " + processes.machine()),
                      named("thread_name", me, 0, "computing"),
                      named("thread_name", me, 1, "exchange in the background")};
  for (const Timeline::Entry& e : timeline.entries())
    if (wanted > 0 && e.begin >= all[all.size() - wanted].begin && e.end <= all.back().end)
      events.push_back({{"name", e.name},
                        {"cat", category_of(e.lane)},
                        {"ph", "X"},
                        {"pid", me},
                        {"tid", e.lane == Lane::beside ? 1 : 0},
                        {"ts", e.begin * 1e6},
                        {"dur", (e.end - e.begin) * 1e6}});
  TraceJson together = TraceJson::array();
  for (const std::string& text : processes.gather(events.dump()))
    for (TraceJson& event : parse_trusted_json(text, "the steps of a process")) together.push_back(std::move(event));
  return TraceJson{{"traceEvents", together}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace unfold
