#include "aggregator_server/service/submit_reactors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

StreamTimer::Clock::time_point In(absl::Duration duration) {
  return StreamTimer::Clock::now() + absl::ToChronoMilliseconds(duration);
}

}  // namespace

SubmitReportReactor* SubmitReportReactor::Start(grpc::CallbackServerContext& context,
                                                v1::SubmitReportResponse& response, const Authenticator& authenticator,
                                                Ingest& ingest, StreamTimer& timer) {
  auto reactor =
      std::shared_ptr<SubmitReportReactor>(new SubmitReportReactor(context, response, authenticator, ingest, timer));
  SubmitReportReactor* const raw = reactor.get();
  raw->self_ = std::move(reactor);
  const absl::Duration limit = ingest.limits().report_time_max;
  raw->timer_id_ = timer.Add(In(limit), [raw, limit, last = false]() mutable {
    if (last) {
      raw->context_.TryCancel();  // it does not even take its refusal
      return StreamTimer::Clock::time_point::max();
    }
    last = true;
    raw->FinishWith(
        absl::DeadlineExceededError(absl::StrCat("the report did not arrive within ", absl::FormatDuration(limit))));
    return In(limit);
  });
  const absl::StatusOr<uint64_t> opened =
      authenticator.Open(context, [raw](const absl::Status& why) { raw->FinishWith(why); });
  if (!opened.ok()) {
    raw->FinishWith(opened.status());
    return raw;
  }
  raw->stream_id_ = *opened;
  raw->StartRead(&raw->request_);
  return raw;
}

absl::Status SubmitReportReactor::TakeHeader(const v1::ReportHeader& header) {
  if (admission_.has_value()) return absl::InvalidArgumentError("a second header: one call carries one report");
  BLINK_ASSIGN_OR_RETURN(const Identity identity,
                         authenticator_.Node(context_, header.deployment(), header.node_id(), header.node_id()));
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

void SubmitReportReactor::OnReadDone(bool ok) {
  if (!ok) return EndOfStream();
  absl::Status taken;
  switch (request_.part_case()) {
    case v1::SubmitReportRequest::kHeader:
      taken = TakeHeader(request_.header());
      break;
    case v1::SubmitReportRequest::kChunk:
      taken = TakeChunk(request_.chunk());
      break;
    case v1::SubmitReportRequest::PART_NOT_SET:
      taken = absl::InvalidArgumentError("a message has neither header nor chunk");
      break;
  }
  if (!taken.ok()) return FinishWith(taken);
  StartRead(&request_);
}

void SubmitReportReactor::EndOfStream() {
  if (!admission_.has_value()) return FinishWith(absl::InvalidArgumentError("the stream ended before the header"));
  if (coded_bits_.size() < admission_->coded_bytes) {
    return FinishWith(absl::InvalidArgumentError(
        absl::StrCat("the stream ended after ", coded_bits_.size(), " of ", admission_->coded_bytes, " coded bytes")));
  }
  ingest_.Submit(*std::exchange(admission_, std::nullopt), std::move(coded_bits_),
                 [self = self_](absl::StatusOr<v1::Receipt> outcome) { self->FinishWith(outcome); });
}

void SubmitReportReactor::FinishWith(const absl::StatusOr<v1::Receipt>& outcome) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(finished_, true)) return;
  const RetryWindow window = ingest_.WindowFor(outcome.status());
  if (outcome.ok()) {
    *response_.mutable_receipt() = *outcome;
    *response_.mutable_retry() = RetryWindowToProto(window);
  } else {
    if (!absl::IsCancelled(outcome.status())) LogRefusal(context_, outcome.status());
    SetTrailingWindow(context_, window);
  }
  Finish(ToGrpcStatus(outcome.status()));
}

void SubmitReportReactor::OnDone() {
  authenticator_.Close(stream_id_);
  timer_.Remove(timer_id_);
  const std::shared_ptr<SubmitReportReactor> last = std::move(self_);
}

SubmitReportsReactor* SubmitReportsReactor::Start(grpc::CallbackServerContext& context,
                                                  const Authenticator& authenticator, Ingest& ingest,
                                                  StreamTimer& timer) {
  auto reactor = std::shared_ptr<SubmitReportsReactor>(new SubmitReportsReactor(context, authenticator, ingest, timer));
  SubmitReportsReactor* const raw = reactor.get();
  raw->self_ = std::move(reactor);
  raw->active_ = StreamTimer::Clock::now();
  raw->timer_id_ = timer.Add(In(ingest.limits().report_time_max), [raw] { return raw->CheckIdle(); });
  const absl::StatusOr<uint64_t> opened =
      authenticator.Open(context, [raw](const absl::Status& why) { raw->FinishWith(why); });
  if (!opened.ok()) {
    LogRefusal(context, opened.status());
    raw->FinishWith(opened.status());
    return raw;
  }
  raw->stream_id_ = *opened;
  raw->StartRead(&raw->request_);
  return raw;
}

