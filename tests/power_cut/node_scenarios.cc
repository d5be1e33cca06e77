// The node's promises: a report that left the device is the only one of its list, and what was spent stays spent.
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "node_client/agent.h"
#include "node_client/anchor.h"
#include "node_client/journal.h"
#include "tests/power_cut/scenario.h"
#include "tests/unit/node_client/fakes.h"

namespace blink::power_cut {
namespace {

constexpr NodeIndex kFirst = 3, kLast = 4;

std::string JournalFolder(const std::string& root) { return root + "/state/journal"; }
std::string AnchorPath(const std::string& root) { return root + "/volume/anchor"; }

std::vector<RoundView> Rounds() {  // the second one asks for another report
  return {MakeRound(kRoundA), MakeRound(kRoundB, 1'000'000)};
}

// Answers the rounds one after the other, and notes all that leaves the device.
void AnswerRounds(const std::string& root) {
  const Kit kit = MakeKit(kFirst, kLast);
  auto journal = Journal::Open(JournalFolder(root), IdentityOf(kit), AnchorPath(root));
  if (!journal.ok()) return Note(absl::StrCat("refused ", journal.status().ToString()));
  FakeClock clock;
  FakeRandom random(::getpid());
  FakeLink link;
  link.rounds = Rounds();
  link.expected_reports = kLast - kFirst + 1;
  std::string current;
  link.before_take = [&](const OutgoingReport& report) {
    Note(absl::StrCat("sent ", current, " ", report.node, " ", DigestToHex(report.report.digest), " ",
                      ReadAnchor(AnchorPath(root))->length));
    return absl::OkStatus();
  };
  for (const RoundView& round : Rounds()) {
    int steps = 0;
    current = round.round_id;
    AgentOptions options;
    options.round_id = current;
    options.stopped = [&] { return ++steps > 300; };
    const AgentOutcome outcome = Agent(kit, **journal, link, clock, random, options).Run();
    if (outcome.code != ExitCode::kOk) return Note(absl::StrCat("refused ", outcome.message));
    Note(absl::StrCat("received ", current));
  }
}

absl::StatusOr<Digest> DigestOf(const Journal& journal, const std::string& round_id, NodeIndex node) {
  const auto binding = journal.RoundBinding(round_id);
  if (!binding.has_value()) return absl::NotFoundError("the journal does not know the round");
  for (const RoundView& round : Rounds()) {
    if (round.round_id != round_id) continue;
    return journal.LoadReport(binding->epoch, round.parameters, node).ok()
               ? absl::StatusOr<Digest>(*journal.FindDraw(binding->epoch, round.parameters, node))
               : absl::NotFoundError("the journal has no such report");
  }
  return absl::NotFoundError("no such round");
}

std::string CheckPromise(const Journal& journal, const Anchor& anchor, const std::string& note) {
  const std::vector<std::string> words = absl::StrSplit(note, ' ');
  if (words[0] == "refused") return absl::StrCat("a node that was killed cannot go on: ", note);
  if (words[0] == "received") {
    for (NodeIndex node = kFirst; node <= kLast; ++node) {
      if (!journal.HasReceipt(words[1], node)) return absl::StrCat("a receipt is gone: ", note);
    }
  }
  if (words[0] != "sent") return "";
  uint32_t node = 0;
  uint64_t length = 0;
  if (!absl::SimpleAtoi(words[2], &node) || !absl::SimpleAtoi(words[4], &length)) return "a note that cannot be read";
  const absl::StatusOr<Digest> digest = DigestOf(journal, words[1], node);
  if (!digest.ok()) return absl::StrCat(note, ": ", digest.status().message());
  if (DigestToHex(*digest) != words[3]) return absl::StrCat(note, ": the journal has another report");
  return anchor.length < length ? absl::StrCat(note, ": the anchor would accept an older copy") : "";
}

std::string CheckJournal(const std::string& root, const Notes& notes, bool in_order) {
  std::map<std::string, std::string> sent;
  for (const std::string& note : notes) {
    const std::vector<std::string> words = absl::StrSplit(note, ' ');
    if (words[0] != "sent") continue;
    const auto [first, is_new] = sent.emplace(words[1] + words[2], words[3]);
    if (!is_new && first->second != words[3]) return absl::StrCat(note, ": a second draw of one list");
  }
  const Kit kit = MakeKit(kFirst, kLast);
  auto journal = Journal::Open(JournalFolder(root), IdentityOf(kit), AnchorPath(root));
  if (notes.empty()) return "";  // nothing was promised: there may be no journal
  if (!journal.ok()) {
    return !in_order && absl::IsDataLoss(journal.status()) ? "" : std::string(journal.status().message());
  }
  const absl::StatusOr<Anchor> anchor = ReadAnchor(AnchorPath(root));
  for (const std::string& note : notes) {
    if (const std::string broken = CheckPromise(**journal, *anchor, note); !broken.empty()) return broken;
  }
  return "";
}

}  // namespace

Scenario JournalScenario() {
  const auto run = [](const std::string& root) {
    const Kit kit = MakeKit(kFirst, kLast);
    if (!MakeDirectories(root + "/volume").ok()) return;
    const absl::Status made = CreateJournal(JournalFolder(root), IdentityOf(kit), AnchorPath(root));
    if (!made.ok() && !absl::IsAlreadyExists(made)) return;
    // Killed between the two files: an operator has to remove the journal, with which nothing was done.
    if (!ReadAnchor(AnchorPath(root)).ok()) return;
    if (made.ok()) Note("made");
    AnswerRounds(root);
  };
  return {"journal", run, CheckJournal};
}

Scenario LateAnchorScenario() {
  const auto run = [](const std::string& root) {
    const Kit kit = MakeKit(kFirst, kLast);
    (void)MakeDirectories(root + "/volume");
    (void)CreateJournal(JournalFolder(root), IdentityOf(kit));
    if (!AnchorJournal(JournalFolder(root), IdentityOf(kit), AnchorPath(root), /*replace=*/true).ok()) return;
    Note("made");
    AnswerRounds(root);
  };
  return {"late anchor", run, CheckJournal};
}

}  // namespace blink::power_cut
