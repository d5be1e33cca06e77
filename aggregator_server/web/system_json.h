// The state of the machine and of what expires, for the page.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_SYSTEM_JSON_H_
#define BLINK_AGGREGATOR_SERVER_WEB_SYSTEM_JSON_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/transport/revocations.h"
#include "aggregator_server/transport/server.h"
#include "aggregator_server/web/json.h"

namespace blink {

struct SystemSources {
  ReportStore& store;
  Pipeline& pipeline;
  std::shared_ptr<const Revocations> revocations;  // absent: only dates are checked
  const ServerTls* tls = nullptr;                  // absent: no TLS
  std::string data_folder;
  std::string own_certificate;  // of whoever asks; empty: none
  absl::Status ready;
};

// Adds "now_ms", "program", "ready", "disk", "store", "worker", "stages" and "expiry" to `json`. An expiry is
// {"what", "until_ms", "remedy"}.
void AddSystem(const SystemSources& sources, Json& json);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_SYSTEM_JSON_H_
