#include "aggregator_server/store/encrypted_store.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/store/report_answers.h"
#include "aggregator_server/store/sealed_report.h"
#include "aggregator_server/store/wrapped_key.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr size_t kRoundsKnownMax = 256;

// How the reports of a round are kept. It never changes, but that they are deleted.
struct Protection {
  std::optional<SecretKey> key;
  bool is_deleted = false;  // and with them the key
};

// In the order in which they are tried.
std::vector<SecretKey> AllOf(const DataKeys& keys) {
  std::vector<SecretKey> all = keys.old;
  if (keys.current.has_value()) all.insert(all.begin(), *keys.current);
  return all;
}

class EncryptedStore final : public ReportStore {
 public:
  EncryptedStore(std::unique_ptr<ReportStore> store, const DataKeys& keys)
      : store_(std::move(store)),
        current_(keys.current),
        has_old_(!keys.old.empty()),
        accept_loss_(keys.accept_loss),
        all_(AllOf(keys)) {}

  absl::Status CheckKeys();

  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                        const std::string& groups) override;
  void PutReport(CheckedReport report, PutCallback done) override;
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override;
  absl::StatusOr<std::optional<SecretKey>> GetDataKey(const std::string& round_id) override;
  absl::Status DeleteReports(const std::string& round_id) override;

  // All else as it is.
  absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) override {
    return store_->FindRequest(request_id);
  }
  absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) override {
    return store_->GetGroupsPart(round_id, part);
  }
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override { return store_->GetRound(round_id); }
  absl::StatusOr<v1::Round> GetRecentRound(const std::string& round_id) override {
    return store_->GetRecentRound(round_id);
  }
  absl::StatusOr<std::vector<v1::Round>> ListRounds() override { return store_->ListRounds(); }
  absl::StatusOr<std::vector<v1::Round>> ListUnfinishedRounds() override { return store_->ListUnfinishedRounds(); }
  absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() override { return store_->ListOpenRounds(); }
  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override {
    return store_->UpdateRound(round_id, expected, change);
  }
  std::optional<uint64_t> GetLease() override { return store_->GetLease(); }
  absl::StatusOr<v1::Round> UpdateRoundAsHolder(uint64_t lease, const std::string& round_id,
                                                const std::vector<v1::RoundState>& expected,
                                                const std::function<absl::Status(v1::Round&)>& change) override {
    return store_->UpdateRoundAsHolder(lease, round_id, expected, change);
  }
  bool IsShared() const override { return store_->IsShared(); }
  void TellProgress(const std::string& round_id, double fraction, const std::string& text) override {
    store_->TellProgress(round_id, fraction, text);
  }
  absl::StatusOr<std::string> GetOrSetNote(const std::string& name, const std::string& value) override {
    return store_->GetOrSetNote(name, value);
  }
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override {
    return store_->GetDigest(round_id, node);
  }
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override {
    return store_->VisitDigests(round_id, first, last, limit, visit);
  }
  absl::Status CheckCanStore() override { return store_->CheckCanStore(); }
  absl::StatusOr<RoundsSeen> LookAtRounds() override { return store_->LookAtRounds(); }
  StoreActivity GetActivity() override { return store_->GetActivity(); }
  absl::Status MakeSnapshot(const std::string& folder) override { return store_->MakeSnapshot(folder); }
  absl::StatusOr<std::map<std::string, std::string>> ListWrappedKeys() override { return store_->ListWrappedKeys(); }
  absl::StatusOr<std::string> GetWrappedKey(const std::string& round_id) override {
    return store_->GetWrappedKey(round_id);
  }
  absl::Status ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                 const std::string& after) override {
    return store_->ReplaceWrappedKey(round_id, before, after);
  }
  absl::Status ForgetReplacedKeys() override { return store_->ForgetReplacedKeys(); }

 private:
  absl::StatusOr<Protection> FindProtection(const std::string& round_id);
  absl::StatusOr<Protection> ReadProtection(const std::string& round_id);
  void Remember(const std::string& round_id, const Protection& protection);
  absl::Status RefuseForNow(const absl::Status& why);

  const std::unique_ptr<ReportStore> store_;
  const std::optional<SecretKey> current_;
  const bool has_old_, accept_loss_;
  const std::vector<SecretKey> all_;

  std::mutex mutex_;
  std::map<std::string, Protection> known_;
  absl::Time next_error_log_ = absl::InfinitePast();
};

