// Privatises one list, codes the report as a node sends it, and reads it back.
#include <cstdio>

#include "common/privacy/parameters.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"

int main() {
  const auto parameters = blink::PrivacyParameters::Create(/*epsilon_micro=*/6'000'000, /*degree_share_ppm=*/100'000,
                                                           /*node_count=*/1000);
  if (!parameters.ok()) return 1;
  auto noise = blink::DrawNoise(*parameters, /*self=*/7, blink::SecureRandom());
  if (!noise.ok()) return 1;
  const auto report = blink::ApplyNoise(*parameters, 7, *std::move(noise), {1, 2, 3});
  if (!report.ok()) return 1;
  const blink::CodedReport coded = blink::EncodeReport(*parameters, *report);
  const auto decoded = blink::DecodeReport(*parameters, 7, coded);
  if (!decoded.ok() || !(decoded->bits == report->bits)) return 1;
  std::printf("%zu bytes for %u nodes, epsilon %.6f at most\n", coded.coded_bits.size(), parameters->node_count(),
              parameters->achieved_epsilon());
  return 0;
}
