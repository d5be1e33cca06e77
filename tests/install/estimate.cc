// Draws the reports of a ring of nodes, and estimates its links from them.
#include <cstdio>

#include "aggregator_server/estimate/beta/denoise.h"
#include "common/privacy/privatizer.h"

int main() {
  constexpr blink::NodeIndex kNodes = 200;
  const auto parameters = *blink::PrivacyParameters::Create(8'000'000, 100'000, kNodes);
  blink::ReportSet reports(parameters);
  for (blink::NodeIndex i = 0; i < kNodes; ++i) {
    auto noise = blink::DrawNoise(parameters, i, blink::SecureRandom());
    if (!noise.ok()) return 1;
    const auto report =
        blink::ApplyNoise(parameters, i, *std::move(noise), {(i + 1) % kNodes, (i + kNodes - 1) % kNodes});
    if (!report.ok() || !reports.Add(i, *report).ok()) return 1;
  }
  if (!reports.Complete().ok()) return 1;
  const auto estimate = blink::EstimateLinks(reports, {});
  if (!estimate.ok()) return 1;
  std::printf("%.1f links are expected, and %u are there\n", estimate->expected_links, kNodes);
  return 0;
}
