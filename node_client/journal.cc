#include "node_client/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/format_number.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/privacy/random_source.h"
#include "node_client/journal_format.h"

namespace blink {

namespace fmt_ = journal_format;

namespace {

std::string JournalPath(const std::string& folder) { return folder + "/journal.blj"; }
std::string LockPath(const std::string& folder) { return folder + "/journal.lock"; }

std::string RangeName(const JournalIdentity& identity) {
  return absl::StrCat("deployment ", identity.deployment, ", nodes ", identity.first_node, "-", identity.last_node);
}

std::string InitPayload(const JournalIdentity& identity, const JournalId& id, bool anchored) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kInit);
  fmt_::PutText(&payload, identity.deployment);
  fmt_::Put<uint32_t>(&payload, identity.first_node);
  fmt_::Put<uint32_t>(&payload, identity.last_node);
  fmt_::Put<uint32_t>(&payload, identity.node_count);
  fmt_::Put<uint64_t>(&payload, identity.roster_version);
  payload.append(reinterpret_cast<const char*>(id.data()), id.size());
  fmt_::Put<uint8_t>(&payload, anchored ? 1 : 0);
  return payload;
}

absl::Status RefuseExisting(const std::string& path, const char* why) {
  struct stat info;  // of a symbolic link itself: what it points to may be on a volume that is not mounted now
  if (::lstat(path.c_str(), &info) == 0) return absl::AlreadyExistsError(absl::StrCat(path, " exists already; ", why));
  return errno == ENOENT ? absl::OkStatus() : FileError(errno, "look for", path);
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat one, other;
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// The file that a new anchor is to replace: this journal's own one or what damage left of it, no other file of value.
absl::Status RefuseForeign(const std::string& anchor_path, const std::string& folder, const JournalId& id) {
  if (SameFile(anchor_path, JournalPath(folder)) || SameFile(anchor_path, LockPath(folder))) {
    return absl::AlreadyExistsError(
        absl::StrCat(anchor_path, " is part of the journal: name another file for the anchor"));
  }
  const auto old = ReadAnchor(anchor_path);
  if (absl::IsFailedPrecondition(old.status())) return old.status();  // of another format: of value to its program
  if (absl::IsInvalidArgument(old.status())) return old.status();     // a device or a folder: no file to replace
  if (!old.ok() || old->journal == id) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(anchor_path, " is the anchor of another journal: name another file"));
}

bool OnlyZeros(absl::string_view bytes) { return bytes.find_first_not_of('\0') == absl::string_view::npos; }

}  // namespace

absl::Status CreateJournal(const std::string& folder, const JournalIdentity& identity, const std::string& anchor_path) {
  if (identity.last_node < identity.first_node || identity.last_node >= identity.node_count) {
    return absl::InvalidArgumentError("the journal's nodes must lie below n");
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(LockPath(folder)));
  const std::string path = JournalPath(folder);
  BLINK_RETURN_IF_ERROR(RefuseExisting(path, "it is never replaced, since it is what keeps a node from drawing twice"));
  if (!anchor_path.empty()) {
    BLINK_RETURN_IF_ERROR(
        RefuseExisting(anchor_path, "it belongs to a journal: bring that one back, or name another file"));
  }
  Anchor anchor;
  BLINK_RETURN_IF_ERROR(SecureRandom().Fill(absl::MakeSpan(anchor.journal)));
  std::string content(fmt_::kMagic, fmt_::kMagicBytes);
  anchor.chain = fmt_::ChainStart();
  fmt_::AppendRecord(InitPayload(identity, anchor.journal, !anchor_path.empty()), &anchor.chain, &content);
  anchor.length = content.size();
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(path, content));
  if (anchor_path.empty()) return absl::OkStatus();
  absl::Status written = RefuseExisting(anchor_path, "it is the journal: name another file");
  if (written.ok()) written = WriteAnchor(anchor_path, anchor);
  // Nobody can have opened it: the lock is held.
  if (!written.ok()) ::unlink(path.c_str());
  return written;
}

