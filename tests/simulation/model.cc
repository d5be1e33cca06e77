#include "tests/simulation/model.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/wire/round.h"

namespace blink::simulation {
namespace {

void AppendInteger(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

bool MayFollow(v1::RoundState before, v1::RoundState after) {
  switch (before) {
    case v1::ROUND_STATE_OPEN:
      return after == v1::ROUND_STATE_SEALED || after == v1::ROUND_STATE_FAILED || after == v1::ROUND_STATE_CANCELLED;
    case v1::ROUND_STATE_SEALED:
      return after == v1::ROUND_STATE_ESTIMATING || after == v1::ROUND_STATE_FAILED ||
             after == v1::ROUND_STATE_CANCELLED;
    case v1::ROUND_STATE_ESTIMATING:
      return after == v1::ROUND_STATE_TRAINING || after == v1::ROUND_STATE_READY || after == v1::ROUND_STATE_FAILED ||
             after == v1::ROUND_STATE_CANCELLED;
    case v1::ROUND_STATE_TRAINING:
      return after == v1::ROUND_STATE_READY || after == v1::ROUND_STATE_FAILED || after == v1::ROUND_STATE_CANCELLED;
    case v1::ROUND_STATE_FAILED:
    case v1::ROUND_STATE_CANCELLED:
      return after == v1::ROUND_STATE_SEALED;  // an operator retries it
    default:
      return false;
  }
}

bool AreEqual(const CodedReport& a, const CodedReport& b) {
  return a.digest == b.digest && a.coded_bits == b.coded_bits && a.noisy_degree == b.noisy_degree;
}

bool AreEqual(const Reports& a, const Reports& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && AreEqual(x.second, y.second); });
}

}  // namespace

std::string ReportFileOf(const Reports& reports) {
  std::string file = "BLINKR01";
  for (const auto& [node, report] : reports) {
    AppendInteger(file, node, 8);
    AppendInteger(file, report.noisy_degree.has_value(), 1);
    AppendInteger(file, static_cast<uint64_t>(report.noisy_degree.value_or(0)), 8);
    AppendInteger(file, report.coded_bits.size(), 4);
    absl::StrAppend(&file, report.coded_bits, DigestToBytes(report.digest));
  }
  AppendInteger(file, ~uint64_t{0}, 8);
  AppendInteger(file, reports.size(), 8);
  return absl::StrCat(file, DigestToBytes(Sha256Of(file)));
}

bool KnownRound::is_over() const { return IsTerminal(states.back()); }

std::string Model::AddRound(const v1::Round& round) {
  if (rounds_.count(round.round_id()) > 0) return "";
  ids_.push_back(round.round_id());
  KnownRound& known = rounds_[round.round_id()];
  known.number = round_count();
  known.node_count = round.parameters().node_count();
  known.deadline_ms = round.deadline_ms();
  known.states = {v1::ROUND_STATE_OPEN};
  return CheckStates(round);
}

KnownRound* Model::Find(const std::string& round_id) {
  const auto found = rounds_.find(round_id);
  return found == rounds_.end() ? nullptr : &found->second;
}

void Model::GoBackTo(const Model& backup) {
  const Model before = std::move(*this);
  *this = backup;
  for (auto& [id, known] : rounds_) {
    if (const auto found = before.rounds_.find(id); found != before.rounds_.end()) {
      for (const auto& [node, reports] : found->second.sent) known.sent[node].insert(reports.begin(), reports.end());
    }
  }
}

void Model::NoteSent(const std::string& round_id, NodeIndex node, const CodedReport& report) {
  if (KnownRound* const known = Find(round_id)) known->sent[node][report.digest] = report;
}

std::string Model::NoteAcknowledged(const std::string& round_id, NodeIndex node, const Digest& digest) {
  KnownRound* const known = Find(round_id);
  if (known == nullptr) return absl::StrCat("a report is acknowledged for round ", round_id, ", which nobody made");
  const auto [before, is_new] = known->acknowledged.try_emplace(node, digest);
  if (!is_new && before->second != digest) {
    return absl::StrCat("round ", known->number, ": two different reports of node ", node, " are acknowledged");
  }
  if (is_new && known->sealed.has_value() && known->sealed->count(node) == 0) {
    return absl::StrCat("round ", known->number, ": a report of node ", node, " is acknowledged after the seal");
  }
  return "";
}

