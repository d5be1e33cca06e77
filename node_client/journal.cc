#include "node_client/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "node_client/journal_format.h"

namespace blink {

namespace fmt_ = journal_format;

namespace {

std::string JournalPath(const std::string& folder) { return folder + "/journal.blj"; }
std::string LockPath(const std::string& folder) { return folder + "/journal.lock"; }

std::string RangeName(const JournalIdentity& identity) {
  return absl::StrCat("deployment ", identity.deployment, ", nodes ", identity.first_node, "-", identity.last_node, ", n = ",
                      identity.node_count);
}

void AppendRecord(absl::string_view payload, Digest* chain, std::string* out) {
  fmt_::Put<uint32_t>(out, payload.size());
  fmt_::Put<uint32_t>(out, fmt_::HeaderCheck(*chain, payload.size()));
  out->append(payload.data(), payload.size());
  *chain = fmt_::NextChain(*chain, payload);
  const absl::string_view checksum = fmt_::Checksum(*chain);
  out->append(checksum.data(), checksum.size());
}

void PutParameters(std::string* out, const PrivacyParameters& parameters) {
  fmt_::Put<uint64_t>(out, parameters.epsilon_micro());
  fmt_::Put<uint32_t>(out, parameters.degree_share_ppm());
  fmt_::Put<uint32_t>(out, parameters.node_count());
  fmt_::Put<uint32_t>(out, kMechanismVersion);
}

// DATA_LOSS, and not what Create says to a caller, when they are none.
absl::StatusOr<PrivacyParameters> GetParameters(fmt_::Fields& fields) {
  const auto epsilon_micro = fields.Get<uint64_t>();
  const auto degree_share_ppm = fields.Get<uint32_t>();
  const auto node_count = fields.Get<uint32_t>();
  if (fields.Get<uint32_t>() != kMechanismVersion) {
    return absl::DataLossError("a draw of a mechanism that this program does not know; use the program that wrote it");
  }
  const auto parameters = PrivacyParameters::Create(epsilon_micro, degree_share_ppm, node_count);
  if (!parameters.ok()) return absl::DataLossError(absl::StrCat("parameters that no round has: ", parameters.status().message()));
  return parameters;
}

bool OnlyZeros(absl::string_view bytes) { return bytes.find_first_not_of('\0') == absl::string_view::npos; }

}  // namespace

absl::Status CreateJournal(const std::string& folder, const JournalIdentity& identity) {
  if (identity.last_node < identity.first_node || identity.last_node >= identity.node_count) {
    return absl::InvalidArgumentError("the journal's nodes must lie below n");
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(LockPath(folder)));
  const std::string path = JournalPath(folder);
  if (::access(path.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists already; it is never replaced, since it is what keeps a node from drawing twice"));
  }
  if (errno != ENOENT) return FileError(errno, "look for", path);
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kInit);
  fmt_::PutText(&payload, identity.deployment);
  fmt_::Put<uint32_t>(&payload, identity.first_node);
  fmt_::Put<uint32_t>(&payload, identity.last_node);
  fmt_::Put<uint32_t>(&payload, identity.node_count);
  fmt_::Put<uint64_t>(&payload, identity.roster_version);
  std::string content(fmt_::kMagic, fmt_::kMagicBytes);
  Digest chain = fmt_::ChainStart();
  AppendRecord(payload, &chain, &content);
  return WriteFileAtomically(path, content);
}

Journal::Journal(std::string path, int fd, std::optional<FileLock> lock, bool writable)
    : path_(std::move(path)), fd_(fd), lock_(std::move(lock)), writable_(writable) {}

Journal::~Journal() { ::close(fd_); }

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& folder, const JournalIdentity& identity) {
  return OpenFile(folder, identity, /*writable=*/true);
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::OpenReadOnly(const std::string& folder, const JournalIdentity& identity) {
  return OpenFile(folder, identity, /*writable=*/false);
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::OpenFile(const std::string& folder, const JournalIdentity& identity,
                                                           bool writable) {
  const std::string path = JournalPath(folder);
  const int fd = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return absl::NotFoundError(absl::StrCat("there is no journal at ", path,
                                            ": a node without its journal could report twice. Give the right --journal; only for a "
                                            "node that never reported, make one with blink-node init"));
  }
  if (fd < 0) return FileError(errno, "open", path);
  std::optional<FileLock> lock;
  if (writable) {
    auto acquired = FileLock::Acquire(LockPath(folder));
    if (!acquired.ok()) {
      ::close(fd);
      return acquired.status();
    }
    lock = *std::move(acquired);
  }
  std::unique_ptr<Journal> journal(new Journal(path, fd, std::move(lock), writable));
  BLINK_RETURN_IF_ERROR(journal->Scan(identity));
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

absl::Status Journal::Scan(const JournalIdentity& expected) {
  struct stat info;
  if (::fstat(fd_, &info) != 0) return FileError(errno, "stat", path_);
  const uint64_t end = info.st_size;
  std::string bytes;
  if (end < fmt_::kMagicBytes) return Damaged(0, "it is too short");
  BLINK_RETURN_IF_ERROR(ReadAt(0, fmt_::kMagicBytes, &bytes));
  if (bytes != fmt_::kMagic) return Damaged(0, "it does not begin as a journal");
  chain_ = fmt_::ChainStart();
  size_ = fmt_::kMagicBytes;
  bool torn = false;
  while (size_ < end && !torn) {
    const uint64_t left = end - size_;
    if (left < fmt_::kHeaderBytes) {
      torn = true;
      break;
    }
    BLINK_RETURN_IF_ERROR(ReadAt(size_, fmt_::kHeaderBytes, &bytes));
    fmt_::Fields header(bytes);
    const auto length = header.Get<uint32_t>();
    if (header.Get<uint32_t>() != fmt_::HeaderCheck(chain_, length)) {
      // A file system may have grown the file before the data arrived: then nothing but zeros follows.
      if (left > (64 << 20)) return Damaged(size_, "the header of a record is wrong");
      BLINK_RETURN_IF_ERROR(ReadAt(size_, left, &bytes));
      if (!OnlyZeros(bytes)) return Damaged(size_, "the header of a record is wrong");
      torn = true;
      break;
    }
    if (left < fmt_::kHeaderBytes + length + fmt_::kChecksumBytes) {
      torn = true;
      break;
    }
    BLINK_RETURN_IF_ERROR(ReadAt(size_ + fmt_::kHeaderBytes, length + fmt_::kChecksumBytes, &bytes));
    const absl::string_view payload = absl::string_view(bytes).substr(0, length);
    const Digest next = fmt_::NextChain(chain_, payload);
    if (absl::string_view(bytes).substr(length) != fmt_::Checksum(next)) return Damaged(size_, "a record's checksum is wrong");
    const bool first = !initialised_;
    BLINK_RETURN_IF_ERROR(Apply(payload, size_ + fmt_::kHeaderBytes));
    if (first && (identity_.deployment != expected.deployment || identity_.first_node != expected.first_node ||
                  identity_.last_node != expected.last_node || identity_.node_count != expected.node_count)) {
      return absl::FailedPreconditionError(absl::StrCat(path_, " belongs to ", RangeName(identity_), "; the kit is for ",
                                                        RangeName(expected)));
    }
    chain_ = next;
    size_ += fmt_::kHeaderBytes + length + fmt_::kChecksumBytes;
  }
  if (!initialised_) return Damaged(size_, "its first record is missing");
  if (torn && writable_) {
    spdlog::warn("{} ends within a record, which was never sent: cutting off its last {} bytes", path_, end - size_);
    if (::ftruncate(fd_, size_) != 0) return FileError(errno, "truncate", path_);
    if (::fsync(fd_) != 0) return FileError(errno, "fsync", path_);
  }
  staged_chain_ = chain_;
  return absl::OkStatus();
}

absl::Status Journal::Apply(absl::string_view payload, uint64_t offset) {
  fmt_::Fields fields(payload);
  const auto type = fields.Get<uint8_t>();
  if (initialised_ != (type != fmt_::kInit)) return Damaged(offset, "records are out of order");
  switch (type) {
    case fmt_::kInit: {
      identity_.deployment = std::string(fields.GetText());
      identity_.first_node = fields.Get<uint32_t>();
      identity_.last_node = fields.Get<uint32_t>();
      identity_.node_count = fields.Get<uint32_t>();
      identity_.roster_version = fields.Get<uint64_t>();
      // The limit on n comes before anything is allocated by the size of the range.
      if (!fields.Finished() || identity_.last_node < identity_.first_node || identity_.last_node >= identity_.node_count ||
          identity_.node_count > kNodesMax) {
        return Damaged(offset, "its first record makes no sense");
      }
      spent_micro_.assign(identity_.hosted(), 0);
      initialised_ = true;
      return absl::OkStatus();
    }
    case fmt_::kEpoch:
      return ApplyEpoch(fields.rest());
    case fmt_::kDraw:
      return ApplyDraw(fields.rest(), offset + 1);
    case fmt_::kRound: {
      const std::string round_id(fields.GetText());
      const auto epoch = fields.Get<uint32_t>();
      const auto parameters = GetParameters(fields);
      if (!parameters.ok()) return Damaged(offset, parameters.status().message());
      const DrawSet* set = FindSet(epoch, *parameters);
      if (!fields.Finished() || set == nullptr || set->drawn != identity_.hosted() || rounds_.contains(round_id)) {
        return Damaged(offset, "a round's record makes no sense");
      }
      rounds_.emplace(round_id, RoundRecord{{epoch, *parameters}, {}, false});
      return absl::OkStatus();
    }
    case fmt_::kReceipt: {
      const std::string round_id(fields.GetText());
      const auto node = fields.Get<uint32_t>();
      fields.GetBytes(32);
      fields.Get<int64_t>();
      const auto it = rounds_.find(round_id);
      if (!fields.Finished() || it == rounds_.end() || node < identity_.first_node || node > identity_.last_node) {
        return Damaged(offset, "a receipt's record makes no sense");
      }
      it->second.receipted.resize(identity_.hosted());
      auto receipted = it->second.receipted[node - identity_.first_node];
      if (!receipted) ++receipts_;
      receipted = true;
      return absl::OkStatus();
    }
    case fmt_::kRoundOver: {
      const auto it = rounds_.find(std::string(fields.GetText()));
      if (!fields.Finished() || it == rounds_.end()) return Damaged(offset, "the record of a round's end makes no sense");
      it->second.over = true;
      return absl::OkStatus();
    }
    case fmt_::kClock: {
      const absl::Time now = absl::FromUnixMillis(fields.Get<int64_t>());
      if (!fields.Finished()) return Damaged(offset, "a clock's record makes no sense");
      clock_ = std::max(clock_, now);
      return absl::OkStatus();
    }
    default:
      return Damaged(offset, "a record of unknown type; use the program that wrote it");
  }
}

absl::Status Journal::ApplyEpoch(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  Epoch epoch;
  epoch.index = fields.Get<uint32_t>();
  epoch.started = absl::FromUnixMillis(fields.Get<int64_t>());
  AdjacencyLists lists;
  lists.first = identity_.first_node;
  lists.offsets.assign(identity_.hosted() + 1, 0);
  bool sound = epoch.index == (epoch_.has_value() ? epoch_->index + 1 : 1);
  lists.neighbours.reserve(bytes.size() / 4);
  for (uint32_t i = 0; sound && i < identity_.hosted(); ++i) {
    const NodeIndex self = identity_.first_node + i;
    const auto degree = fields.Get<uint32_t>();
    sound = fields.ok() && degree < identity_.node_count;
    for (uint32_t k = 0; sound && k < degree; ++k) {
      const auto neighbour = fields.Get<uint32_t>();
      sound = fields.ok() && neighbour < identity_.node_count && neighbour != self && (k == 0 || neighbour > lists.neighbours.back());
      lists.neighbours.push_back(neighbour);
    }
    lists.offsets[i + 1] = lists.neighbours.size();
  }
  if (!sound || !fields.Finished()) return absl::DataLossError(absl::StrCat(path_, ": an epoch's record makes no sense"));
  lists.neighbours.shrink_to_fit();
  epoch_ = epoch;
  snapshot_ = std::move(lists);
  clock_ = std::max(clock_, epoch.started);
  return absl::OkStatus();
}

absl::Status Journal::ApplyDraw(absl::string_view bytes, uint64_t offset) {
  fmt_::Fields fields(bytes);
  const auto epoch = fields.Get<uint32_t>();
  const auto node = fields.Get<uint32_t>();
  const auto read = GetParameters(fields);
  if (!read.ok()) return Damaged(offset, read.status().message());
  const PrivacyParameters& parameters = *read;
  Draw draw;
  draw.has_degree = fields.Get<uint8_t>() != 0;
  draw.noisy_degree = fields.Get<int64_t>();
  const absl::string_view digest = fields.GetBytes(32);
  draw.coded_bytes = fields.Get<uint32_t>();
  if (!fields.ok() || fields.rest().size() != draw.coded_bytes || !epoch_.has_value() || epoch != epoch_->index ||
      node < identity_.first_node || node > identity_.last_node || parameters.node_count() != identity_.node_count) {
    return Damaged(offset, "a draw's record makes no sense");
  }
  BLINK_ASSIGN_OR_RETURN(draw.digest, DigestFromBytes(digest));
  draw.coded_offset = offset + (bytes.size() - draw.coded_bytes);
  DrawSet* set = FindSet(epoch, parameters);
  if (set == nullptr) {
    sets_.push_back(DrawSet{epoch, parameters, 0, std::vector<Draw>(identity_.hosted())});
    set = &sets_.back();
  }
  Draw& slot = set->draws[node - identity_.first_node];
  if (slot.coded_offset != 0) return Damaged(offset, "a node has two draws for one epoch and parameters");
  slot = draw;
  ++set->drawn;
  ++draws_;
  spent_micro_[node - identity_.first_node] += parameters.epsilon_micro();
  return absl::OkStatus();
}

Journal::DrawSet* Journal::FindSet(uint32_t epoch, const PrivacyParameters& parameters) const {
  for (auto it = sets_.rbegin(); it != sets_.rend(); ++it) {
    if (it->epoch == epoch && it->parameters == parameters) return &*it;
  }
  return nullptr;
}

std::optional<Ledger::BoundRound> Journal::RoundBinding(const std::string& round_id) const {
  const auto it = rounds_.find(round_id);
  if (it == rounds_.end()) return std::nullopt;
  return it->second.bound;
}

std::vector<std::string> Journal::UnfinishedRounds() const {
  std::vector<std::string> result;
  for (const auto& [id, round] : rounds_) {
    if (!round.over) result.push_back(id);
  }
  return result;
}

bool Journal::RoundIsOver(const std::string& round_id) const {
  const auto it = rounds_.find(round_id);
  return it != rounds_.end() && it->second.over;
}

uint32_t Journal::RoundsOfEpoch(uint32_t epoch) const {
  return static_cast<uint32_t>(
      std::count_if(rounds_.begin(), rounds_.end(), [epoch](const auto& entry) { return entry.second.bound.epoch == epoch; }));
}

std::optional<uint64_t> Journal::SpentMicroMaxWithoutDraw(uint32_t epoch, const PrivacyParameters& parameters) const {
  const DrawSet* set = FindSet(epoch, parameters);
  std::optional<uint64_t> result;
  for (uint32_t i = 0; i < identity_.hosted(); ++i) {
    if (set != nullptr && set->draws[i].coded_offset != 0) continue;
    result = std::max(result.value_or(0), spent_micro_[i]);
  }
  return result;
}

uint64_t Journal::SpentMicroMax() const { return *std::max_element(spent_micro_.begin(), spent_micro_.end()); }

std::optional<Digest> Journal::FindDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const {
  const DrawSet* set = FindSet(epoch, parameters);
  if (set == nullptr || set->draws[node - identity_.first_node].coded_offset == 0) return std::nullopt;
  return set->draws[node - identity_.first_node].digest;
}

absl::StatusOr<CodedReport> Journal::LoadReport(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const {
  if (!FindDraw(epoch, parameters, node)) return absl::NotFoundError(absl::StrCat(path_, ": node ", node, " has no such draw"));
  const Draw& draw = FindSet(epoch, parameters)->draws[node - identity_.first_node];
  CodedReport report;
  if (draw.has_degree) report.noisy_degree = draw.noisy_degree;
  report.digest = draw.digest;
  BLINK_RETURN_IF_ERROR(ReadAt(draw.coded_offset, draw.coded_bytes, &report.coded_bits));
  if (ReportDigest(parameters, report.noisy_degree, report.coded_bits) != report.digest) {
    return Damaged(draw.coded_offset, "a report does not fit its digest");
  }
  return report;
}

bool Journal::HasReceipt(const std::string& round_id, NodeIndex node) const {
  const auto it = rounds_.find(round_id);
  return it != rounds_.end() && !it->second.receipted.empty() && it->second.receipted[node - identity_.first_node];
}

void Journal::Stage(absl::string_view payload) {
  staged_payloads_.emplace_back(staged_.size() + fmt_::kHeaderBytes, payload.size());
  AppendRecord(payload, &staged_chain_, &staged_);
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
  Stage(payload);
}

void Journal::StageDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node, const CodedReport& report) {
  std::string payload;
  payload.reserve(80 + report.coded_bits.size());
  fmt_::Put<uint8_t>(&payload, fmt_::kDraw);
  fmt_::Put<uint32_t>(&payload, epoch);
  fmt_::Put<uint32_t>(&payload, node);
  PutParameters(&payload, parameters);
  fmt_::Put<uint8_t>(&payload, report.noisy_degree.has_value() ? 1 : 0);
  fmt_::Put<int64_t>(&payload, report.noisy_degree.value_or(0));
  payload += DigestToBytes(report.digest);
  fmt_::PutText(&payload, report.coded_bits);
  Stage(payload);
}

void Journal::StageRound(const std::string& round_id, uint32_t epoch, const PrivacyParameters& parameters) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kRound);
  fmt_::PutText(&payload, round_id);
  fmt_::Put<uint32_t>(&payload, epoch);
  PutParameters(&payload, parameters);
  Stage(payload);
}

