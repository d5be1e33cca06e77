#include "tools/audit/replay.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/cli/progress.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/own_pairs.h"
#include "common/privacy/random_bits.h"
#include "common/wire/degree_share.h"
#include "common/wire/groups_codec.h"
#include "common/wire/report_codec.h"
#include "node_client/journal.h"
#include "node_client/journal_format.h"
#include "spdlog/sinks/ostream_sink.h"

namespace blink {
namespace {

namespace fmt_ = journal_format;

constexpr const char* kRounds[] = {"00000000000000000000000000000001", "00000000000000000000000000000002"};
constexpr uint64_t kJournalBytesMax = 1 << 30;

// NOT PRIVATE: keeps what it gives out. For this audit alone.
class RecordedTape final : public RandomSource {
 public:
  absl::Status Fill(absl::Span<uint8_t> bytes) override {
    BLINK_RETURN_IF_ERROR(SecureRandom().Fill(bytes));
    requests.push_back(bytes.size());
    tape.insert(tape.end(), bytes.begin(), bytes.end());
    return absl::OkStatus();
  }
  std::vector<size_t> requests;
  std::vector<uint8_t> tape;
};

// NOT PRIVATE: gives out a recorded tape again, and zeros after its end.
class PlayedTape final : public RandomSource {
 public:
  explicit PlayedTape(const std::vector<uint8_t>& tape) : tape_(tape) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override {
    requests.push_back(bytes.size());
    for (uint8_t& byte : bytes) byte = next_ < tape_.size() ? tape_[next_++] : 0;
    return absl::OkStatus();
  }
  std::vector<size_t> requests;

 private:
  const std::vector<uint8_t>& tape_;
  size_t next_ = 0;
};

// What can be seen of a life from outside, in order.
class Transcript {
 public:
  void Add(absl::Time now, const std::string& what) {
    events_.push_back(absl::StrCat(absl::ToInt64Nanoseconds(now - absl::UnixEpoch()), " ns: ", what));
  }
  const std::vector<std::string>& events() const { return events_; }

 private:
  std::vector<std::string> events_;
};

class ReplayClock final : public Clock {
 public:
  explicit ReplayClock(Transcript& transcript) : transcript_(transcript) {}
  absl::Time Now() override { return now_; }
  absl::Duration Monotonic() override { return now_ - absl::UnixEpoch(); }
  void SleepFor(absl::Duration duration) override {
    transcript_.Add(now_, absl::StrCat("sleeps ", absl::ToInt64Nanoseconds(duration), " ns"));
    now_ += duration;
  }

 private:
  Transcript& transcript_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

// An honest aggregator in memory. It offers one round, and seals it when all reports are there.
class ReplayAggregator final : public AggregatorLink {
 public:
  // `groups`: that the round asks about, coded; empty: about none.
  ReplayAggregator(const PrivacyParameters& parameters, std::string groups, uint32_t expected, Clock& clock,
                   Transcript& transcript)
      : groups_(std::move(groups)),
        expected_(expected),
        clock_(clock),
        transcript_(transcript),
        view_{"", parameters, 1, v1::ROUND_STATE_UNSPECIFIED, absl::FromUnixSeconds(1'900'000'000), std::nullopt} {}
  void Open(const char* round_id) {
    view_.round_id = round_id;
    view_.state = v1::ROUND_STATE_OPEN;
  }
  const std::map<NodeIndex, CodedReport>& held(const std::string& round_id) { return held_[round_id]; }

  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override {
    transcript_.Add(clock_.Now(), absl::StrCat("GetRounds ", node, " ", round_id));
    std::vector<OfferedRound> answer;
    if (round_id.empty() ? view_.state == v1::ROUND_STATE_OPEN : round_id == view_.round_id) {
      RoundView view = view_;
      const auto held = held_[view.round_id].find(node);
      if (held != held_[view.round_id].end()) view.held_digest = held->second.digest;
      answer.push_back({view.round_id, view});
    }
    if (!round_id.empty() && answer.empty()) return {absl::NotFoundError("there is no such round"), std::nullopt};
    return {std::move(answer), std::nullopt};
  }
  LinkResult<std::string> GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) override {
    transcript_.Add(clock_.Now(), absl::StrCat("GetGroups ", node, " ", round_id, " ", bytes));
    return {groups_, std::nullopt};
  }
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override {
    return {Take("SubmitReport", round_id, report), std::nullopt};
  }
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next,
                                 const OnReply& on_reply) override {
    transcript_.Add(clock_.Now(), absl::StrCat("SubmitReports ", round_id));
    while (true) {
      auto report = next();
      if (!report.ok()) return {report.status(), std::nullopt};
      if (!report->has_value()) return {Done{}, std::nullopt};
      const absl::Status taken = on_reply((*report)->node, Take("in the stream", round_id, **report));
      if (!taken.ok()) return {taken, std::nullopt};
    }
  }
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override {
    transcript_.Add(clock_.Now(), absl::StrCat("ListDigests ", round_id, " ", first, "-", last));
    for (const auto& [node, report] : held_[round_id]) {
      if (first <= node && node <= last) on_digest(node, report.digest);
    }
    return {Done{}, std::nullopt};
  }

