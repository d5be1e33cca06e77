#include "aggregator_server/telemetry/metric_list.h"

#include <limits>

#include "prometheus/text_serializer.h"

namespace blink {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric WithLabels(const MetricList::Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

ClientMetric ToHistogram(const MetricList::Labels& labels, const Tally::Counts& counts) {
  ClientMetric metric = WithLabels(labels);
  prometheus::ClientMetric::Histogram& histogram = metric.histogram;
  for (size_t i = 0; i < counts.counts.size(); ++i) {
    histogram.sample_count += counts.counts[i];
    const double bound = i < counts.bounds.size() ? counts.bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = counts.sum;
  return metric;
}

}  // namespace

void MetricList::AddGauge(const std::string& name, const std::string& help, const std::vector<Sample>& samples) {
  MetricFamily family{name, help, MetricType::Gauge, {}};
  for (const Sample& sample : samples) family.metric.emplace_back(WithLabels(sample.labels)).gauge.value = sample.value;
  if (!samples.empty()) families_.push_back(std::move(family));
}

void MetricList::AddGauge(const std::string& name, const std::string& help, double value) {
  AddGauge(name, help, std::vector<Sample>{{{}, value}});
}

void MetricList::AddCounter(const std::string& name, const std::string& help, const std::vector<Sample>& samples) {
  MetricFamily family{name, help, MetricType::Counter, {}};
  for (const Sample& sample : samples) {
    family.metric.emplace_back(WithLabels(sample.labels)).counter.value = sample.value;
  }
  if (!samples.empty()) families_.push_back(std::move(family));
}

void MetricList::AddCounter(const std::string& name, const std::string& help, double value) {
  AddCounter(name, help, std::vector<Sample>{{{}, value}});
}

void MetricList::AddHistogram(const std::string& name, const std::string& help, const Tally::Counts& counts) {
  AddHistogram(name, help, std::vector<std::pair<Labels, Tally::Counts>>{{Labels(), counts}});
}

void MetricList::AddHistogram(const std::string& name, const std::string& help,
                              const std::vector<std::pair<Labels, Tally::Counts>>& samples) {
  MetricFamily family{name, help, MetricType::Histogram, {}};
  for (const auto& [labels, counts] : samples) family.metric.push_back(ToHistogram(labels, counts));
  families_.push_back(std::move(family));
}

std::string MetricList::ToText() const { return prometheus::TextSerializer().Serialize(families_); }

}  // namespace blink
