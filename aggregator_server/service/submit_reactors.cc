#include "aggregator_server/service/submit_reactors.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {

void SubmitReportReactor::Begin() {
  const Lock lock(mutex_);
  if (!finished()) StartRead(&request_);
}

SubmitReportReactor::Time SubmitReportReactor::OnTime() {
  const absl::Duration limit = ingest_.limits().report_time_max;
  if (std::exchange(told_to_end_, true)) {
    context_.TryCancel();  // it does not even take its refusal
    return kNever;
  }
  Conclude(absl::DeadlineExceededError(absl::StrCat("the report did not arrive within ", absl::FormatDuration(limit))));
  return In(limit);
}

std::optional<RetryWindow> SubmitReportReactor::WindowFor(const absl::Status& status) const {
  if (status.ok()) return std::nullopt;  // it is in the response
  return ingest_.WindowFor(status);
}

absl::Status SubmitReportReactor::TakeHeader(const v1::ReportHeader& header) {
  if (admission_.has_value()) return absl::InvalidArgumentError("a second header: one call carries one report");
  BLINK_ASSIGN_OR_RETURN(const Identity identity, authenticator_.IdentifyNode(context_, header.deployment(),
                                                                              header.node_id(), header.node_id()));
  ingest_.advisor().NotePeer(identity);
  BLINK_ASSIGN_OR_RETURN(Ingest::Admission admission, ingest_.Admit(identity, header));
  admission_.emplace(std::move(admission));
  return absl::OkStatus();
}

absl::Status SubmitReportReactor::TakeChunk(const std::string& chunk) {
  if (!admission_.has_value()) return absl::InvalidArgumentError("a chunk came before the header");
  if (chunk.empty() || chunk.size() > kChunkBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk has ", chunk.size(), " bytes, it must have 1 .. ", kChunkBytesMax));
  }
  if (coded_bits_.size() + chunk.size() > admission_->coded_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header says ", admission_->coded_bytes, " coded bytes, more of them arrived"));
  }
  coded_bits_.append(chunk);
  return absl::OkStatus();
}

absl::Status SubmitReportReactor::TakeMessage() {
  switch (request_.part_case()) {
    case v1::SubmitReportRequest::kHeader:
      return TakeHeader(request_.header());
    case v1::SubmitReportRequest::kChunk:
      return TakeChunk(request_.chunk());
    case v1::SubmitReportRequest::PART_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a message has neither header nor chunk");
}

absl::Status SubmitReportReactor::CheckComplete() const {
  if (!admission_.has_value()) return absl::InvalidArgumentError("the stream ended before the header");
  if (coded_bits_.size() == admission_->coded_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the stream ended after ", coded_bits_.size(), " of ", admission_->coded_bytes, " coded bytes"));
}

void SubmitReportReactor::OnReadDone(bool ok) {
  if (const absl::Status taken = ok ? TakeMessage() : CheckComplete(); !taken.ok()) return Conclude(taken);
  if (!ok) {
    return ingest_.Submit(
        *std::exchange(admission_, std::nullopt), std::move(coded_bits_),
        [this, alive = KeepAlive()](const absl::StatusOr<v1::Receipt>& outcome) { Conclude(outcome); });
  }
  const Lock lock(mutex_);
  if (!finished()) StartRead(&request_);
}

void SubmitReportReactor::Conclude(const absl::StatusOr<v1::Receipt>& outcome) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (!outcome.ok()) return RefuseLocked(outcome.status());
  *response_.mutable_receipt() = *outcome;
  *response_.mutable_retry() = RetryWindowToProto(ingest_.WindowFor(absl::OkStatus()));
  FinishLocked(absl::OkStatus());
}

void SubmitReportsReactor::Begin() {
  const Lock lock(mutex_);
  if (!finished()) StartRead(&request_);
}

SubmitReportsReactor::Time SubmitReportsReactor::OnTime() {
  const absl::Duration limit = ingest_.limits().report_time_max;
  const Lock lock(mutex_);
  const Time end = active_ + absl::ToChronoMilliseconds(limit);
  if (StreamTimer::Clock::now() < end) return end;
  const bool reads_nothing = finished() || writing_;
  const std::string time = absl::FormatDuration(limit);
  RefuseLocked(absl::DeadlineExceededError(
      writing_ ? absl::StrCat("the replies were not read for ", time, ": read them while sending")
               : absl::StrCat("the stream was idle for ", time, ": close it when done")));
  if (!reads_nothing) return In(limit);  // for taking the status
  context_.TryCancel();                  // its window is full: nothing that is written would ever leave
  return kNever;
}

std::optional<RetryWindow> SubmitReportsReactor::WindowFor(const absl::Status& status) const {
  if (status.ok()) return std::nullopt;  // every reply has its own
  return ingest_.WindowFor(status);
}

absl::StatusOr<Ingest::Admission> SubmitReportsReactor::Admit(const v1::SubmitReportsRequest& request) {
  if (!request.has_header()) return absl::InvalidArgumentError("the report has no header");
  const v1::ReportHeader& header = request.header();
  if (request.coded_bits().size() > kStreamReportBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the report has ", request.coded_bits().size(),
                                                   " coded bytes, SubmitReports takes at most ", kStreamReportBytesMax,
                                                   ": use SubmitReport"));
  }
  // A certificate is the same for the whole stream; a claim (--insecure) is another one for every report.
  if (!identity_.has_value() || authenticator_.insecure()) {
    BLINK_ASSIGN_OR_RETURN(
        identity_, authenticator_.IdentifyNode(context_, header.deployment(), header.node_id(), header.node_id()));
    ingest_.advisor().NotePeer(*identity_);
  }
  return ingest_.Admit(*identity_, header);
}

