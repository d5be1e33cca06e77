// A sealed round's folder. What is accepted holds reports that re-encode to the bytes of the file.
//
// Input: kind (u8), then
//   kind 0   round.json, a zero byte, reports.blr, both as they are
//   kind 1   degree share and, in its lowest bit, the mechanism (u8), then reports: node (u8), presence (u8), degree
//            (i64), coded bits (u16 length); the right digests and the right end of the file are added
//   kind 2   position (u16), value (u8), then as kind 1, with that byte of reports.blr changed
#include <google/protobuf/util/json_util.h>

#include "aggregator_server/reports/report_file.h"
#include "common/wire/round.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

constexpr uint32_t kNodes = 130;
constexpr uint32_t kNodesMax = 2000;  // n * n bits are held

template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

PrivacyParameters Parameters(uint8_t share) {
  const Mechanism mechanism = share % 2 == 0 ? Mechanism::kBothEnds : Mechanism::kOneEnd;
  return PrivacyParameters::Create(2'000'000, share >= 254 ? 1'000'000 : share * 3000u, kNodes, mechanism).value();
}

std::string Framed(fuzzing::Input input, const PrivacyParameters& parameters, uint32_t& count) {
  std::string file = "BLINKR01";
  count = 0;
  while (!input.empty()) {
    CodedReport report;
    const auto node = input.Get<uint8_t>();
    const bool present = input.Get<uint8_t>() & 1;
    const auto degree = input.Get<int64_t>();
    const absl::string_view coded = input.TakePiece();
    Put<uint64_t>(file, node);
    Put<uint8_t>(file, present);
    Put<int64_t>(file, present ? degree : 0);
    Put<uint32_t>(file, coded.size());
    file.append(coded.data(), coded.size());
    file += DigestToBytes(ReportDigest(parameters, present ? std::optional(degree) : std::nullopt, coded));
    ++count;
  }
  Put<uint64_t>(file, ~uint64_t{0});
  Put<uint64_t>(file, count);
  return file + DigestToBytes(Sha256Of(file));
}

void CheckFolder(const fuzzing::Folder& folder) {
  const absl::StatusOr<RoundFolder> read = ReadRoundFolder(folder.path());
  if (!read.ok()) return;
  const ReportSet& set = read->reports;
  FUZZ_CHECK(read->ones.size() == set.report_count());
  uint32_t reported = 0;
  for (NodeIndex node = 0; node < set.node_count(); ++node) {
    reported += set.reported(node);
    if (!set.reported(node)) continue;
    FUZZ_CHECK(set.noisy_degree(node).has_value() == set.parameters().sends_degree());
    if (set.parameters().sends_bits()) FUZZ_CHECK((set.row(node)[node / 64] >> node % 64 & 1) == 0);
  }
  FUZZ_CHECK(reported == set.report_count());
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  fuzzing::Input input(data, size);
  const auto kind = input.Get<uint8_t>() % 3;
  if (kind == 0) {
    const std::string json(input.TakeUntil('\0'));
    v1::Round round;
    if (google::protobuf::util::JsonStringToMessage(json, &round).ok() && round.parameters().node_count() > kNodesMax)
      return 0;
    folder.Write("round.json", json);
    folder.Write("reports.blr", input.rest());
  } else {
    const auto position = kind == 2 ? input.Get<uint16_t>() : 0;
    const auto value = kind == 2 ? input.Get<uint8_t>() : 0;
    const PrivacyParameters parameters = Parameters(input.Get<uint8_t>());
    v1::Round round;
    round.set_round_id(std::string(32, 'a'));
    *round.mutable_parameters() = ParametersToProto(parameters);
    uint32_t count = 0;
    std::string json, file = Framed(input, parameters, count);
    round.set_reports(count);
    FUZZ_CHECK(google::protobuf::util::MessageToJsonString(round, &json).ok());
    folder.Write("round.json", json);
    const bool changed = kind == 2 && file[position % file.size()] != static_cast<char>(value);
    if (changed) file[position % file.size()] = static_cast<char>(value);
    folder.Write("reports.blr", file);
    if (changed) FUZZ_CHECK(!ReadRoundFolder(folder.path()).ok());
  }
  CheckFolder(folder);
  return 0;
}
