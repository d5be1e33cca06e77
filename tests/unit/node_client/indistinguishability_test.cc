// Nothing that the aggregator can see depends on the lists except through the mechanism (invariant 2), for the whole
// kind of attacks at once: nodes with different lists live the same life under the same hostile aggregator, which asks,
// lies, fails, forgets and moves the clock at random for thousands of calls while the processes crash and start again.
// Their transcripts must be equal: calls, times, parameters, which report equals which, digests' presence, randomness
// consumed, log lines and exit codes. Only the coded bits and the noisy degree, and with them the digest, may differ.
#include <algorithm>
#include <set>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/agent.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/sanitizers.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

constexpr uint32_t kNodes = 300;
constexpr NodeIndex kFirst = 4;

// What a node's lists are in each of its process's lives.
struct Kind {
  const char* name;
  std::function<std::vector<NodeIndex>(NodeIndex node, int life)> list;
};

std::vector<NodeIndex> Some(NodeIndex node, uint32_t count) {
  std::vector<NodeIndex> list;
  for (uint32_t k = 1; k <= count; ++k) list.push_back((node + k) % kNodes);
  std::sort(list.begin(), list.end());
  return list;
}

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"empty", [](NodeIndex, int) { return std::vector<NodeIndex>(); }},
      {"full", [](NodeIndex node, int) { return Some(node, kNodes - 1); }},
      {"one link", [](NodeIndex node, int) { return Some(node, 1); }},
      {"seven links", [](NodeIndex node, int) { return Some(node, 7); }},
      {"seven links, and one more of one node", [](NodeIndex node, int) { return Some(node, node == kFirst ? 8 : 7); }},
      {"changing at every start",
       [](NodeIndex node, int life) { return Some(node, life % 2 == 0 ? 2 : 100 + life % 150); }},
  };
  return kinds;
}

Kit KitOf(const Kind& kind, NodeIndex last, int life) {
  Kit kit = MakeKit(kFirst, last, 0, kNodes);
  kit.policy.mechanisms = {Mechanism::kBothEnds, Mechanism::kOneEnd, Mechanism::kGroupDegrees};
  kit.lists = {kFirst, {0}, {}};
  for (NodeIndex node = kFirst; node <= last; ++node) {
    const auto list = kind.list(node, life);
    kit.lists.neighbours.insert(kit.lists.neighbours.end(), list.begin(), list.end());
    kit.lists.offsets.push_back(kit.lists.neighbours.size());
  }
  return kit;
}

class World;
// A defect of the node, for the test of the test: sees (and may change or hold back) each report at the node's border.
using Fault = std::function<absl::Status(World&, OutgoingReport&)>;

// An aggregator that does something else at every call. Its dice depend on the seed and on the calls alone, never on
// the bits of a report; digests it knows as "none", "the one that I got" and "one that I made up".
class RandomAggregator final : public AggregatorLink {
 public:
  RandomAggregator(uint64_t seed, World& world) : world_(world), dice_(seed) {}

  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override;
  LinkResult<std::string> GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) override;
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override;
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& on_reply) override;
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override;

  bool crash = false;  // the node's process dies now
  int calls = 0;

 private:
  uint64_t Below(uint64_t bound) { return dice_() % bound; }
  bool OneIn(uint64_t bound) { return Below(bound) == 0; }
  absl::Status Error();
  std::optional<RetryWindow> Window();
  RoundView NewRound();
  void Mischief();
  absl::StatusOr<Receipt> Take(const std::string& round_id, const OutgoingReport& report);

  World& world_;
  std::mt19937_64 dice_;
  std::vector<RoundView> rounds_;
  std::map<std::string, std::map<NodeIndex, Digest>> held_;
  uint64_t named_ = 0;
};

// One node (or gateway), its disk, clock and randomness, its supervisor, and its aggregator.
class World {
 public:
  World(const Kind& kind, NodeIndex last, uint64_t seed, Fault fault = nullptr)
      : fault(std::move(fault)),
        kind_(kind),
        last_(last),
        random_(seed),
        supervisor_(seed + 1),
        aggregator_(seed + 2, *this) {}