std::string Model::CheckStates(const v1::Round& round) {
  KnownRound& known = *Find(round.round_id());
  std::vector<v1::RoundState> states;
  for (const v1::RoundEvent& event : round.history()) states.push_back(event.state());
  const std::string name = absl::StrCat("round ", known.number);
  if (states.empty() || states.back() != round.state() || states.front() != v1::ROUND_STATE_OPEN) {
    return absl::StrCat(name, ": its history does not lead to its state, ", RoundStateName(round.state()));
  }
  if (states.size() < known.states.size() || !std::equal(known.states.begin(), known.states.end(), states.begin())) {
    return absl::StrCat(name, ": its state went back from ", RoundStateName(known.states.back()), " to ",
                        RoundStateName(round.state()));
  }
  uint32_t retries = 0;
  for (size_t i = 1; i < states.size(); ++i) {
    retries += states[i] == v1::ROUND_STATE_SEALED && i > 1;
    if (!MayFollow(states[i - 1], states[i])) {
      return absl::StrCat(name, ": a state is skipped between ", RoundStateName(states[i - 1]), " and ",
                          RoundStateName(states[i]));
    }
  }
  if (retries > known.retries) return absl::StrCat(name, ": it is retried, and nobody asked for that");
  if (known.is_open() && states.size() > 1 && !known.may_be_sealed && round.reports() < known.node_count) {
    return absl::StrCat(name, ": it is ", RoundStateName(states[1]), " before its deadline, with ", round.reports(),
                        " of ", known.node_count, " reports, and nobody asked for that");
  }
  const bool failed_later =
      states.size() > 2 && states.back() == v1::ROUND_STATE_FAILED && known.states.size() < states.size();
  if (failed_later && !known.may_fail) {
    return absl::StrCat(name, ": it failed without a cause: ", round.failure_reason());
  }
  known.states = std::move(states);
  return "";
}

std::string Model::CheckReports(const v1::Round& round, ReportStore& store) {
  KnownRound& known = *Find(round.round_id());
  const std::string name = absl::StrCat("round ", known.number, ": ");
  Reports held;
  const absl::Status visited = store.VisitReports(round.round_id(), [&](uint64_t node, const CodedReport& report) {
    held[static_cast<NodeIndex>(node)] = report;
    return absl::OkStatus();
  });
  if (absl::IsUnavailable(visited)) return "";
  if (!visited.ok()) return absl::StrCat(name, "its reports cannot be read: ", visited.message());
  std::map<NodeIndex, Digest> digests;
  const absl::Status listed = store.VisitDigests(round.round_id(), 0, known.node_count, known.node_count,
                                                 [&](uint64_t node, const Digest& digest) {
                                                   digests[static_cast<NodeIndex>(node)] = digest;
                                                   return absl::OkStatus();
                                                 });
  if (!listed.ok()) return absl::StrCat(name, "its digests cannot be read: ", listed.message());
  for (const auto& [node, digest] : known.acknowledged) {
    const auto found = held.find(node);
    if (found == held.end()) return absl::StrCat(name, "the acknowledged report of node ", node, " is lost");
    if (found->second.digest != digest) {
      return absl::StrCat(name, "the acknowledged report of node ", node, " has become another one");
    }
  }
  for (const auto& [node, report] : held) {
    const auto sent = known.sent[node].find(report.digest);
    if (sent == known.sent[node].end() || !AreEqual(sent->second, report)) {
      return absl::StrCat(name, "the report of node ", node, " is none that it sent");
    }
    if (digests.count(node) == 0 || digests[node] != report.digest) {
      return absl::StrCat(name, "report and digest of node ", node, " do not agree");
    }
  }
  if (round.reports() != held.size() || digests.size() != held.size()) {
    return absl::StrCat(name, round.reports(), " reports are counted, ", digests.size(), " digests listed, and ",
                        held.size(), " reports held");
  }
  if (known.is_open()) return "";
  if (!known.sealed.has_value()) known.sealed = held;
  return AreEqual(*known.sealed, held) ? "" : absl::StrCat(name, "its reports have changed after the seal");
}

std::string Model::CheckResult(const v1::Round& round, const std::string& rounds_folder) {
  const KnownRound& known = *Find(round.round_id());
  if (!known.sealed.has_value() || known.sealed->empty()) return "";
  const std::string expected = ReportFileOf(*known.sealed);
  const absl::StatusOr<std::string> file =
      ReadFile(absl::StrCat(rounds_folder, "/", round.round_id(), "/reports.blr"), 1 << 20);
  const std::string name = absl::StrCat("round ", known.number, ": ");
  if (!file.ok())
    return absl::StrCat(name, "it has ended, and its reports.blr cannot be read: ", file.status().message());
  if (*file != expected) return absl::StrCat(name, "its reports.blr has other reports than it was sealed with");
  if (round.state() != v1::ROUND_STATE_READY) return "";
  const std::string digest = DigestToHex(Sha256Of(expected));
  return absl::StrContains(round.result_json(), digest) ? "" : absl::StrCat(name, "its result is of other reports");
}

}  // namespace blink::simulation