 private:
  absl::StatusOr<Receipt> Take(const char* how, const std::string& round_id, const OutgoingReport& report) {
    const PrivacyParameters& asked = report.parameters;
    transcript_.Add(clock_.Now(), absl::StrCat(how, " ", round_id, ": node ", report.node, ", ", asked.epsilon_micro(),
                                               ", ", asked.degree_share_ppm(), ", ", asked.node_count(),
                                               report.report.coded_bits.empty() ? ", no bits" : ", bits",
                                               report.report.noisy_degree.has_value() ? ", a degree" : ", no degree"));
    auto& held = held_[round_id];
    const auto [place, added] = held.emplace(report.node, report.report);
    if (!added && place->second.digest != report.report.digest)
      return absl::AlreadyExistsError("another report of the node is held");
    if (held.size() == expected_) view_.state = v1::ROUND_STATE_SEALED;
    return Receipt{round_id, report.node, report.report.digest, 30'000'000};
  }

  const std::string groups_;
  const uint32_t expected_;
  Clock& clock_;
  Transcript& transcript_;
  RoundView view_;
  std::map<std::string, std::map<NodeIndex, CodedReport>> held_;
};

// What the node's code logs, for as long as this lives.
class ReplayLog {
 public:
  ReplayLog() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("replay", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~ReplayLog() { spdlog::set_default_logger(before_); }
  ReplayLog(const ReplayLog&) = delete;
  ReplayLog& operator=(const ReplayLog&) = delete;
  std::string text() const { return text_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

struct ReplayCase {
  PrivacyParameters parameters;
  NodeIndex first = 0, last = 0;  // hosted
  std::vector<NodeRange> retired;
  NodeIndex node = 0, entry = 0;              // what differs
  std::vector<std::vector<NodeIndex>> lists;  // [hosted], without the entry
  bool first_world_has_it = false;
  NodeGroups groups;  // of Mechanism::kGroupDegrees

  bool IsRetired(NodeIndex id) const { return InRanges(retired, id); }
  // Whether the node's report is about the entry.
  bool IsReported() const { return parameters.mechanism() != Mechanism::kOneEnd || OwnsPair(node, entry); }
  // The place of the entry among the bits of the report.
  uint32_t PlaceOfEntry() const {
    return parameters.mechanism() == Mechanism::kBothEnds ? entry : OwnPairPlace(node, entry);
  }
  std::string Name() const {
    return absl::StrFormat("%s, n = %d, nodes %d-%d%s, epsilon %g, degree share %g, %d groups: entry %d of node %d",
                           MechanismName(parameters.mechanism()), parameters.node_count(), first, last,
                           retired.empty() ? "" : " (some retired)", parameters.epsilon(), parameters.degree_share(),
                           groups.count, entry, node);
  }
  std::vector<NodeIndex> ListOf(NodeIndex id, bool with_entry) const {
    std::vector<NodeIndex> list = lists[id - first];
    if (with_entry && id == node) list.insert(std::upper_bound(list.begin(), list.end(), entry), entry);
    return list;
  }
};

// What is left of a life: everything that is compared.
struct World {
  Transcript transcript;
  std::vector<size_t> requests;
  std::vector<std::string> ends;  // of the processes
  std::string log;
  std::vector<std::string> records;                     // payloads of the journal
  std::vector<std::pair<std::string, uint64_t>> files;  // names, after each process, with sizes
  std::vector<CodedReport> drawn;                       // [hosted] from the journal
  std::map<NodeIndex, CodedReport> sent[2];             // by round
};

class Replay {
 public:
  Replay(std::string folder, const NodeProcess& process) : folder_(std::move(folder)), process_(process) {}

  absl::Status Run(const ReplayCase& replayed, ReplayAudit& audit) {
    BLINK_RETURN_IF_ERROR(Prepare(replayed));
    RecordedTape recorded;
    BLINK_ASSIGN_OR_RETURN(World first, Live(replayed, replayed.first_world_has_it, recorded));
    first.requests = recorded.requests;
    PlayedTape played(recorded.tape);
    BLINK_ASSIGN_OR_RETURN(World second, Live(replayed, !replayed.first_world_has_it, played));
    second.requests = played.requests;
    World& with = replayed.first_world_has_it ? first : second;
    World& without = replayed.first_world_has_it ? second : first;
    return Compare(replayed, with, without, audit);
  }

 private:
  std::string kit() const { return folder_ + "/kit"; }
  std::string journal() const { return folder_ + "/journal"; }
  std::string new_journal() const { return folder_ + "/new-journal"; }

  JournalIdentity IdentityOf(const ReplayCase& replayed) const {
    return {"replay", replayed.first, replayed.last, replayed.parameters.node_count(), 1};
  }

  // The kit but for its lists, and a journal that both worlds begin with: its identity is random.
  absl::Status Prepare(const ReplayCase& replayed) {
    std::error_code error;
    std::filesystem::remove_all(new_journal(), error);
    BLINK_RETURN_IF_ERROR(MakeDirectories(kit()));
    BLINK_RETURN_IF_ERROR(CreateJournal(new_journal(), IdentityOf(replayed)));
    std::string retired;
    for (const NodeRange& range : replayed.retired)
      absl::StrAppend(&retired, retired.empty() ? "" : ",", "[", range.first, ",", range.last, "]");
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(
        kit() + "/kit.json",
        absl::StrCat(R"({"format":1,"deployment":"replay","nodes":{"first":)", replayed.first, R"(,"last":)",
                     replayed.last, R"(},"node_count":)", replayed.parameters.node_count(),
                     R"(,"roster_version":1,"aggregator":"127.0.0.1:7443","insecure":true,"retired":[)", retired,
                     "]}")));
    return WriteFileAtomically(kit() + "/policy.json",
                               R"({"format":1,"deployments":["replay"],"epsilon_micro_per_round_max":50000000,)"
                               R"("epsilon_micro_lifetime_max":100000000,"epoch_seconds_min":86400,"node_count_min":3,)"
                               R"("send_spread_seconds":30,"mechanisms":["both-ends","one-end","group-degrees"]})");
  }

  absl::Status WriteLists(const ReplayCase& replayed, bool with_entry) {
    std::string lists = "node,neighbour\n";
    for (NodeIndex id = replayed.first; id <= replayed.last; ++id) {
      for (const NodeIndex neighbour : replayed.ListOf(id, with_entry))
        absl::StrAppend(&lists, id, ",", neighbour, "\n");
    }
    return WriteFileAtomically(kit() + "/lists.csv", lists);
  }

  // Two processes, one after the other. The second one's kit has the other world's list.
  absl::StatusOr<World> Live(const ReplayCase& replayed, bool with_entry, RandomSource& random) {
    std::error_code error;
    std::filesystem::remove_all(journal(), error);
    std::filesystem::copy(new_journal(), journal(), error);
    if (error) return FileError(error.value(), "copy to", journal());
    World world;
    ReplayClock clock(world.transcript);
    const uint32_t hosted = replayed.last - replayed.first + 1;
    ReplayAggregator aggregator(replayed.parameters, EncodeGroups(replayed.groups),
                                hosted - static_cast<uint32_t>(CountNodes(replayed.retired)), clock, world.transcript);
    for (int round = 0; round < 2; ++round) {
      BLINK_RETURN_IF_ERROR(WriteLists(replayed, with_entry != (round == 1)));
      aggregator.Open(kRounds[round]);
      const ReplayLog log;
      const absl::StatusOr<AgentOutcome> outcome = process_({kit(), journal(), aggregator, clock, random});
      world.log += log.text();
      if (!outcome.ok()) return outcome.status();
      world.ends.push_back(absl::StrCat(static_cast<int>(outcome->code), " ", outcome->message));
      world.sent[round] = aggregator.held(kRounds[round]);
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_, error)) {
        if (entry.is_regular_file())
          world.files.emplace_back(absl::StrCat(round, " ", entry.path().string()), entry.file_size());
      }
    }
    std::sort(world.files.begin(), world.files.end());
    BLINK_RETURN_IF_ERROR(ReadRecords(world));
    BLINK_ASSIGN_OR_RETURN(const auto opened, Journal::OpenReadOnly(journal(), IdentityOf(replayed)));
    for (NodeIndex id = replayed.first; id <= replayed.last; ++id) {
      absl::StatusOr<CodedReport> report = opened->LoadReport(1, replayed.parameters, id);
      world.drawn.push_back(report.ok() ? *std::move(report) : CodedReport{});  // no draw equals no report
    }
    return world;
  }

