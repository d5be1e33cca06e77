#include "aggregator_server/web/system_json.h"

#include <sys/statvfs.h>

#include <numeric>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/program.h"
#include "common/pki/pki.h"

namespace blink {
namespace {

Json TextUnlessOk(const absl::Status& status) {
  return status.ok() ? Json(nullptr) : Json(std::string(status.message()));
}

Json DiskJson(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return nullptr;
  return {{"free_bytes", static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize},
          {"size_bytes", static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize},
          {"needed_bytes", uint64_t{64} << 20}};
}

Json Expiry(const char* what, absl::Time until, const char* remedy) {
  return {{"what", what}, {"until_ms", absl::ToUnixMillis(until)}, {"remedy", remedy}};
}

Json ExpiryJson(const SystemSources& sources) {
  Json expiry = Json::array();
  if (sources.tls != nullptr) {
    const ServerTls::Expiry at = sources.tls->expiry();
    expiry.push_back(Expiry("Certificate of the aggregator", at.certificate,
                            "No node connects after that. Have a new one signed: blink provision sign."));
    expiry.push_back(Expiry("Certificate of the authority", at.authority,
                            "Nothing that it signed is accepted after that. Begin a new authority in time."));
  }
  if (sources.revocations != nullptr) {
    expiry.push_back(Expiry("List of revoked certificates", sources.revocations->list()->next_update(),
                            "It stays in force, but misses what was revoked since. Bring the next one: blink provision "
                            "crl."));
  }
  if (const auto own = InspectCertificate(sources.own_certificate); own.ok()) {
    expiry.push_back(Expiry("Your certificate", own->not_after,
                            "You cannot sign in after that. Have a new one signed: blink provision sign."));
  }
  return expiry;
}

Json StageJson(const char* name, const Tally::Counts& counts) {
  const uint64_t rounds = std::accumulate(counts.counts.begin(), counts.counts.end(), uint64_t{0});
  return {{"name", name},
          {"rounds", rounds},
          {"mean_seconds", rounds == 0 ? Json(nullptr) : Json(counts.sum / static_cast<double>(rounds))}};
}

}  // namespace

void AddSystem(const SystemSources& sources, Json& json) {
  json["now_ms"] = absl::ToUnixMillis(absl::Now());
  json["program"] = {{"version", ProgramVersion()}, {"commit", ProgramCommit()}};
  json["ready"] = {{"ok", sources.ready.ok()}, {"why_not", TextUnlessOk(sources.ready)}};
  json["disk"] = DiskJson(sources.data_folder);
  const absl::Status can_store = sources.store.CheckCanStore();
  json["store"] = {{"writable", can_store.ok()}, {"why_not", TextUnlessOk(can_store)}};
  const PipelineActivity activity = sources.pipeline.GetActivity();
  json["worker"] = {{"queued", activity.queued}, {"running", activity.worker.has_value()}};
  if (activity.worker.has_value()) {
    json["worker"]["round"] = activity.worker->round_id;
    json["worker"]["stage"] = activity.worker->is_training ? "training" : "estimating";
    json["worker"]["progress"] = activity.worker->progress;
    json["worker"]["attempt"] = activity.worker->attempt;
    json["worker"]["silent_seconds"] = absl::ToDoubleSeconds(activity.worker->silent);
  }
  json["stages"] = {StageJson("open", activity.open_seconds), StageJson("estimating", activity.estimating_seconds),
                    StageJson("training", activity.training_seconds)};
  json["expiry"] = ExpiryJson(sources);
}

}  // namespace blink