absl::Status EncryptedStore::CheckKeys() {
  size_t renewed = 0;
  BLINK_ASSIGN_OR_RETURN(const auto wrapped_keys, store_->ListWrappedKeys());
  for (const auto& [round_id, wrapped] : wrapped_keys) {
    const absl::StatusOr<SecretKey> key = UnwrapKey(all_, round_id, wrapped);
    if (!key.ok()) {
      const absl::StatusOr<v1::Round> round = store_->GetRound(round_id);
      if (absl::IsNotFound(round.status())) continue;  // it was never stored
      if (round.ok() && !MayHaveReports(*round)) continue;
      if (!accept_loss_ || !absl::IsFailedPrecondition(key.status())) return key.status();
      spdlog::warn("going on, as --accept-data-loss says: {}", std::string(key.status().message()));
      continue;
    }
    BLINK_ASSIGN_OR_RETURN(const std::string id, DataKeyIdOf(round_id, wrapped));
    if (!current_.has_value() || id == current_->id()) continue;
    BLINK_ASSIGN_OR_RETURN(const std::string anew, WrapKey(*current_, round_id, *key));
    const absl::Status replaced = store_->ReplaceWrappedKey(round_id, wrapped, anew);
    if (absl::IsAborted(replaced)) continue;  // another aggregator was faster, or has deleted it
    BLINK_RETURN_IF_ERROR(replaced);
    ++renewed;
  }
  // A start before this one may have died before it forgot them.
  if (renewed > 0 || has_old_) BLINK_RETURN_IF_ERROR(store_->ForgetReplacedKeys());
  if (renewed == 0) return absl::OkStatus();
  spdlog::info("the keys of {} rounds are encrypted with the data key {} now", renewed, current_->id());
  return absl::OkStatus();
}

void EncryptedStore::Remember(const std::string& round_id, const Protection& protection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kRoundsKnownMax) known_.clear();
  known_.insert_or_assign(round_id, protection);
}

absl::StatusOr<Protection> EncryptedStore::FindProtection(const std::string& round_id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(round_id);
    if (found != known_.end()) return found->second;
  }
  BLINK_ASSIGN_OR_RETURN(const Protection protection, ReadProtection(round_id));
  Remember(round_id, protection);
  return protection;
}

absl::StatusOr<Protection> EncryptedStore::ReadProtection(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, store_->GetRecentRound(round_id));
  if (!round.encrypted()) return Protection{};
  BLINK_ASSIGN_OR_RETURN(const std::string wrapped, store_->GetWrappedKey(round_id));
  if (!wrapped.empty()) {
    BLINK_ASSIGN_OR_RETURN(const SecretKey key, UnwrapKey(all_, round_id, wrapped));
    return Protection{.key = key};
  }
  BLINK_ASSIGN_OR_RETURN(round, store_->GetRound(round_id));
  if (round.reports_deleted_ms() != 0) return Protection{.is_deleted = true};
  return absl::DataLossError(absl::StrCat("round ", round_id,
                                          " is encrypted, and its key is not in the store: bring the store back from "
                                          "a backup"));
}