  absl::Status ReadRecords(World& world) {
    BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(journal() + "/journal.blj", kJournalBytesMax));
    absl::string_view rest = absl::string_view(bytes).substr(std::min<size_t>(bytes.size(), fmt_::kMagicBytes));
    while (rest.size() >= fmt_::kHeaderBytes) {
      const auto length = fmt_::Fields(rest).Get<uint32_t>();
      if (rest.size() < fmt_::kHeaderBytes + length + fmt_::kChecksumBytes) break;
      world.records.emplace_back(rest.substr(fmt_::kHeaderBytes, length));
      rest.remove_prefix(fmt_::kHeaderBytes + length + fmt_::kChecksumBytes);
    }
    if (!rest.empty()) return absl::DataLossError("the replayed journal ends within a record");
    return absl::OkStatus();
  }

  void Note(ReplayClaim claim, bool holds, const std::string& what, ReplayAudit& audit) const {
    ClaimCount& count = audit.claims[claim];
    ++count.compared;
    if (holds) return;
    if (count.broken++ == 0) count.example = what;
  }

  absl::Status Compare(const ReplayCase& replayed, const World& with, const World& without, ReplayAudit& audit) const {
    const std::string name = replayed.Name();
    CompareReports(replayed, with, without, audit);
    CompareSent(replayed, with, without, audit);
    Note(kSameRandomness, with.requests == without.requests,
         absl::StrCat(name, ": ", with.requests.size(), " and ", without.requests.size(), " requests"), audit);
    Note(kSameCalls, with.transcript.events() == without.transcript.events() && with.ends == without.ends,
         absl::StrCat(name, ": ", Parting(with, without)), audit);
    Note(kSameLog, with.log == without.log, name, audit);
    Note(kSameRecords, SameRecords(replayed, with.records, without.records), name, audit);
    Note(kSameFiles, SameFiles(with, without), name, audit);
    ++audit.cases;
    return absl::OkStatus();
  }

