#include "tools/privatise/privatise.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/graph/npy_array.h"
#include "common/privacy/privatizer.h"

namespace blink {

absl::StatusOr<PrivatisedGraph> Privatise(const CsrGraph& graph, const PrivacyParameters& parameters,
                                          RandomSource& random) {
  const uint32_t n = graph.node_count();
  PrivatisedGraph noisy{.parameters = parameters, .row_bytes = (n + 7) / 8};
  if (parameters.sends_bits()) noisy.bits.reserve(uint64_t{n} * noisy.row_bytes);
  for (NodeIndex i = 0; i < n; ++i) {
    BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters, i, random));
    BLINK_ASSIGN_OR_RETURN(const PrivateReport report,
                           ApplyNoise(parameters, i, std::move(noise), graph.NeighboursOf(i)));
    if (parameters.sends_bits()) {
      for (uint32_t b = 0; b < noisy.row_bytes; ++b) {
        noisy.bits.push_back(static_cast<uint8_t>(report.bits.words()[b / 8] >> (8 * (b % 8))));
      }
    }
    if (report.noisy_degree) noisy.degrees.push_back(*report.noisy_degree);
  }
  return noisy;
}

std::vector<std::pair<std::string, std::string>> ArraysOf(const PrivatisedGraph& graph) {
  const PrivacyParameters& p = graph.parameters;
  const uint64_t n = p.node_count();
  std::vector<std::pair<std::string, std::string>> arrays;
  if (p.sends_bits()) {
    arrays.emplace_back("bits", NpyBytes("|u1", {n, graph.row_bytes}, graph.bits.data(), graph.bits.size()));
  }
  if (!graph.degrees.empty()) {
    arrays.emplace_back("degrees", NpyBytes("<i8", {n}, graph.degrees.data(), n * sizeof(int64_t)));
  }
  const std::pair<const char*, double> numbers[] = {{"epsilon", FromMillionths(p.epsilon_micro())},
                                                    {"epsilon_per_link", FromMillionths(2 * p.epsilon_micro())},
                                                    {"degree_share", FromMillionths(p.degree_share_ppm())},
                                                    {"epsilon_list", p.epsilon_list()},
                                                    {"epsilon_degree", p.epsilon_degree()},
                                                    {"flip_probability", p.sends_bits() ? p.flip_probability() : 0.5}};
  for (const auto& [name, number] : numbers) {
    arrays.emplace_back(name, NpyBytes("<f8", {}, &number, sizeof(number)));
  }
  return arrays;
}

}  // namespace blink