  void Live(int calls) {
    ASSERT_TRUE(CreateJournal(folder_.path(), IdentityOf(KitOf(kind_, last_, 0))).ok());
    LogCapture log;
    log_ = &log;
    for (int life = 0; aggregator_.calls < calls; ++life) Live1(life);
  }

  // The node did this, now.
  void Saw(const std::string& what) {
    for (const std::string& line : {log_->Take(), what}) {
      if (line.empty()) continue;
      transcript.push_back(absl::StrCat(absl::ToInt64Nanoseconds(clock.now - FakeClock().now), " ns, ", fetches,
                                        " fetches, ", fetched,
                                        " bytes: ", absl::StrReplaceAll(line, {{folder_.path(), "FOLDER"}})));
    }
  }
  void SawReport(const std::string& round_id, const OutgoingReport& report) {
    const PrivacyParameters& asked = report.parameters;
    // A report without bits is some integers, and two draws of it may be equal by chance.
    const std::string which =
        asked.sends_bits() ? absl::StrCat("#", numbers_.emplace(report.report.digest, numbers_.size()).first->second)
                           : "numbers only";
    Saw(absl::StrCat("report ", round_id, " ", report.node, ", ", asked.epsilon_micro(), ", ", asked.degree_share_ppm(),
                     ", ", asked.node_count(),
                     report.report.noisy_degree.has_value() ? ", a degree, " : ", no degree, ", which));
    contents.insert(report.report.coded_bits);
    ++reports;
  }

  std::vector<std::string> transcript;
  std::set<std::string> contents;  // coded bits: the one thing that may differ
  int reports = 0, lives = 0, epochs = 0;
  std::set<int> codes;
  size_t different_reports() const { return numbers_.size(); }

  // For faults.
  const Fault fault;
  const Kit* kit = nullptr;
  Journal* journal = nullptr;
  FakeClock clock;
  uint64_t fetches = 0, fetched = 0;
  RandomAggregator& aggregator() { return aggregator_; }
  RandomSource& random() { return counted_; }

 private:
  class Counted final : public RandomSource {
   public:
    explicit Counted(World& world) : world_(world) {}
    absl::Status Fill(absl::Span<uint8_t> bytes) override {
      ++world_.fetches;
      world_.fetched += bytes.size();
      return world_.random_.Fill(bytes);
    }

   private:
    World& world_;
  };

  void Live1(int life) {
    ++lives;
    const Kit now = KitOf(kind_, last_, life);
    kit = &now;
    auto opened = Journal::Open(folder_.path(), IdentityOf(now));
    ASSERT_TRUE(opened.ok()) << opened.status();
    journal = opened->get();
    Kit configured = now;
    configured.policy.send_spread_seconds = 30;
    configured.policy.epsilon_micro_lifetime_max = 200'000'000;
    AgentOptions options;
    options.daemon = supervisor_() % 3 != 0;
    options.leave_at_receipt = supervisor_() % 4 == 0;
    options.give_up_after = absl::Hours(1 + supervisor_() % 5);
    options.started = clock.now;
    int asked = 0;
    aggregator_.crash = false;
    options.stopped = [&] { return aggregator_.crash || ++asked > 400; };
    random_.fills_left = supervisor_() % 12 == 0 ? static_cast<int>(supervisor_() % 100) : -1;
    const AgentOutcome outcome = Agent(configured, *journal, aggregator_, clock, counted_, options).Run();
    Saw(absl::StrCat("ended with ", static_cast<int>(outcome.code), " ", outcome.message));
    codes.insert(static_cast<int>(outcome.code));
    epochs = journal->epoch().has_value() ? static_cast<int>(journal->epoch()->index) : 0;
    Saw(absl::StrCat(journal->draws(), " draws, ", journal->receipts(), " receipts, ", journal->rounds(), " rounds, ",
                     journal->SpentMicroMax(), " spent"));
    clock.now += absl::Seconds(supervisor_() % 2000);
  }