  static std::string Parting(const World& a, const World& b) {
    if (a.ends != b.ends) return absl::StrCat("ends with ", a.ends[0], " and with ", b.ends[0]);
    const auto& of_a = a.transcript.events();
    const auto& of_b = b.transcript.events();
    for (size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) {
      if (of_a[i] != of_b[i]) return absl::StrCat(of_a[i], " | ", of_b[i]);
    }
    return absl::StrCat(of_a.size(), " and ", of_b.size(), " events");
  }

  void CompareReports(const ReplayCase& replayed, const World& with, const World& without, ReplayAudit& audit) const {
    const std::string name = replayed.Name();
    const PrivacyParameters& parameters = replayed.parameters;
    for (NodeIndex id = replayed.first; id <= replayed.last; ++id) {
      const CodedReport& a = with.drawn[id - replayed.first];
      const CodedReport& b = without.drawn[id - replayed.first];
      ++audit.reports;
      if (id != replayed.node) {
        Note(kOtherReports, a.coded_bits == b.coded_bits && a.noisy_degree == b.noisy_degree && a.digest == b.digest,
             absl::StrCat(name, ": report of node ", id), audit);
        continue;
      }
      audit.sizes_differ += a.coded_bits.size() != b.coded_bits.size();
      const absl::StatusOr<PrivateReport> of_a = DecodeReport(parameters, id, a);
      const absl::StatusOr<PrivateReport> of_b = DecodeReport(parameters, id, b);
      const bool both = of_a.ok() && of_b.ok();
      BitRow expected = both ? of_b->bits : BitRow();
      if (!expected.empty() && replayed.IsReported()) expected.Flip(replayed.PlaceOfEntry());
      std::vector<int64_t> numbers = both ? of_b->group_degrees : std::vector<int64_t>();
      if (!numbers.empty()) numbers[replayed.groups.group_of[replayed.entry]] += 1;
      Note(kEntryBit, both && of_a->bits == expected && of_a->group_degrees == numbers,
           both ? name : absl::StrCat(name, ": ", (of_a.ok() ? of_b : of_a).status().message()), audit);
      const bool same_presence = both && of_a->noisy_degree.has_value() == of_b->noisy_degree.has_value();
      const uint64_t more = replayed.IsReported() ? 1 : 0;
      const bool one_more =
          same_presence && (!of_a->noisy_degree.has_value() || static_cast<uint64_t>(*of_a->noisy_degree) ==
                                                                   static_cast<uint64_t>(*of_b->noisy_degree) + more);
      Note(kEntryDegree, one_more, name, audit);
    }
  }

