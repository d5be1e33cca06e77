// kit.json, policy.json and lists.csv. Accepted lists are exactly those of the file, ascending, in range and without
// self-links.
//
// Input: kit.json, a zero byte, policy.json, a zero byte, lists.csv. Where kit.json is refused, the lists are read with
// a kit of nodes 2 to 9 of 40.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/limits.h"
#include "common/base/name.h"
#include "common/base/text_file.h"
#include "node_client/kit.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

constexpr uint32_t kHostedMax = 4096;  // larger kits only cost time

std::string Csv(const AdjacencyLists& lists) {
  std::string text = "node,neighbour\n";
  for (uint32_t i = 0; i < lists.node_count(); ++i) {
    for (const NodeIndex neighbour : lists.Of(lists.first + i))
      absl::StrAppend(&text, lists.first + i, ",", neighbour, "\n");
  }
  return text;
}

// Without what editors of other systems add: a byte order mark, and carriage returns at the ends of lines.
std::string PlainLines(absl::string_view text) {
  return absl::StrReplaceAll(WithoutByteOrderMark(text), {{"\r\n", "\n"}});
}

void CheckConfig(const KitConfig& config) {
  FUZZ_CHECK(config.first_node <= config.last_node && config.last_node < config.node_count);
  FUZZ_CHECK(config.node_count >= kNodesMin && config.node_count <= kNodesMax);
  FUZZ_CHECK(IsName(config.deployment));
}

void CheckPolicy(const std::string& json) {
  const auto policy = ParsePolicy(json, "policy.json");
  if (!policy.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(policy.status()));
    return;
  }
  FUZZ_CHECK(policy->epsilon_micro_per_round_max <= kEpsilonMicroMax);
  FUZZ_CHECK(policy->epsilon_micro_lifetime_max <= kEpsilonMicroLifetimeMax);
  FUZZ_CHECK(policy->epoch_seconds_min >= 0 && policy->send_spread_seconds >= 0);
  FUZZ_CHECK(policy->node_count_min >= kNodesMin && !policy->deployments.empty());
  for (const std::string& deployment : policy->deployments) FUZZ_CHECK(CheckDeployment(*policy, deployment).ok());
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  fuzzing::Input input(data, size);
  const std::string json(input.TakeUntil('\0'));
  KitConfig config;
  if (const auto parsed = ParseKitConfig(json, "kit.json"); parsed.ok()) {
    config = *parsed;
    CheckConfig(config);
    if (config.hosted() > kHostedMax) return 0;
  } else {
    FUZZ_CHECK(absl::IsInvalidArgument(parsed.status()));
    config.first_node = 2, config.last_node = 9, config.node_count = 40;
  }
  CheckPolicy(std::string(input.TakeUntil('\0')));
  config.folder = folder.path();
  folder.Write("lists.csv", input.rest());
  const absl::StatusOr<AdjacencyLists> lists = LoadLists(config);
  if (!lists.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(lists.status()));
    return 0;
  }
  FUZZ_CHECK(lists->node_count() == config.hosted());
  FUZZ_CHECK(Csv(*lists) == PlainLines(input.rest()));
  for (NodeIndex node = config.first_node; node <= config.last_node; ++node) {
    const auto list = lists->Of(node);
    for (size_t k = 0; k < list.size(); ++k) {
      FUZZ_CHECK(list[k] < config.node_count && list[k] != node && (k == 0 || list[k - 1] < list[k]));
    }
  }
  return 0;
}