absl::Status AnchorJournal(const std::string& folder, const JournalIdentity& identity, const std::string& anchor_path,
                           bool replace) {
  BLINK_ASSIGN_OR_RETURN(const auto journal,
                         Journal::OpenFile(folder, identity, Journal::Mode::kReanchor, anchor_path));
  if (replace) {
    BLINK_RETURN_IF_ERROR(RefuseForeign(anchor_path, folder, journal->id()));
  } else {
    if (journal->anchored()) {
      return absl::FailedPreconditionError(
          absl::StrCat(journal->path_,
                       " has an anchor already: bring it back. Only if it is lost "
                       "and this journal is known to be the latest one, add --replace"));
    }
    BLINK_RETURN_IF_ERROR(RefuseExisting(anchor_path, "it may belong to another journal: name another file"));
  }
  // First what can fail harmlessly: from its record on, the journal is never opened without its anchor.
  BLINK_RETURN_IF_ERROR(journal->MoveAnchor());
  journal->StagePayload(std::string(1, fmt_::kAnchored));
  return journal->Commit();
}

Journal::Journal(std::string path, int fd, std::optional<FileLock> lock, Mode mode, std::string anchor_path)
    : path_(std::move(path)), fd_(fd), lock_(std::move(lock)), mode_(mode), anchor_path_(std::move(anchor_path)) {}

Journal::~Journal() { ::close(fd_); }

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& folder, const JournalIdentity& identity,
                                                       const std::string& anchor_path) {
  BLINK_ASSIGN_OR_RETURN(auto journal, OpenFile(folder, identity, Mode::kWritable, anchor_path));
  BLINK_RETURN_IF_ERROR(journal->TakeRoster(identity));
  // Also what an earlier process wrote and did not anchor: it must be before it is sent.
  BLINK_RETURN_IF_ERROR(journal->MoveAnchor());
  return journal;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::OpenReadOnly(const std::string& folder,
                                                               const JournalIdentity& identity,
                                                               const std::string& anchor_path) {
  return OpenFile(folder, identity, Mode::kReadOnly, anchor_path);
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::OpenFile(const std::string& folder, const JournalIdentity& identity,
                                                           Mode mode, const std::string& anchor_path) {
  const std::string path = JournalPath(folder);
  const absl::Status regular = CheckRegularFile(path);  // the open of a FIFO would last for ever
  if (absl::IsNotFound(regular)) {
    return absl::NotFoundError(
        absl::StrCat("there is no journal at ", path,
                     ": a node without its journal could report twice. Give the right --journal; only for a "
                     "node that never reported, make one with blink-node init"));
  }
  BLINK_RETURN_IF_ERROR(regular);
  const int fd = ::open(path.c_str(), (mode == Mode::kReadOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "open", path);
  std::optional<FileLock> lock;
  if (mode != Mode::kReadOnly) {
    auto acquired = FileLock::Acquire(LockPath(folder));
    if (!acquired.ok()) {
      ::close(fd);
      return acquired.status();
    }
    lock = *std::move(acquired);
    // The file itself as well: it may have two names (links, bind mounts), and a lock file can be deleted under its
    // holder.
    if (const absl::Status locked = LockDescriptor(fd, path); !locked.ok()) {
      ::close(fd);
      return locked;
    }
  }
  std::unique_ptr<Journal> journal(new Journal(path, fd, std::move(lock), mode, anchor_path));
  BLINK_RETURN_IF_ERROR(journal->ScanFile(identity));
  return journal;
}

absl::Status Journal::Damaged(uint64_t offset, absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(path_, " is damaged at byte ", offset, ": ", what,
                                          ". Refusing to go on, since reports could be drawn twice"));
}

absl::Status Journal::ReadAt(uint64_t offset, size_t bytes, std::string* out) const {
  out->resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd_, out->data() + done, bytes - done, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", path_);
    if (got == 0) return Damaged(offset + done, "the file ends");
    done += got;
  }
  return absl::OkStatus();
}

absl::Status Journal::CheckFits(const JournalIdentity& kit) const {
  const JournalIdentity& own = identity();
  if (own.deployment == kit.deployment && own.first_node == kit.first_node && own.last_node == kit.last_node) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path_, " belongs to ", RangeName(own), "; the kit is for ", RangeName(kit)));
}