  const Kind kind_;
  const NodeIndex last_;
  TempFolder folder_{TempFolder::InMemory()};  // thousands of commits
  LogCapture* log_ = nullptr;                  // while it lives
  FakeRandom random_;
  Counted counted_{*this};
  std::mt19937_64 supervisor_;
  std::map<Digest, size_t> numbers_;
  RandomAggregator aggregator_;
};

absl::Status RandomAggregator::Error() {
  static const absl::StatusCode kCodes[] = {absl::StatusCode::kUnavailable,       absl::StatusCode::kDeadlineExceeded,
                                            absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal,
                                            absl::StatusCode::kAborted,           absl::StatusCode::kUnavailable};
  return absl::Status(kCodes[Below(6)], absl::StrCat("error ", calls));
}

std::optional<RetryWindow> RandomAggregator::Window() {
  switch (Below(5)) {
    case 0:
      return std::nullopt;
    case 1:
      return RetryWindow{absl::ZeroDuration(), absl::ZeroDuration()};
    case 2:
      return OneIn(4) ? RetryWindow{absl::Hours(24), absl::Hours(24)}
                      : RetryWindow{absl::Seconds(1), absl::Seconds(60)};
    default:
      return RetryWindow{absl::Milliseconds(100), absl::Milliseconds(100 + Below(5000))};
  }
}

RoundView RandomAggregator::NewRound() {
  static const uint64_t kEpsilons[] = {250'000, 500'000, 500'000, 500'001, 1'000'000, 2'000'000, 9'000'000};
  static const uint32_t kShares[] = {0, 1, 100'000, 100'000, 100'001, 1'000'000};
  const uint32_t n = OneIn(12) ? kNodes - 1 : kNodes;
  const uint64_t roster = OneIn(12) ? 2 : 1;
  RoundView round = MakeRound(absl::StrCat(absl::Hex(++named_, absl::kZeroPad16), "0000000000000000"),
                              kEpsilons[Below(7)], kShares[Below(6)], n, roster);
  if (OneIn(6)) {
    round.parameters = *PrivacyParameters::CreateForGroups(
        round.parameters.epsilon_micro(), n, QuestionAbout(DealGroups(static_cast<uint32_t>(1 + Below(5)), n)));
  } else if (OneIn(3)) {
    const PrivacyParameters& both = round.parameters;
    round.parameters = *PrivacyParameters::Create(both.epsilon_micro(), both.degree_share_ppm(), n, Mechanism::kOneEnd);
  }
  return round;
}

LinkResult<std::string> RandomAggregator::GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) {
  ++calls;
  world_.Saw(absl::StrCat("GetGroups ", node, " ", round_id, " ", bytes));
  const auto window = Window();
  if (OneIn(10)) return {Error(), window};
  if (OneIn(40)) return {absl::NotFoundError("no groups"), window};
  if (OneIn(60)) {
    crash = true;
    return {absl::UnavailableError("cut"), window};
  }
  const auto n = static_cast<uint32_t>(bytes / 2);
  NodeGroups groups = DealGroups(2, n);
  for (const RoundView& round : rounds_) {
    if (round.round_id == round_id) groups = DealGroups(std::max(1u, round.parameters.question().count), n);
  }
  if (OneIn(10)) groups.group_of[Below(n)] = 1;
  return {EncodeGroups(groups), window};
}