void Journal::StageReceipt(const std::string& round_id, NodeIndex node, const Digest& digest, int64_t received_minute) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kReceipt);
  fmt_::PutText(&payload, round_id);
  fmt_::Put<uint32_t>(&payload, node);
  payload += DigestToBytes(digest);
  fmt_::Put<int64_t>(&payload, received_minute);
  Stage(payload);
}

void Journal::StageRoundOver(const std::string& round_id) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kRoundOver);
  fmt_::PutText(&payload, round_id);
  Stage(payload);
}

void Journal::StageClock(absl::Time now) {
  std::string payload;
  fmt_::Put<uint8_t>(&payload, fmt_::kClock);
  fmt_::Put<int64_t>(&payload, absl::ToUnixMillis(now));
  Stage(payload);
}

void Journal::DiscardStaged() {
  staged_.clear();
  staged_.shrink_to_fit();
  staged_payloads_.clear();
  staged_chain_ = chain_;
}

absl::Status Journal::Commit() {
  if (staged_.empty()) return absl::OkStatus();
  if (broken_ || !writable_) {
    DiscardStaged();
    return absl::FailedPreconditionError(absl::StrCat(path_, " cannot be written to since an earlier error; start again"));
  }
  absl::string_view left = staged_;
  uint64_t offset = size_;
  while (!left.empty()) {
    const ssize_t put = ::pwrite(fd_, left.data(), left.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      absl::Status status = FileError(error, "append to", path_);
      if (error == EFBIG) status = absl::ResourceExhaustedError(status.message());
      // What was written of it was never sent: the file goes back to what it was.
      if (::ftruncate(fd_, size_) != 0) broken_ = true;
      DiscardStaged();
      return status;
    }
    left.remove_prefix(put);
    offset += put;
  }
  if (::fdatasync(fd_) != 0) {
    const absl::Status status = FileError(errno, "fsync", path_);
    broken_ = true;
    DiscardStaged();
    return status;
  }
  for (const auto& [begin, bytes] : staged_payloads_) {
    const absl::Status applied = Apply(absl::string_view(staged_).substr(begin, bytes), size_ + begin);
    if (!applied.ok()) {
      broken_ = true;
      DiscardStaged();
      return applied;
    }
  }
  chain_ = staged_chain_;
  size_ += staged_.size();
  DiscardStaged();
  return absl::OkStatus();
}

}  // namespace blink