absl::Status Journal::TakeRoster(const JournalIdentity& kit) {
  const JournalIdentity& own = identity();
  auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " has seen roster version ", own.roster_version,
                                                      " with n = ", own.node_count, "; the kit is for version ",
                                                      kit.roster_version, " with n = ", kit.node_count, ". ", why,
                                                      ": use the latest kit"));
  };
  if (kit.roster_version < own.roster_version) return refuse("A node does not go back to an older roster");
  if (kit.node_count < own.node_count) return refuse("A roster never becomes smaller");
  if (kit.roster_version == own.roster_version) {
    return kit.node_count == own.node_count ? absl::OkStatus() : refuse("Another n is another version of the roster");
  }
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kRoster);
  fmt_::Put<uint64_t>(&payload, kit.roster_version);
  fmt_::Put<uint32_t>(&payload, kit.node_count);
  StagePayload(payload);
  return Commit();
}

// Before the journal is read, so that a process that writes meanwhile can only be ahead of it.
absl::Status Journal::ScanFile(const JournalIdentity& kit) {
  const bool checks_anchor = mode_ != Mode::kReanchor && !anchor_path_.empty();
  Anchor anchor;
  if (checks_anchor) {
    BLINK_ASSIGN_OR_RETURN(anchor, ReadAnchor(anchor_path_));
    anchor_ = anchor;
  }
  struct stat info;
  if (::fstat(fd_, &info) != 0) return FileError(errno, "stat", path_);
  const uint64_t end = info.st_size;
  std::string bytes;
  if (end < fmt_::kMagicBytes) return Damaged(0, "it is too short");
  BLINK_RETURN_IF_ERROR(ReadAt(0, fmt_::kMagicBytes, &bytes));
  if (bytes != fmt_::kMagic) {
    BLINK_RETURN_IF_ERROR(RefuseOtherFormat(path_, bytes, fmt_::kName, fmt_::kFormat));
    return Damaged(0, "it does not begin as a journal");
  }
  chain_ = fmt_::ChainStart();
  size_ = fmt_::kMagicBytes;
  bool whole = true, contained = false;
  while (size_ < end && whole) {
    const bool first = !initialised();
    BLINK_ASSIGN_OR_RETURN(whole, ScanRecord(end));
    if (first && whole) BLINK_RETURN_IF_ERROR(CheckFits(kit));
    contained = contained || (size_ == anchor.length && chain_ == anchor.chain);
  }
  if (!initialised()) return Damaged(size_, "its first record is missing");
  if (checks_anchor) BLINK_RETURN_IF_ERROR(CheckAnchor(contained, anchor));
  if (anchored() && anchor_path_.empty() && mode_ != Mode::kReadOnly) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_,
                     " has an anchor, which shows that no older copy of it was restored: "
                     "name it with --anchor"));
  }
  if (mode_ != Mode::kReadOnly) BLINK_RETURN_IF_ERROR(MakeSound(end));
  staged_chain_ = chain_;
  return absl::OkStatus();
}

absl::StatusOr<bool> Journal::ScanRecord(uint64_t end) {
  const uint64_t left = end - size_;
  if (left < fmt_::kHeaderBytes) return false;
  std::string bytes;
  BLINK_RETURN_IF_ERROR(ReadAt(size_, fmt_::kHeaderBytes, &bytes));
  fmt_::Fields header(bytes);
  const auto length = header.Get<uint32_t>();
  if (header.Get<uint32_t>() != fmt_::HeaderCheck(chain_, length)) {
    // A file system may have grown the file before the data arrived: then nothing but zeros follows.
    if (left > (64 << 20)) return Damaged(size_, "the header of a record is wrong");
    BLINK_RETURN_IF_ERROR(ReadAt(size_, left, &bytes));
    if (!OnlyZeros(bytes)) return Damaged(size_, "the header of a record is wrong");
    return false;
  }
  if (left < fmt_::kHeaderBytes + length + fmt_::kChecksumBytes) return false;
  BLINK_RETURN_IF_ERROR(ReadAt(size_ + fmt_::kHeaderBytes, length + fmt_::kChecksumBytes, &bytes));
  const absl::string_view payload = absl::string_view(bytes).substr(0, length);
  const Digest next = fmt_::NextChain(chain_, payload);
  if (absl::string_view(bytes).substr(length) != fmt_::Checksum(next))
    return Damaged(size_, "a record's checksum is wrong");
  if (const absl::Status applied = ApplyRecord(payload, size_ + fmt_::kHeaderBytes); !applied.ok()) {
    return Damaged(size_, applied.message());
  }
  chain_ = next;
  size_ += fmt_::kHeaderBytes + length + fmt_::kChecksumBytes;
  return true;
}