  void CompareSent(const ReplayCase& replayed, const World& with, const World& without, ReplayAudit& audit) const {
    const std::string name = replayed.Name();
    for (const World* world : {&with, &without}) {
      for (NodeIndex id = replayed.first; id <= replayed.last; ++id) {
        const CodedReport& drawn = world->drawn[id - replayed.first];
        const auto is_drawn = [&](const std::map<NodeIndex, CodedReport>& sent) {
          const auto found = sent.find(id);
          if (replayed.IsRetired(id)) return found == sent.end();
          return found != sent.end() && found->second.digest == drawn.digest &&
                 found->second.coded_bits == drawn.coded_bits && found->second.noisy_degree == drawn.noisy_degree;
        };
        Note(kSentAsDrawn, is_drawn(world->sent[0]), absl::StrCat(name, ": report of node ", id), audit);
        Note(kSameAnswer, is_drawn(world->sent[1]), absl::StrCat(name, ": report of node ", id), audit);
      }
    }
  }

  // Whether the records are the same but for what must differ: the entry in the epoch's snapshot (4 bytes), the
  // node's report, and its digest in the receipts.
  static bool SameRecords(const ReplayCase& replayed, const std::vector<std::string>& with,
                          const std::vector<std::string>& without) {
    if (with.size() != without.size()) return false;
    for (size_t r = 0; r < with.size(); ++r) {
      if (with[r] == without[r]) continue;
      fmt_::Fields a(with[r]), b(without[r]);
      const auto type = a.Get<uint8_t>();
      if (b.Get<uint8_t>() != type) return false;
      switch (type) {
        case fmt_::kEpoch:
          if (with[r].size() != without[r].size() + 4) return false;
          break;
        case fmt_::kDraw: {  // epoch, node, parameters, presence of the degree
          const size_t public_bytes = 4 + 4 + 20 + (replayed.groups.count > 0 ? 36 : 0) + 1;
          const absl::string_view of_a = a.GetBytes(public_bytes), of_b = b.GetBytes(public_bytes);
          if (of_a != of_b || fmt_::Fields(of_a.substr(4)).Get<uint32_t>() != replayed.node) return false;
          break;
        }
        case fmt_::kReceipt: {
          if (a.GetText() != b.GetText() || a.Get<uint32_t>() != replayed.node || b.Get<uint32_t>() != replayed.node)
            return false;
          a.GetBytes(32);
          b.GetBytes(32);
          if (a.rest() != b.rest()) return false;
          break;
        }
        default:
          return false;
      }
    }
    return true;
  }

