#include "app/logs/log_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace unfold {

std::string prometheus_text(const LogAlarms& alarms) {
  std::string text;
  const auto begin = [&](const char* name, const char* type, const char* help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  };
  begin("unfold_log_lines_total", "counter", "Lines that were scored.");
  text += fmt::format("unfold_log_lines_total {}\n", alarms.lines());
  begin("unfold_log_anomalous_lines_total", "counter", "Lines whose p-value is at most the share of false alarms.");
  text += fmt::format("unfold_log_anomalous_lines_total {}\n", alarms.anomalous());
  begin("unfold_log_alarms_total", "counter", "New alarms, without their repetitions.");
  for (std::size_t kind = 0; kind < kLogAlarmKinds.size(); ++kind) {
    std::string name = kLogAlarmKinds[kind];
    std::ranges::replace(name, ' ', '_');
    text += fmt::format("unfold_log_alarms_total{{kind=\"{}\"}} {}\n", name,
                        alarms.alarms(static_cast<LogAlarmKind>(kind)));
  }
  begin("unfold_log_threshold", "gauge", "The current p-value threshold; lines below it are anomalous.");
  text += fmt::format("unfold_log_threshold {:.6g}\n", alarms.threshold());
  return text;
}

}  // namespace unfold