absl::Status Journal::CheckAnchor(bool contained, const Anchor& anchor) const {
  if (!anchored()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " has no anchor, and --anchor names ", anchor_path_,
                                                      ": an older copy, or give it one with blink-node anchor"));
  }
  if (anchor.journal != id()) {
    return absl::FailedPreconditionError(absl::StrCat("the anchor ", anchor_path_, " belongs to another journal than ",
                                                      path_, ": bring the two together that belong together"));
  }
  if (contained) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " is not the latest copy: the anchor ", anchor_path_, " has seen ",
                                          anchor.length, " bytes of it, it has ", size_,
                                          size_ < anchor.length ? "" : " with another content",
                                          ". Reports that were sent could be drawn a second time. Bring the latest "
                                          "copy back; without it the node has to leave the roster"));
}

absl::Status Journal::MakeSound(uint64_t end) {
  if (size_ < end) {
    spdlog::warn(
        "{} ends within a record: cutting off its last {} bytes. They were never sent, unless something else "
        "has shortened the file, which only an anchor shows",
        path_, end - size_);
    if (::ftruncate(fd_, size_) != 0) return FileError(errno, "truncate", path_);
  }
  // A process may have died between its write and its fsync, or before the file's name was on the disk: what this one
  // will send must be there.
  if (::fsync(fd_) != 0) return FileError(errno, "fsync", path_);
  return SyncDirectory(std::filesystem::path(path_).parent_path().string());
}

absl::StatusOr<CodedReport> Journal::LoadReport(uint32_t epoch, const PrivacyParameters& parameters,
                                                NodeIndex node) const {
  const Draw* draw = DrawAt(epoch, parameters, node);
  if (draw == nullptr) return absl::NotFoundError(absl::StrCat(path_, ": node ", node, " has no such draw"));
  CodedReport report;
  if (draw->has_degree) report.noisy_degree = draw->noisy_degree;
  report.digest = draw->digest;
  BLINK_RETURN_IF_ERROR(ReadAt(draw->coded_offset, draw->coded_bytes, &report.coded_bits));
  if (ReportDigest(parameters, report.noisy_degree, report.coded_bits) != report.digest) {
    return Damaged(draw->coded_offset, "a report does not fit its digest");
  }
  return report;
}

void Journal::StagePayload(absl::string_view payload) {
  staged_payloads_.emplace_back(staged_.size() + fmt_::kHeaderBytes, payload.size());
  fmt_::AppendRecord(payload, &staged_chain_, &staged_);
}

void Journal::StageEpoch(uint32_t index, absl::Time start, const AdjacencyLists& lists) {
  std::string payload;
  payload.reserve(16 + 4 * (lists.neighbours.size() + lists.offsets.size()));
  fmt_::Put<uint8_t>(&payload, fmt_::kEpoch);
  fmt_::Put<uint32_t>(&payload, index);
  fmt_::Put<int64_t>(&payload, absl::ToUnixMillis(start));
  for (uint32_t i = 0; i < lists.node_count(); ++i) {
    const auto list = lists.Of(lists.first + i);
    fmt_::Put<uint32_t>(&payload, list.size());
    for (const NodeIndex neighbour : list) fmt_::Put<uint32_t>(&payload, neighbour);
  }
  StagePayload(payload);
}