StreamTimer::Clock::time_point SubmitReportsReactor::CheckIdle() {
  const auto limit = absl::ToChronoMilliseconds(ingest_.limits().report_time_max);
  std::lock_guard<std::mutex> lock(mutex_);
  if (StreamTimer::Clock::now() < active_ + limit) return active_ + limit;
  const bool reads_nothing = finished_ || writing_;
  if (!finished_) {
    const std::string time = absl::FormatDuration(ingest_.limits().report_time_max);
    FinishLocked(absl::DeadlineExceededError(
        writing_ ? absl::StrCat("the replies were not read for ", time, ": read them while sending")
                 : absl::StrCat("the stream was idle for ", time, ": close it when done")));
    LogRefusal(context_, absl::DeadlineExceededError(reads_nothing ? "a stream of reports did not read its replies"
                                                                   : "a stream of reports was idle"));
  }
  if (!reads_nothing) return StreamTimer::Clock::now() + limit;  // for taking the status
  context_.TryCancel();  // its window is full: nothing that is written would ever leave
  return StreamTimer::Clock::time_point::max();
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
    BLINK_ASSIGN_OR_RETURN(identity_,
                           authenticator_.Node(context_, header.deployment(), header.node_id(), header.node_id()));
    ingest_.advisor().NotePeer(*identity_);
  }
  return ingest_.Admit(*identity_, header);
}

void SubmitReportsReactor::TakeReport(v1::SubmitReportsRequest request) {
  const uint64_t node = request.header().node_id();
  absl::StatusOr<Ingest::Admission> admission = Admit(request);
  if (!admission.ok()) return Reply(node, admission.status());
  ingest_.Submit(*std::move(admission), std::move(*request.mutable_coded_bits()),
                 [self = self_, node](absl::StatusOr<v1::Receipt> outcome) { self->Reply(node, outcome); });
}

void SubmitReportsReactor::OnReadDone(bool ok) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    active_ = StreamTimer::Clock::now();
    if (!ok) {
      read_ended_ = true;
      if (in_flight_ == 0) FinishLocked(absl::OkStatus());
      return;
    }
    if (finished_) return;
    ++in_flight_;
  }
  TakeReport(std::move(request_));
  request_.Clear();
  std::lock_guard<std::mutex> lock(mutex_);
  if (finished_) return;
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
  std::lock_guard<std::mutex> lock(mutex_);
  if (finished_) return;
  if (!outcome.ok()) LogRefusal(context_, outcome.status());
  replies_.push_back(std::move(reply));
  WriteNext();
}

void SubmitReportsReactor::WriteNext() {
  if (writing_ || replies_.empty()) return;
  writing_ = true;
  grpc::WriteOptions options;
  if (replies_.size() > 1) options.set_buffer_hint();  // more follows at once
  StartWrite(&replies_.front(), options);
}

void SubmitReportsReactor::OnWriteDone(bool ok) {
  std::lock_guard<std::mutex> lock(mutex_);
  active_ = StreamTimer::Clock::now();
  writing_ = false;
  if (finished_) return;
  if (!ok) return FinishLocked(absl::CancelledError("the peer is gone"));
  replies_.pop_front();
  --in_flight_;
  WriteNext();
  if (std::exchange(read_paused_, false)) StartRead(&request_);
  if (read_ended_ && in_flight_ == 0) FinishLocked(absl::OkStatus());
}

void SubmitReportsReactor::FinishWith(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  FinishLocked(status);
}

void SubmitReportsReactor::FinishLocked(const absl::Status& status) {
  if (std::exchange(finished_, true)) return;
  if (!status.ok()) SetTrailingWindow(context_, ingest_.WindowFor(status));
  Finish(ToGrpcStatus(status));
}

void SubmitReportsReactor::OnDone() {
  authenticator_.Close(stream_id_);
  timer_.Remove(timer_id_);
  const std::shared_ptr<SubmitReportsReactor> last = std::move(self_);
}

}  // namespace blink
