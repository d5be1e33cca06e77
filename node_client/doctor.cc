#include "node_client/doctor.h"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/cli/config_file.h"
#include "common/doctor/checks.h"
#include "common/doctor/tls_checks.h"
#include "common/wire/report_codec.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "node_client/policy_file.h"

namespace blink {
namespace {

// A certificate that covers other nodes is good for a connection, and every call of it is refused.
void LookAtOwner(const std::optional<OwnCertificate>& own, const KitConfig& kit, Diagnosis& diagnosis) {
  if (!own.has_value()) return;
  const Identity wanted = {.kind = Identity::Kind::kNodes,
                           .deployment = kit.deployment,
                           .first_node = kit.first_node,
                           .last_node = kit.last_node};
  const std::optional<Identity>& is = own->identity;
  if (is.has_value() && is->deployment == kit.deployment && is->Covers(kit.first_node) && is->Covers(kit.last_node)) {
    diagnosis.Ok("identity", kit.certificate_path(), absl::StrCat("covers ", kit.NodesName(), " of ", kit.deployment));
    return;
  }
  const std::string names = own->info.uri_sans.empty() ? "nobody" : own->info.uri_sans[0];
  diagnosis.Error("identity", kit.certificate_path(),
                  absl::StrCat("is the certificate of ", names, ", and the kit needs one of ", wanted.ToUri(),
                               ": the aggregator will refuse every call"),
                  ExitCode::kRefusedByPeer, "have it signed for this kit (blink provision sign)");
}

// By the file system alone: what is in the file is private.
void LookAtLists(const std::string& path, Diagnosis& diagnosis) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    const absl::Status missing = FileError(errno, "open", path);
    diagnosis.Error("lists", path, missing, "write this kit's links there, after a line node,neighbour");
    return;
  }
  if (!S_ISREG(info.st_mode)) {
    diagnosis.Error("lists", path, "is no regular file", ExitCode::kBadInput);
    return;
  }
  if (::access(path.c_str(), R_OK) != 0) {
    diagnosis.Error("lists", path, FileError(errno, "open", path));
    return;
  }
  LookAtMode("lists", path, diagnosis);
  diagnosis.NotLooked("lists", path, "was not opened: a start checks its lines");
}

void LookAtTls(const KitConfig& kit, absl::Time now, Diagnosis& diagnosis) {
  if (kit.insecure) {
    diagnosis.Judge("certificate", kit.aggregator, RequireLoopback(kit.aggregator),
                    "no certificate is needed on loopback (insecure)");
    return;
  }
  const TlsFiles files{kit.certificate_path(), kit.key_path(), kit.ca_path()};
  LookAtOwner(LookAtTlsFiles(files, CheckClientFiles(files), now, diagnosis), kit, diagnosis);
}

void LookAtJournal(const NodeDoctorOptions& options, const KitConfig& kit, Diagnosis& diagnosis) {
  const std::string path = options.journal + "/journal.blj";
  const JournalIdentity identity{kit.deployment, kit.first_node, kit.last_node, kit.node_count, kit.roster_version};
  const absl::Status opened = Journal::OpenReadOnly(options.journal, identity, options.anchor).status();
  if (opened.ok()) {
    diagnosis.Ok("journal", path, absl::StrCat("can be read, and is of ", kit.NodesName()));
  } else {
    diagnosis.Error("journal", path, std::string(opened.message()), JournalExitCode(opened));
    return;
  }
  for (const std::string& file : {path, options.journal + "/journal.lock"}) {
    if (::access(file.c_str(), F_OK) != 0 || ::access(file.c_str(), R_OK | W_OK) == 0) continue;
    diagnosis.Error("journal", file, std::string(FileError(errno, "open", file).message()), ExitCode::kJournal);
  }
  LookAtMode("journal", path, diagnosis);
  LookAtFolder("journal", options.journal, diagnosis);
  LookAtMode("journal", options.journal, diagnosis);
  struct stat journal {
  }, anchor{};
  if (!options.anchor.empty() && ::stat(path.c_str(), &journal) == 0 && ::stat(options.anchor.c_str(), &anchor) == 0 &&
      journal.st_dev == anchor.st_dev) {
    diagnosis.Warn("journal", options.anchor,
                   "the anchor is on the journal's volume: whoever restores an older copy of the one restores the "
                   "other with it",
                   "keep the anchor on another volume");
  }
}

// Every drawn report stays in the journal.
void LookAtRoom(const NodeDoctorOptions& options, const KitConfig& kit, Diagnosis& diagnosis) {
  const double report = 256 + static_cast<double>(CodedBytesMax(kit.node_count));
  LookAtDisk(options.journal, report * kit.hosted(), absl::StrCat("a round of ", kit.NodesName()), diagnosis);
}

}  // namespace

void DiagnoseNode(const NodeDoctorOptions& options, Diagnosis& diagnosis) {
  const absl::Time now = absl::Now();
  absl::StatusOr<KitConfig> kit = LoadKitConfig(options.kit);
  const std::string kit_path = options.kit + "/kit.json";
  if (!diagnosis.Judge("kit", kit_path, kit.status(),
                       kit.ok() ? absl::StrCat("is of ", kit->NodesName(), ", deployment ", kit->deployment) : "")) {
    return;  // all else follows from it
  }
  if (!options.proxy.empty()) kit->proxy = options.proxy;
  const std::string policy_path = options.policy.empty() ? DefaultPolicyPath(options.kit) : options.policy;
  const absl::StatusOr<NodePolicy> policy = LoadPolicy(policy_path);
  if (!policy.ok()) {
    diagnosis.Error("policy", policy_path, policy.status());
  } else if (const absl::Status allowed = CheckDeployment(*policy, kit->deployment); !allowed.ok()) {
    diagnosis.Error("policy", policy_path, std::string(allowed.message()), ExitCode::kRefusedByPolicy);
  } else {
    diagnosis.Ok("policy", policy_path, absl::StrCat("allows deployment ", kit->deployment));
  }
  LookAtTls(*kit, now, diagnosis);
  const std::string lists = kit->folder + "/lists.csv";
  LookAtLists(lists, diagnosis);
  LookAtJournal(options, *kit, diagnosis);
  LookAtRoom(options, *kit, diagnosis);
  const absl::Status proxy = PrepareProxy(kit->proxy, kit->insecure);
  if (!proxy.ok()) {
    diagnosis.Error("proxy", "", proxy);
  } else {
    const TlsFiles files{kit->certificate_path(), kit->key_path(), kit->ca_path()};
    LookAtConnection(kit->insecure ? nullptr : &files, kit->aggregator, kit->proxy, now, diagnosis);
  }
  LookAtClock({kit_path, policy_path, kit->certificate_path(), kit->key_path(), kit->ca_path(), lists,
               options.journal + "/journal.blj"},
              now, diagnosis);
}

}  // namespace blink