  // The journal's size may differ by the snapshot and by the coded bits, which SameRecords looks at.
  static bool SameFiles(const World& a, const World& b) {
    if (a.files.size() != b.files.size()) return false;
    for (size_t f = 0; f < a.files.size(); ++f) {
      const std::string& path = a.files[f].first;
      if (path != b.files[f].first) return false;
      const bool may_differ = path.ends_with("/journal/journal.blj") || path.ends_with("/kit/lists.csv");
      if (!may_differ && a.files[f].second != b.files[f].second) return false;
    }
    return true;
  }

  const std::string folder_;
  const NodeProcess& process_;
};

// Lists of all kinds, none of which has the entry.
class CaseMaker {
 public:
  NodeGroups DealGroups(uint32_t node_count, uint32_t count) {
    NodeGroups groups{.count = count};
    for (uint32_t i = 0; i < node_count; ++i) groups.group_of.push_back(static_cast<uint32_t>(bits_.NextBelow(count)));
    return groups;
  }

  ReplayCase Make(const PrivacyParameters& parameters, NodeGroups groups, int hosting) {
    const uint32_t n = parameters.node_count();
    ReplayCase made{.parameters = parameters, .groups = std::move(groups)};
    constexpr uint32_t kHostedMax = 6;
    const uint32_t hosted = hosting == 0 ? 1 : std::min(n, kHostedMax);
    made.first = static_cast<NodeIndex>(bits_.NextBelow(n - hosted + 1));
    made.last = made.first + hosted - 1;
    made.node = made.first + static_cast<NodeIndex>(bits_.NextBelow(hosted));
    if (hosting == 2) {
      const NodeIndex gone = bits_.NextBelow(2) == 0 ? made.node : made.first;
      made.retired = {{gone, gone}};
    }
    made.entry = OtherThan(made.node, n);
    for (NodeIndex id = made.first; id <= made.last; ++id) made.lists.push_back(List(id, made, n));
    made.first_world_has_it = bits_.NextBelow(2) == 0;
    return made;
  }
  const absl::Status& status() const { return bits_.status(); }

 private:
  NodeIndex OtherThan(NodeIndex node, uint32_t n) {
    const auto other = static_cast<NodeIndex>(bits_.NextBelow(n - 1));
    return other < node ? other : other + 1;
  }

  std::vector<NodeIndex> List(NodeIndex id, const ReplayCase& made, uint32_t n) {
    const uint64_t kind = bits_.NextBelow(5);  // no link, all links, half of them, or a few
    std::vector<NodeIndex> list;
    for (NodeIndex j = 0; j < n; ++j) {
      if (j == id || (id == made.node && j == made.entry)) continue;
      const bool is_link = kind == 1 || (kind == 2 && bits_.NextBelow(2) == 0) || (kind > 2 && bits_.NextBelow(n) < 4);
      if (is_link) list.push_back(j);
    }
    return list;
  }

