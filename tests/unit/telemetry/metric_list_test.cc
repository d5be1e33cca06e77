#include "aggregator_server/telemetry/metric_list.h"

#include <gtest/gtest.h>

namespace blink {
namespace {

TEST(MetricList, WritesTheFormatOfPrometheus) {
  MetricList list;
  list.AddGauge("a", "What a is.", 1.5);
  list.AddCounter("b_total", "Bs.", {{{{"kind", "x"}}, 3}, {{{"kind", "y"}}, 1'800'000'000}});
  EXPECT_EQ(list.ToText(),
            "# HELP a What a is.\n# TYPE a gauge\na 1.5\n"
            "# HELP b_total Bs.\n# TYPE b_total counter\nb_total{kind=\"x\"} 3\nb_total{kind=\"y\"} 1800000000\n");
}

TEST(MetricList, AddsUpTheRangesOfAHistogram) {
  Tally tally({1, 10});
  for (const double value : {0.5, 1.0, 2.0, 99.0}) tally.Add(value);
  MetricList list;
  list.AddHistogram("h", "Hs.", tally.Read());
  EXPECT_EQ(list.ToText(),
            "# HELP h Hs.\n# TYPE h histogram\nh_count 4\nh_sum 102.5\n"
            "h_bucket{le=\"1\"} 2\nh_bucket{le=\"10\"} 3\nh_bucket{le=\"+Inf\"} 4\n");
}

TEST(MetricList, LeavesOutFamiliesWithoutSamples) {
  MetricList list;
  list.AddGauge("a", "As.", std::vector<MetricList::Sample>());
  EXPECT_EQ(list.ToText(), "");
}

TEST(MetricList, EscapesLabels) {
  MetricList list;
  list.AddGauge("a", "As.", {{{{"text", "a \"b\"\n\\c"}}, 0}});
  EXPECT_EQ(list.ToText(), "# HELP a As.\n# TYPE a gauge\na{text=\"a \\\"b\\\"\\n\\\\c\"} 0\n");
}

}  // namespace
}  // namespace blink