void SubmitReportsReactor::TakeReport(v1::SubmitReportsRequest request) {
  const uint64_t node = request.header().node_id();
  absl::StatusOr<Ingest::Admission> admission = Admit(request);
  if (!admission.ok()) return Reply(node, admission.status());
  round_id_ = admission->round_id;
  admission->fresh = fresh_;
  ingest_.Submit(
      *std::move(admission), std::move(*request.mutable_coded_bits()),
      [this, alive = KeepAlive(), node](const absl::StatusOr<v1::Receipt>& outcome) { Reply(node, outcome); });
}

void SubmitReportsReactor::OnReadDone(bool ok) {
  {
    const Lock lock(mutex_);
    active_ = StreamTimer::Clock::now();
    if (!ok) {
      read_ended_ = true;
      if (in_flight_ == 0) FinishLocked(absl::OkStatus());
      return;
    }
    if (finished()) return;
    ++in_flight_;
  }
  TakeReport(std::move(request_));
  request_.Clear();
  const Lock lock(mutex_);
  if (finished()) return;
  if (in_flight_ < kInFlightMax) {
    StartRead(&request_);
  } else {
    read_paused_ = true;
  }
}

void SubmitReportsReactor::Reply(uint64_t node, const absl::StatusOr<v1::Receipt>& outcome) {
  v1::SubmitReportsResponse reply;
  reply.set_node_id(node);
  *reply.mutable_retry() = RetryWindowToProto(ingest_.WindowFor(outcome.status()));
  if (outcome.ok()) {
    *reply.mutable_receipt() = *outcome;
  } else {
    reply.mutable_refusal()->set_code(static_cast<uint32_t>(outcome.status().code()));
    reply.mutable_refusal()->set_message(std::string(outcome.status().message()));
  }
  const Lock lock(mutex_);
  if (finished()) return;
  if (!outcome.ok()) LogRefusal(context_, outcome.status());
  replies_.push_back(std::move(reply));
  WriteNextLocked();
}

// A line for each gateway that has brought something. A stream of reports that are held already has none, so nobody can
// fill the log.
void SubmitReportsReactor::LogReports() const {
  const uint32_t fresh = fresh_->load();
  if (fresh == 0) return;
  const bool is_gateway = authenticator_.insecure() || identity_->first_node != identity_->last_node;
  spdlog::log(is_gateway ? spdlog::level::info : spdlog::level::debug, "{} brought {} new reports of round {}",
              authenticator_.insecure() ? context_.peer() : identity_->Path(), fresh, round_id_);
}

void SubmitReportsReactor::WriteNextLocked() {
  if (writing_ || replies_.empty()) return;
  writing_ = true;
  grpc::WriteOptions options;
  if (replies_.size() > 1) options.set_buffer_hint();  // more follows at once
  StartWrite(&replies_.front(), options);
}

void SubmitReportsReactor::OnWriteDone(bool ok) {
  const Lock lock(mutex_);
  active_ = StreamTimer::Clock::now();
  writing_ = false;
  if (finished()) return;
  if (!ok) return FinishLocked(absl::CancelledError("the peer is gone"));
  replies_.pop_front();
  --in_flight_;
  WriteNextLocked();
  if (std::exchange(read_paused_, false)) StartRead(&request_);
  if (read_ended_ && in_flight_ == 0) FinishLocked(absl::OkStatus());
}

}  // namespace blink