  RandomBits bits_{SecureRandom()};
};

// A folder for temporary files, which goes away with this.
class ReplayFolder {
 public:
  static absl::StatusOr<ReplayFolder> Create() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) {
      const char* const named = std::getenv("TMPDIR");
      return FileError(error.value(), "use the folder for temporary files that TMPDIR names,",
                       named == nullptr ? "/tmp" : named);
    }
    std::string pattern = (parent / "blink-replay-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return FileError(errno, "make a folder in", parent.string());
    return ReplayFolder(pattern);
  }
  ReplayFolder(ReplayFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~ReplayFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ReplayFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

constexpr uint32_t kReplayedNodes[] = {3, 4, 63, 64, 65, 1000};
constexpr int kHostings = 3;  // one node, a gateway, a gateway with a retired node
constexpr uint64_t kReplayedEpsilons[] = {1'000'000, 8'000'000, 50'000'000, 1};
constexpr int kShares = 4;
constexpr Mechanism kMechanisms[] = {Mechanism::kBothEnds, Mechanism::kOneEnd, Mechanism::kGroupDegrees};

uint32_t ShareOf(int share, uint64_t epsilon_micro) {
  const uint32_t shares[kShares] = {0, 1, DefaultDegreeSharePpm(epsilon_micro, Prior::kBeta), 1'000'000};
  return shares[share];
}

// Where there are no degree shares, there are as many numbers of groups.
uint32_t GroupsOf(int share, uint32_t node_count) {
  const uint32_t groups[kShares] = {1, 2, 7, kGroupsMax};
  return std::min(groups[share], node_count);
}

}  // namespace

const char* NameOf(ReplayClaim claim) {
  constexpr const char* kNames[kReplayClaims] = {"bits or numbers differ in the entry, and in no other",
                                                 "the noisy degree differs by the entry",
                                                 "all other reports are the same bytes",
                                                 "what is sent is what the journal holds",
                                                 "the same random bytes are asked for, in order",
                                                 "the same calls and sleeps, and the same end",
                                                 "the same lines in the log",
                                                 "the same records but for list, report and digest",
                                                 "the same files and sizes but for the journal's",
                                                 "a further round gets the same bytes"};
  return kNames[claim];
}

absl::StatusOr<AgentOutcome> RunShippedNode(const NodeLife& life) {
  const absl::Time started = life.clock.Now();
  BLINK_ASSIGN_OR_RETURN(const Kit kit, LoadKit(life.kit_folder));
  const KitConfig& config = kit.config;
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<Journal> journal,
                         Journal::Open(life.journal_folder, {config.deployment, config.first_node, config.last_node,
                                                             config.node_count, config.roster_version}));
  AgentOptions options;
  options.started = started;
  options.give_up_after = absl::Hours(1);  // a node that waits for more than it gets must not hang the audit
  return Agent(kit, *journal, life.link, life.clock, life.random, options).Run();
}

bool ReplayAudit::passed() const {
  return std::none_of(claims.begin(), claims.end(), [](const ClaimCount& count) { return count.broken > 0; });
}

absl::StatusOr<ReplayAudit> AuditReplay(const ReplayOptions& options, const NodeProcess& process) {
  const auto started = std::chrono::steady_clock::now();
  BLINK_ASSIGN_OR_RETURN(const ReplayFolder folder, ReplayFolder::Create());
  std::vector<Mechanism> mechanisms(std::begin(kMechanisms), std::end(kMechanisms));
  if (options.mechanism) mechanisms = {*options.mechanism};
  const uint64_t combinations =
      std::size(kReplayedNodes) * kHostings * std::size(kReplayedEpsilons) * kShares * mechanisms.size();
  ReplayAudit audit{.cases_asked = options.repeats * combinations, .claims = std::vector<ClaimCount>(kReplayClaims)};
  Replay replay(folder.path(), process);
  CaseMaker maker;
  ProgressBar progress("replays", audit.cases_asked, options.progress);
  for (uint64_t number = 0; number < audit.cases_asked; ++number) {
    if (options.stop != nullptr && *options.stop) break;
    uint64_t rest = number;
    const uint32_t n = kReplayedNodes[rest % std::size(kReplayedNodes)];
    rest /= std::size(kReplayedNodes);
    const int hosting = static_cast<int>(rest % kHostings);
    rest /= kHostings;
    const int share = static_cast<int>(rest % kShares);
    rest /= kShares;
    const uint64_t epsilon_micro = kReplayedEpsilons[rest % std::size(kReplayedEpsilons)];
    rest /= std::size(kReplayedEpsilons);
    const Mechanism mechanism = mechanisms[rest % mechanisms.size()];
    NodeGroups groups;
    if (mechanism == Mechanism::kGroupDegrees) groups = maker.DealGroups(n, GroupsOf(share, n));
    BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                           mechanism == Mechanism::kGroupDegrees
                               ? PrivacyParameters::CreateForGroups(epsilon_micro, n, QuestionAbout(groups))
                               : PrivacyParameters::Create(epsilon_micro, ShareOf(share, epsilon_micro), n, mechanism));
    const ReplayCase replayed = maker.Make(parameters, std::move(groups), hosting);
    BLINK_RETURN_IF_ERROR(maker.status());
    BLINK_RETURN_IF_ERROR(replay.Run(replayed, audit));
    progress.Update(audit.cases);
  }
  audit.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return audit;
}

}  // namespace blink