void Journal::StageDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node,
                        const CodedReport& report) {
  std::string payload;
  payload.reserve(80 + report.coded_bits.size());
  fmt_::Put<uint8_t>(&payload, fmt_::kDraw);
  fmt_::Put<uint32_t>(&payload, epoch);
  fmt_::Put<uint32_t>(&payload, node);
  fmt_::PutParameters(&payload, parameters);
  fmt_::Put<uint8_t>(&payload, report.noisy_degree.has_value() ? 1 : 0);
  fmt_::Put<int64_t>(&payload, report.noisy_degree.value_or(0));
  payload += DigestToBytes(report.digest);
  fmt_::PutText(&payload, report.coded_bits);
  StagePayload(payload);
}

void Journal::StageRound(const std::string& round_id, uint32_t epoch, const PrivacyParameters& parameters) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kRound);
  fmt_::PutText(&payload, round_id);
  fmt_::Put<uint32_t>(&payload, epoch);
  fmt_::PutParameters(&payload, parameters);
  StagePayload(payload);
}

void Journal::StageReceipt(const std::string& round_id, NodeIndex node, const Digest& digest, int64_t received_minute) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kReceipt);
  fmt_::PutText(&payload, round_id);
  fmt_::Put<uint32_t>(&payload, node);
  payload += DigestToBytes(digest);
  fmt_::Put<int64_t>(&payload, received_minute);
  StagePayload(payload);
}

void Journal::StageRoundOver(const std::string& round_id) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kRoundOver);
  fmt_::PutText(&payload, round_id);
  StagePayload(payload);
}

void Journal::StageClock(absl::Time now) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kClock);
  fmt_::Put<int64_t>(&payload, absl::ToUnixMillis(now));
  StagePayload(payload);
}

void Journal::DiscardStaged() {
  staged_.clear();
  staged_.shrink_to_fit();
  staged_payloads_.clear();
  staged_chain_ = chain_;
}

absl::Status Journal::CheckAnchorIsOurs() const {
  if (anchor_path_.empty() || mode_ == Mode::kReanchor) return absl::OkStatus();
  BLINK_ASSIGN_OR_RETURN(const Anchor now, ReadAnchor(anchor_path_));
  if (now == anchor_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("somebody else moved the anchor ", anchor_path_, ": a copy of ",
                                                    path_,
                                                    " is in use, on another machine perhaps. Run one of them only"));
}

absl::Status Journal::MoveAnchor() {
  if (anchor_path_.empty()) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CheckAnchorIsOurs());
  anchor_ = Anchor{id(), size_, chain_};
  return WriteAnchor(anchor_path_, anchor_);
}

absl::Status Journal::Commit() {
  if (staged_.empty()) return absl::OkStatus();
  absl::Status status;
  if (broken_ || mode_ == Mode::kReadOnly) {
    status =
        absl::FailedPreconditionError(absl::StrCat(path_, " cannot be written to since an earlier error; start again"));
  } else {
    status = WriteOut();
  }
  DiscardStaged();
  return status;
}

absl::Status Journal::WriteOut() {
  BLINK_RETURN_IF_ERROR(CheckAnchorIsOurs());
  absl::string_view left = staged_;
  uint64_t offset = size_;
  while (!left.empty()) {
    const ssize_t put = ::pwrite(fd_, left.data(), left.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const absl::Status status = FileError(errno, "append to", path_);
      // What was written of it was never sent: the file goes back to what it was.
      if (::ftruncate(fd_, size_) != 0) broken_ = true;
      return status;
    }
    left.remove_prefix(put);
    offset += put;
  }
  broken_ = true;  // until all that follows has succeeded
  if (::fdatasync(fd_) != 0) {
    // The system may now take the pages for clean. The next process must not find in memory, and send, what the disk
    // never got.
    const absl::Status status = FileError(errno, "fsync", path_);
    if (::ftruncate(fd_, size_) != 0)
      spdlog::error("{} cannot be cut back; restart this machine before the node", path_);
    return status;
  }
  const uint64_t begin = size_;
  size_ = offset;
  chain_ = staged_chain_;
  BLINK_RETURN_IF_ERROR(MoveAnchor());
  for (const auto& [at, bytes] : staged_payloads_) {
    BLINK_RETURN_IF_ERROR(ApplyRecord(absl::string_view(staged_).substr(at, bytes), begin + at));
  }
  broken_ = false;
  return absl::OkStatus();
}

}  // namespace blink