absl::StatusOr<v1::Round> EncryptedStore::CreateRound(const v1::Round& round, const std::string& request_id,
                                                      const std::string& groups) {
  if (!current_.has_value()) return store_->CreateRound(round, request_id, groups);
  if (!request_id.empty()) {
    BLINK_ASSIGN_OR_RETURN(std::optional<v1::Round> made, store_->FindRequest(request_id));
    if (made.has_value()) return *std::move(made);
  }
  BLINK_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::MakeRandom());
  BLINK_ASSIGN_OR_RETURN(const std::string wrapped, WrapKey(*current_, round.round_id(), key));
  // First: a report may follow the round at once. A key whose round was not stored does no harm.
  const absl::Status kept = store_->ReplaceWrappedKey(round.round_id(), "", wrapped);
  if (absl::IsAborted(kept)) {
    return absl::AlreadyExistsError(absl::StrCat("round ", round.round_id(), " exists already"));
  }
  BLINK_RETURN_IF_ERROR(kept);
  v1::Round encrypted = round;
  encrypted.set_encrypted(true);
  return store_->CreateRound(encrypted, request_id, groups);
}

// A node takes FAILED_PRECONDITION for the end of the round. This is for whoever reads the log.
absl::Status EncryptedStore::RefuseForNow(const absl::Status& why) {
  if (absl::IsNotFound(why) || absl::IsUnavailable(why)) return why;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (absl::Now() >= next_error_log_) {
      spdlog::error("no report can be encrypted: {}", std::string(why.message()));
      next_error_log_ = absl::Now() + absl::Minutes(10);
    }
  }
  return absl::UnavailableError("this aggregator cannot encrypt reports of this round now: try again later");
}

void EncryptedStore::PutReport(CheckedReport report, PutCallback done) {
  absl::StatusOr<Protection> protection = FindProtection(report.round_id);
  if (!protection.ok()) return done(RefuseForNow(protection.status()));
  if (protection->key.has_value()) {
    absl::StatusOr<CodedReport> sealed = SealReport(*protection->key, report.round_id, report.node, report.report);
    if (!sealed.ok()) return done(RefuseForNow(sealed.status()));
    report.report = *std::move(sealed);
  } else if (protection->is_deleted) {  // whether it is the one that was held depends on its digest alone
    report.report.noisy_degree.reset();
    report.report.coded_bits.clear();
  }
  store_->PutReport(std::move(report), std::move(done));
}

absl::Status EncryptedStore::VisitReports(const std::string& round_id,
                                          const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_->GetRound(round_id));
  if (round.reports_deleted_ms() != 0) return RefuseDeleted(round_id);
  BLINK_ASSIGN_OR_RETURN(const Protection protection, ReadProtection(round_id));
  if (!protection.key.has_value()) return store_->VisitReports(round_id, visit);
  return store_->VisitReports(round_id, [&](uint64_t node, const CodedReport& sealed) -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const CodedReport report, UnsealReport(*protection.key, round_id, node, sealed));
    return visit(node, report);
  });
}

absl::StatusOr<std::optional<SecretKey>> EncryptedStore::GetDataKey(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(Protection protection, ReadProtection(round_id));
  if (protection.is_deleted) return RefuseDeleted(round_id);
  return std::move(protection.key);
}

absl::Status EncryptedStore::DeleteReports(const std::string& round_id) {
  const absl::Status deleted = store_->DeleteReports(round_id);
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.erase(round_id);  // afterwards: a late report may have asked for it meanwhile
  return deleted;
}

}  // namespace

bool MayHaveReports(const v1::Round& round) { return !IsTerminal(round.state()) || round.reports() > 0; }

absl::Status CheckDataKeys(const DataKeys& keys, const std::map<std::string, std::string>& wrapped_keys) {
  const std::vector<SecretKey> all = AllOf(keys);
  for (const auto& [round_id, wrapped] : wrapped_keys) {
    BLINK_RETURN_IF_ERROR(UnwrapKey(all, round_id, wrapped).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReportStore>> OpenEncryptedStore(std::unique_ptr<ReportStore> store,
                                                                const DataKeys& keys) {
  auto encrypted = std::make_unique<EncryptedStore>(std::move(store), keys);
  BLINK_RETURN_IF_ERROR(encrypted->CheckKeys());
  return std::unique_ptr<ReportStore>(std::move(encrypted));
}

}  // namespace blink
