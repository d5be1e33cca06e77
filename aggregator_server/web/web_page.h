// The web page for operators, read-only: nothing that is asked here changes anything.
//
//   /                              the page; with /style.css, /app.js, /icon.svg it is all that a browser loads
//   /api/system                    disk, store, worker, certificates
//   /api/rounds                    the newest rounds
//   /api/rounds/<id>               one of them, with its privacy cost in words
//   /api/rounds/<id>/missing       who is missing
//   /api/rounds/<id>/curves        learning curves          these five: of its result
//   /api/rounds/<id>/degrees       histograms of degrees
//   /api/rounds/<id>/confusion
//   /api/rounds/<id>/plausibility
//   /api/events                    which rounds change, as they change (round_events.h)
//
// Everybody else than an operator of this deployment gets 403, whatever is asked for. What the page shows is what an
// operator gets over gRPC, and beyond that the counts of noisy degrees and what metrics show. docs/THREAT_MODEL.md says
// who may read what.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_WEB_PAGE_H_
#define BLINK_AGGREGATOR_SERVER_WEB_WEB_PAGE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/http/http_message.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/certificate_guard.h"
#include "aggregator_server/transport/server.h"
#include "aggregator_server/web/json.h"
#include "aggregator_server/web/round_events.h"

namespace blink {

class WebPage {
 public:
  // All outlive this.
  struct Sources {
    ReportStore& store;
    Pipeline& pipeline;
    const Authenticator& authenticator;
    const CertificateGuard& guard;
    std::string deployment;
    uint32_t nodes = 0, active_nodes = 0;
    uint64_t roster_version = 0;
    std::string data_folder;
    std::function<absl::Status()> ready;  // whether the aggregator serves
  };
  explicit WebPage(const Sources& sources) : sources_(sources), events_(sources.pipeline, sources.authenticator) {}

  // The server, once there is one; it outlives the last Answer.
  void SetServer(AggregatorServer* server) { server_ = server; }

  // Reads files: not for a thread that others wait for. Not from two threads at a time. This outlives the streams.
  HttpResponse Answer(const HttpRequest& request);

 private:
  absl::Status CheckOrigin(const HttpRequest& request) const;
  HttpResponse AnswerOperator(const HttpRequest& request, const Identity& who);
  absl::StatusOr<Json> Ask(const HttpRequest& request, const Identity& who);
  absl::StatusOr<Json> AskRound(const std::string& round_id, const std::string& about);
  absl::StatusOr<Json> AskDegrees(const v1::Round& round, const std::string& folder);
  absl::StatusOr<Json> ListRounds();
  Json DescribeSystem(const HttpRequest& request, const Identity& who);
  std::string FolderOf(const std::string& round_id) const;

  const Sources sources_;
  RoundEvents events_;
  std::atomic<AggregatorServer*> server_{nullptr};
  // What was computed from files, by path, with the state of the files then.
  std::map<std::string, std::pair<std::string, absl::StatusOr<Json>>> kept_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_WEB_PAGE_H_