void RandomAggregator::Mischief() {
  if (rounds_.empty() || OneIn(6)) rounds_.push_back(NewRound());
  if (rounds_.size() > 12) {
    held_.erase(rounds_.front().round_id);
    rounds_.erase(rounds_.begin());
  }
  RoundView& round = rounds_[Below(rounds_.size())];
  switch (Below(24)) {
    case 0:
    case 1:
      round.state = v1::ROUND_STATE_SEALED;
      break;
    case 2:
      round.state = v1::ROUND_STATE_READY;
      break;
    case 3:
      if (OneIn(4)) round.state = v1::ROUND_STATE_CANCELLED;
      break;
    case 4:
    case 5:
      round.state = v1::ROUND_STATE_OPEN;  // perhaps backwards
      break;
    case 6:
      round.deadline = absl::FromUnixSeconds(static_cast<int64_t>(Below(4'000'000'000)));
      break;
    case 7:
      held_[round.round_id].clear();
      break;
    case 8:
      if (OneIn(6)) round.parameters = NewRound().parameters;
      break;
    case 9:
      if (OneIn(8)) held_[round.round_id][kFirst] = Sha256Of(absl::StrCat("made up ", calls));
      break;
    case 10:
      if (OneIn(5)) world_.clock.now += absl::Hours(1 + Below(40));
      break;
    case 11:
      if (OneIn(5)) world_.clock.now -= absl::Hours(Below(5));
      break;
    default:
      break;
  }
}

LinkResult<std::vector<OfferedRound>> RandomAggregator::GetRounds(NodeIndex node, const std::string& round_id) {
  ++calls;
  world_.Saw(absl::StrCat("GetRounds ", node, " ", round_id));
  const auto window = Window();
  if (OneIn(10)) return {Error(), window};
  if (OneIn(400)) return {absl::PermissionDeniedError("your certificate is not liked"), window};
  if (OneIn(100)) {
    crash = true;
    return {absl::UnavailableError("cut"), window};
  }
  Mischief();
  std::vector<OfferedRound> answer;
  for (RoundView view : rounds_) {
    if (round_id.empty() ? view.state != v1::ROUND_STATE_OPEN || OneIn(15) : view.round_id != round_id || OneIn(20))
      continue;
    const auto& held = held_[view.round_id];
    if (held.contains(node)) view.held_digest = held.at(node);
    if (OneIn(60)) {
      answer.push_back({view.round_id, absl::InvalidArgumentError("state is 99, which this version does not know")});
    } else {
      answer.push_back({view.round_id, view});
    }
  }
  std::shuffle(answer.begin(), answer.end(), dice_);
  if (!round_id.empty() && answer.empty() && OneIn(2)) return {absl::NotFoundError("no such round"), window};
  return {std::move(answer), window};
}

absl::StatusOr<Receipt> RandomAggregator::Take(const std::string& round_id, const OutgoingReport& original) {
  OutgoingReport report = original;
  if (world_.fault) {
    const absl::Status held_back = world_.fault(world_, report);
    if (!held_back.ok()) return held_back;
  }
  world_.SawReport(round_id, report);
  if (OneIn(12)) return Error();
  if (OneIn(150)) return absl::InvalidArgumentError("a report that is not liked");
  if (OneIn(60)) return absl::FailedPreconditionError("the round is not open");
  held_[round_id][report.node] = report.report.digest;
  if (OneIn(60)) {
    crash = true;
    return absl::UnavailableError("cut");
  }
  if (OneIn(12)) return absl::UnavailableError("the receipt was lost");
  Receipt receipt{round_id, report.node, report.report.digest, 28'333'333};
  switch (Below(30)) {
    case 0:
      receipt.node ^= 1;
      break;
    case 1:
      receipt.digest = Sha256Of("forged");
      break;
    case 2:
      receipt.round_id = kRoundA;
      break;
    default:
      break;
  }
  return receipt;
}

LinkResult<Receipt> RandomAggregator::SubmitReport(const std::string& round_id, const OutgoingReport& report) {
  ++calls;
  world_.Saw("SubmitReport");
  const auto window = Window();
  return {Take(round_id, report), window};
}

LinkResult<Done> RandomAggregator::SubmitReports(const std::string& round_id, const NextReport& next,
                                                 const OnReply& on_reply) {
  ++calls;
  world_.Saw("SubmitReports");
  const auto window = Window();
  std::vector<std::pair<NodeIndex, absl::StatusOr<Receipt>>> replies;
  absl::Status end;
  while (end.ok()) {
    auto report = next();
    if (!report.ok()) return {report.status(), window};
    if (!report->has_value()) break;
    replies.emplace_back((*report)->node, Take(round_id, **report));
    if (absl::IsUnavailable(replies.back().second.status())) end = replies.back().second.status();
  }
  std::shuffle(replies.begin(), replies.end(), dice_);
  if (OneIn(20)) replies.clear();  // never
  for (const auto& [node, reply] : replies) {
    const absl::Status taken = on_reply(node, reply);
    if (!taken.ok()) return {taken, window};
  }
  if (!end.ok()) return {end, window};
  return {Done{}, window};
}

LinkResult<Done> RandomAggregator::ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                                               const OnDigest& on_digest) {
  ++calls;
  world_.Saw(absl::StrCat("ListDigests ", round_id, " ", first, "-", last));
  const auto window = Window();
  if (OneIn(10)) return {Error(), window};
  for (const auto& [node, digest] : held_[round_id]) {
    if (!OneIn(50)) on_digest(node, digest);
  }
  if (OneIn(30)) return {absl::UnavailableError("cut within the list"), window};
  return {Done{}, window};
}

// Empty when they are equal; otherwise where they part.
std::string Difference(const World& a, const World& b) {
  const size_t both = std::min(a.transcript.size(), b.transcript.size());
  for (size_t i = 0; i < both; ++i) {
    if (a.transcript[i] != b.transcript[i])
      return absl::StrCat("event ", i, ":\n  ", a.transcript[i], "\n  ", b.transcript[i]);
  }
  if (a.transcript.size() != b.transcript.size())
    return absl::StrCat(a.transcript.size(), " and ", b.transcript.size(), " events");
  return "";
}

// last node, seed
class Indistinguishability : public ::testing::TestWithParam<std::tuple<NodeIndex, uint64_t>> {};

TEST_P(Indistinguishability, NodesWithDifferentListsLiveTheSameLifeInTheEyesOfTheAggregator) {
  const auto [last, seed] = GetParam();
  const int calls = kAddressSanitizer || kThreadSanitizer ? 1500 : 4000;  // a call takes them ten times as long
  World first(Kinds()[0], last, seed);
  first.Live(calls);
  // The life was worth living for its length: much was answered, refused, repeated and survived.
  EXPECT_GT(first.reports, calls / 30);
  EXPECT_GT(first.different_reports(), 20u);
  EXPECT_GT(first.lives, 20);
  EXPECT_GT(first.epochs, calls / 2000);
  EXPECT_GE(static_cast<int>(first.codes.size()), calls / 1000);
  std::cout << "  " << first.transcript.size() << " events, " << first.reports << " reports, "
            << first.different_reports() << " different, " << first.lives << " lives, " << first.epochs
            << " epochs, exit codes " << ::testing::PrintToString(first.codes) << "\n";
  for (size_t k = 1; k < Kinds().size(); ++k) {
    World other(Kinds()[k], last, seed);
    other.Live(calls);
    EXPECT_EQ(Difference(first, other), "") << Kinds()[k].name;
    EXPECT_NE(first.contents, other.contents) << "what may differ does: " << Kinds()[k].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Lives, Indistinguishability,
                         ::testing::Combine(::testing::Values(kFirst, kFirst + 11), ::testing::Values(1u, 2u, 3u, 4u)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param) == kFirst ? "ANode" : "AGateway",
                                               std::get<1>(info.param));
                         });

// The test of the test: nodes with a leak are told apart.
struct Leak {
  const char* name;
  Fault fault;
};

size_t DegreeOf(const World& world, const OutgoingReport& report) { return world.kit->lists.Of(report.node).size(); }
bool Changed(const World& world) { return world.kit->lists != world.journal->snapshot(); }

TEST(IndistinguishabilityItself, TellsANodeThatLeaks) {
  const Leak leaks[] = {
      {"refuses when its list has changed",
       [](World& world, OutgoingReport&) {
         return Changed(world) ? absl::FailedPreconditionError("my list has changed") : absl::OkStatus();
       }},
      {"draws anew when its list has changed",
       [](World& world, OutgoingReport& report) {
         if (Changed(world)) report.report.digest = Sha256Of(absl::StrCat("another draw ", world.reports));
         return absl::OkStatus();
       }},
      {"sends later by a nanosecond a link",
       [](World& world, OutgoingReport& report) {
         world.clock.SleepFor(absl::Nanoseconds(DegreeOf(world, report)));
         return absl::OkStatus();
       }},
      {"fetches a random byte for every link",
       [](World& world, OutgoingReport& report) {
         std::vector<uint8_t> bytes(DegreeOf(world, report));
         return bytes.empty() ? absl::OkStatus() : world.random().Fill(absl::MakeSpan(bytes));
       }},
      {"logs its degree",
       [](World& world, OutgoingReport& report) {
         spdlog::info("node {} has {} links", report.node, DegreeOf(world, report));
         return absl::OkStatus();
       }},
      {"asks once more when it has no link",
       [](World& world, OutgoingReport& report) {
         if (DegreeOf(world, report) == 0) (void)world.aggregator().GetRounds(report.node, "");
         return absl::OkStatus();
       }},
      {"sends a degree only when it has one",
       [](World& world, OutgoingReport& report) {
         if (DegreeOf(world, report) == 0) report.report.noisy_degree.reset();
         return absl::OkStatus();
       }},
  };
  const uint64_t seed = 5;
  for (const NodeIndex last : {kFirst, kFirst + 11}) {
    for (const auto& [name, fault] : leaks) {
      World empty(Kinds().front(), last, seed, fault), changing(Kinds().back(), last, seed, fault);
      empty.Live(400);
      changing.Live(400);
      EXPECT_NE(Difference(empty, changing), "") << "not seen: a node that " << name;
    }
    World empty(Kinds().front(), last, seed), changing(Kinds().back(), last, seed);
    empty.Live(400);
    changing.Live(400);
    EXPECT_EQ(Difference(empty, changing), "") << "it is the leak that was seen";
  }
}

// ---- Randomness and time, each alone ----

TEST(RandomnessOfADraw, IsFetchedInTheSameRequestsWhateverTheList) {
  class Recording final : public RandomSource {
   public:
    absl::Status Fill(absl::Span<uint8_t> bytes) override {
      requests.push_back(bytes.size());
      return source_.Fill(bytes);
    }
    std::vector<size_t> requests;

   private:
    FakeRandom source_{11};
  };
  for (const NodeIndex last : {kFirst, kFirst + 11}) {
    std::vector<std::vector<size_t>> requests;
    for (const Kind& kind : Kinds()) {
      TempFolder folder;
      FakeClock clock;
      Recording random;
      FakeLink link;
      const Kit kit = KitOf(kind, last, 1);
      ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
      auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
      char digit = 'a';
      for (const uint64_t epsilon : {1u, 1'000'000u, 6'000'000u, 8'000'000u}) {
        for (const uint32_t share : {0u, 1u, 500'000u, 1'000'000u}) {
          link.rounds.push_back(
              MakeRound(absl::StrCat(std::string(31, '0'), std::string(1, digit)), epsilon, share, kNodes));
          digit = digit == 'f' ? '0' : digit + 1;
        }
      }
      link.expected_reports = kit.config.hosted();
      EXPECT_EQ(Agent(kit, *journal, link, clock, random, AgentOptions()).Run().code, ExitCode::kOk);
      EXPECT_EQ(journal->draws(), 16 * kit.config.hosted());
      requests.push_back(random.requests);
    }
    EXPECT_GT(requests[0].size(), 16u);
    EXPECT_THAT(requests, ::testing::Each(requests[0]));
  }
}

// How long the steps of a node's life take.
struct Steps {
  absl::Duration loading;  // the lists, at the start
  absl::Duration drawing;  // the noise
  absl::Duration reading;  // each of the steps since the drawing whose time may depend on lists
};

// The clock's monotonic time is read before and after each step that is hidden, and nowhere else.
class ClockOfSteps final : public Clock {
 public:
  explicit ClockOfSteps(const Steps& steps) : steps_(steps) {}
  absl::Time Now() override { return fake.Now(); }
  absl::Duration Monotonic() override {
    const bool is_end = ++readings_ % 2 == 0;
    if (noise_is_drawn && is_end) fake.now += steps_.reading;
    return fake.Monotonic();
  }
  void SleepFor(absl::Duration duration) override { fake.SleepFor(duration); }
  FakeClock fake;
  bool noise_is_drawn = false;

 private:
  const Steps& steps_;
  int readings_ = 0;
};

std::vector<std::string> TimesOfCalls(const Steps& steps) {
  class SlowRandom final : public RandomSource {
   public:
    SlowRandom(ClockOfSteps& clock, absl::Duration work) : clock_(clock), work_(work) {}
    absl::Status Fill(absl::Span<uint8_t> bytes) override {
      if (bytes.size() > 8) {  // the noise of a report, not a wait
        clock_.fake.now += work_;
        clock_.noise_is_drawn = true;
      }
      return random_.Fill(bytes);
    }

   private:
    ClockOfSteps& clock_;
    const absl::Duration work_;
    FakeRandom random_;
  };
  TempFolder folder;
  ClockOfSteps clock(steps);
  SlowRandom random(clock, steps.drawing);
  FakeLink link;
  const Kit kit = MakeKit(4, 4);
  EXPECT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
  auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
  link.rounds = {MakeRound(kRoundA)};
  std::vector<std::string> seen;
  link.on_get_rounds = [&] { seen.push_back(absl::FormatTime(clock.fake.now)); };
  link.before_take = [&](const OutgoingReport&) {
    seen.push_back(absl::FormatTime(clock.fake.now));
    return absl::OkStatus();
  };
  AgentOptions options;
  options.started = clock.fake.now;
  clock.fake.now += steps.loading;
  EXPECT_EQ(Agent(kit, *journal, link, clock, random, options).Run().code, ExitCode::kOk);
  return seen;
}
const auto kNone = absl::ZeroDuration();

TEST(TimeOfReadingTheLists, CannotBeSeen) {
  EXPECT_EQ(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({kNone, kNone, absl::Milliseconds(50)}));
  EXPECT_NE(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({kNone, kNone, absl::Seconds(2)}))
      << "or this test could not fail";
}

// It depends on the noise, and with the report that would give the list.
TEST(TimeOfDrawingTheNoise, CannotBeSeen) {
  EXPECT_EQ(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({kNone, absl::Milliseconds(200), kNone}));
  EXPECT_EQ(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({kNone, absl::Milliseconds(40), absl::Milliseconds(40)}));
  EXPECT_NE(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({kNone, absl::Seconds(2), kNone}))
      << "or this test could not fail";
}

TEST(TimeOfLoadingTheLists, CannotBeSeen) {
  EXPECT_EQ(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({absl::Milliseconds(200), kNone, kNone}));
  EXPECT_NE(TimesOfCalls({kNone, kNone, kNone}), TimesOfCalls({absl::Seconds(2), kNone, kNone}))
      << "or this test could not fail";
}

TEST(TimeOfLoadingTheLists, IsWaitedOutShortlyEvenWhenTheClockWasSetMeanwhile) {
  for (const absl::Duration set : {absl::Hours(-1000), absl::Hours(1'000'000)}) {
    absl::Time first, start = FakeClock().now + set;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, TimesOfCalls({set, kNone, kNone})[0], &first, nullptr));
    EXPECT_LE(first, start + absl::Seconds(1));
  }
}

}  // namespace
}  // namespace blink
