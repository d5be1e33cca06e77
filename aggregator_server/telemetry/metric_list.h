// Metrics in the order in which they are shown.
//
//   MetricList list;
//   list.AddGauge("blink_rounds", "Rounds by state.", {{{{"state", "open"}}, 2}, {{{"state", "ready"}}, 7}});
//   list.ToText();
//   # HELP blink_rounds Rounds by state.
//   # TYPE blink_rounds gauge
//   blink_rounds{state="open"} 2
//   ...
#ifndef BLINK_AGGREGATOR_SERVER_TELEMETRY_METRIC_LIST_H_
#define BLINK_AGGREGATOR_SERVER_TELEMETRY_METRIC_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "common/base/tally.h"
#include "prometheus/metric_family.h"

namespace blink {

class MetricList {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  struct Sample {
    Labels labels;
    double value = 0;
  };

  // A family without samples is left out.
  void AddGauge(const std::string& name, const std::string& help, const std::vector<Sample>& samples);
  void AddGauge(const std::string& name, const std::string& help, double value);
  void AddCounter(const std::string& name, const std::string& help, const std::vector<Sample>& samples);
  void AddCounter(const std::string& name, const std::string& help, double value);
  void AddHistogram(const std::string& name, const std::string& help, const Tally::Counts& counts);
  void AddHistogram(const std::string& name, const std::string& help,
                    const std::vector<std::pair<Labels, Tally::Counts>>& samples);

  const std::vector<prometheus::MetricFamily>& families() const { return families_; }
  std::string ToText() const;  // Prometheus's text format 0.0.4

 private:
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TELEMETRY_METRIC_LIST_H_
