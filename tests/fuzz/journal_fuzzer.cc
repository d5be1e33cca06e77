// Opening a journal. A damaged one is refused, and an accepted one can be opened again with the same content, written
// to, and gives its reports.
//
// Input: kind (u8), then
//   kind 0   a file as it is
//   kind 1   payloads (u16 length each), to which the right frames and checksums are added, so that the content of the
//            records is reached
//   kind 2   position (u16), value (u8), then as kind 1, with that byte changed: always refused
//   kind 3   an anchor: what is accepted is the one spelling of what it says
#include <unistd.h>

#include "absl/time/time.h"
#include "common/base/logging.h"
#include "node_client/journal.h"
#include "node_client/journal_format.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

namespace format = journal_format;

const JournalIdentity kIdentity{"demo", 2, 4, 40, 1};  // as make_corpus.py has it

std::string Framed(fuzzing::Input input) {
  std::string file(format::kMagic, format::kMagicBytes);
  Digest chain = format::ChainStart();
  while (!input.empty()) format::AppendRecord(input.TakePiece(), &chain, &file);
  return file;
}

struct Summary {
  uint64_t draws, receipts, rounds, spent_max;
  std::vector<std::string> unfinished;
  bool operator==(const Summary&) const = default;
};
Summary SummaryOf(const Journal& journal) {
  return {journal.draws(), journal.receipts(), journal.rounds(), journal.SpentMicroMax(), journal.UnfinishedRounds()};
}

void CheckReports(const Journal& journal) {
  for (const std::string& round : journal.UnfinishedRounds()) {
    const auto bound = journal.RoundBinding(round);
    FUZZ_CHECK(bound.has_value());
    for (NodeIndex node = kIdentity.first_node; node <= kIdentity.last_node; ++node) {
      FUZZ_CHECK(journal.FindDraw(bound->epoch, bound->parameters, node).has_value());
      const auto report = journal.LoadReport(bound->epoch, bound->parameters, node);
      FUZZ_CHECK(report.ok() || absl::IsDataLoss(report.status()));
      (void)journal.HasReceipt(round, node);
    }
  }
}

void CheckAnchor(const std::string& text) {
  const auto anchor = ParseAnchor(text, "anchor");
  if (anchor.ok()) {
    FUZZ_CHECK(AnchorToText(*anchor) == text);
  } else {  // damaged, or of another format
    FUZZ_CHECK(absl::IsDataLoss(anchor.status()) || absl::IsFailedPrecondition(anchor.status()));
  }
}

void CheckFile(const fuzzing::Folder& folder) {
  const auto read_only = Journal::OpenReadOnly(folder.path(), kIdentity);
  if (!read_only.ok()) {
    FUZZ_CHECK(absl::IsDataLoss(read_only.status()) || absl::IsFailedPrecondition(read_only.status()));
    FUZZ_CHECK(Journal::Open(folder.path(), kIdentity).status().code() == read_only.status().code());
    return;
  }
  // A kit of the journal's own roster, and its anchor where it has one.
  const JournalIdentity identity = (*read_only)->identity();
  const std::string anchor = (*read_only)->anchored() ? folder / "anchor" : "";
  if (!anchor.empty()) {
    FUZZ_CHECK(absl::IsFailedPrecondition(Journal::Open(folder.path(), identity).status()));
    ::unlink(anchor.c_str());  // of an earlier input: another journal's anchor is never replaced
    FUZZ_CHECK(AnchorJournal(folder.path(), identity, anchor, /*replace=*/true).ok());
  }
  auto opened = Journal::Open(folder.path(), identity, anchor);
  FUZZ_CHECK(opened.ok());
  const Summary before = SummaryOf(**opened);
  FUZZ_CHECK(SummaryOf(**read_only) == before);
  CheckReports(**opened);
  (*opened)->StageClock((*opened)->MonotoneNow(absl::FromUnixSeconds(1)));
  FUZZ_CHECK((*opened)->Commit().ok());
  *opened = nullptr;  // gives back the lock
  const auto again = Journal::Open(folder.path(), identity, anchor);
  FUZZ_CHECK(again.ok() && SummaryOf(**again) == before);
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  fuzzing::Input input(data, size);
  const auto kind = input.Get<uint8_t>() % 4;
  if (kind == 3) {
    CheckAnchor(std::string(input.rest()));
    return 0;
  }
  std::string file;
  if (kind == 0) {
    file = std::string(input.rest());
  } else if (kind == 1) {
    file = Framed(input);
  } else {
    const auto position = input.Get<uint16_t>();
    const auto value = input.Get<uint8_t>();
    file = Framed(input);
    char& byte = file[position % file.size()];
    const bool changed = byte != static_cast<char>(value);
    byte = static_cast<char>(value);
    folder.Write("journal.blj", file);
    if (changed) FUZZ_CHECK(!Journal::Open(folder.path(), kIdentity).ok());
  }
  folder.Write("journal.blj", file);
  CheckFile(folder);
  return 0;
}
