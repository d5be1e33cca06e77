#include "tools/provision/command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/cli/decimal.h"
#include "common/cli/progress.h"
#include "common/cli/suggestion.h"
#include "tools/command_line.h"
#include "tools/provision/provision.h"

namespace blink {
namespace {

// Lets *run read the flags and then do the work. What `read` refuses are wrong flags; only `work` uses files.
void Bind(CLI::App* command, std::function<int()>* run, std::function<absl::Status()> read,
          std::function<absl::Status()> work) {
  command->callback([run, read = std::move(read), work = std::move(work)] {
    *run = [read, work] {
      const absl::Status flags = read();
      return flags.ok() ? Finish(work()) : FinishWrongFlags(flags);
    };
  });
}

// Returns a function that reads a flag that says for how long something is good.
std::function<absl::Status()> ReadDuration(const char* flag, const std::string& text, absl::Duration& duration) {
  return [flag, &text, &duration]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(duration, ParsePositiveDuration(flag, text, absl::Seconds(1)));
    return absl::OkStatus();
  };
}

struct PolicyFlags {
  std::string epsilon_per_round_max = "8";
  std::string epsilon_lifetime_max = "64";
  std::string epoch_min = "24h";
  uint32_t node_count_min = 3;
  std::string send_spread = "0s";

  void AddTo(CLI::App* command) {
    const std::string group = "Policy suggested to the nodes (policy.json of every kit)";
    command->add_option("--epsilon-per-round-max", epsilon_per_round_max, "Largest epsilon of one report")
        ->capture_default_str()
        ->group(group);
    command
        ->add_option("--epsilon-lifetime-max", epsilon_lifetime_max,
                     "Largest sum of epsilon over all draws of one node")
        ->capture_default_str()
        ->group(group);
    command->add_option("--epoch-min", epoch_min, "Shortest time between two snapshots of the lists (24h, 7d)")
        ->capture_default_str()
        ->group(group);
    command->add_option("--node-count-min", node_count_min, "Smallest roster that a node reports on")
        ->capture_default_str()
        ->group(group);
    command->add_option("--send-spread", send_spread, "The first sending of a round is spread over this time")
        ->capture_default_str()
        ->group(group);
  }

  absl::StatusOr<KitPolicy> Parse() const {
    KitPolicy policy;
    BLINK_ASSIGN_OR_RETURN(policy.epsilon_micro_per_round_max,
                           ParseMicro("--epsilon-per-round-max", epsilon_per_round_max));
    BLINK_ASSIGN_OR_RETURN(policy.epsilon_micro_lifetime_max,
                           ParseMicro("--epsilon-lifetime-max", epsilon_lifetime_max));
    BLINK_ASSIGN_OR_RETURN(const absl::Duration epoch,
                           ParsePositiveDuration("--epoch-min", epoch_min, absl::Seconds(1)));
    BLINK_ASSIGN_OR_RETURN(const absl::Duration spread,
                           ParsePositiveDuration("--send-spread", send_spread, absl::Seconds(1)));
    policy.epoch_seconds_min = absl::ToInt64Seconds(epoch);
    policy.send_spread_seconds = absl::ToInt64Seconds(spread);
    policy.node_count_min = node_count_min;
    return policy;
  }
};

struct AuthorityFlags {
  AuthorityOptions options;
  PolicyFlags policy;

  void AddTo(CLI::App* command) {
    command->add_option("--out,--output", options.out, "Folder to make; must not exist")->required();
    command->add_option("--deployment", options.deployment, "Name of the deployment: a-z, 0-9 and -")->required();
    command->add_option("--nodes", options.node_count, "Number of nodes n of the roster")->required();
    command->add_option("--roster-version", options.roster_version, "Version of the roster")->capture_default_str();
    command->add_option("--aggregator", options.aggregator, "HOST:PORT where the kits find the aggregator")->required();
    command->add_flag("--insecure", options.insecure, "Kits without TLS (loopback only, for tests)");
    policy.AddTo(command);
  }
};

void AddInit(CLI::App* provision, std::function<int()>* run) {
  CLI::App* command = provision->add_subcommand("init", "Make a certificate authority and its empty list of names");
  auto flags = std::make_shared<AuthorityFlags>();
  flags->AddTo(command);
  const auto read = [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(flags->options.policy, flags->policy.Parse());
    return CheckAuthorityOptions(flags->options);
  };
  Bind(command, run, read, [flags]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(InitAuthority(flags->options));
    std::printf("Made %s. Keep %s/ca/ca.key secret: whoever has it can name anybody.\n", flags->options.out.c_str(),
                flags->options.out.c_str());
    return absl::OkStatus();
  });
}

absl::StatusOr<NodeRange> ReadRange(const char* flag, const std::string& text) {
  const absl::StatusOr<NodeRange> range = ParseNodeRange(text, kNodesMax);
  if (range.ok()) return range;
  return Reworded(range.status(), absl::StrCat(flag, ": ", range.status().message()));
}

struct EnrolFlags {
  std::string out, name, nodes, node, operator_name;
  std::optional<std::string> role;
  bool aggregator = false;
  std::vector<std::string> dns, ip;
  Enrolled entry;  // what they say

  absl::StatusOr<Enrolled> Parse() const {
    const int kinds = !nodes.empty() + !node.empty() + !operator_name.empty() + aggregator;
    if (kinds != 1)
      return absl::InvalidArgumentError("give exactly one of --node, --nodes, --operator and --aggregator");
    if (!aggregator && (!dns.empty() || !ip.empty())) {
      return absl::InvalidArgumentError("--dns and --ip are for --aggregator: clients are known by their URI alone");
    }
    if (role && operator_name.empty()) return absl::InvalidArgumentError("--role is for --operator");
    Enrolled entry = {.dns_names = dns, .ip_addresses = ip};
    if (aggregator) {
      entry.identity.kind = Identity::Kind::kAggregator;
      entry.name = "aggregator";
    } else if (!operator_name.empty()) {
      entry.identity.kind = Identity::Kind::kOperator;
      entry.identity.name = operator_name;
      for (const Role possible : {Role::kRead, Role::kCreate}) {
        if (role == RoleName(possible)) entry.identity.role = possible;
      }
      entry.name = operator_name;
    } else {
      BLINK_ASSIGN_OR_RETURN(const NodeRange range,
                             node.empty() ? ReadRange("--nodes", nodes) : ReadRange("--node", node));
      if (!node.empty() && range.first != range.last) {
        return absl::InvalidArgumentError(
            absl::StrCat("--node ", node, " is a range, and --node takes one node: write --nodes ", node));
      }
      entry.identity.first_node = range.first;
      entry.identity.last_node = range.last;
      entry.name = NameOfNodes(range.first, range.last);
    }
    if (!name.empty()) entry.name = name;
    return entry;
  }
};

void AddEnrol(CLI::App* provision, std::function<int()>* run) {
  CLI::App* command = provision->add_subcommand("enrol", "Add a name to the authority's list and make its folder");
  auto flags = std::make_shared<EnrolFlags>();
  command->add_option("--out,--output", flags->out, "Folder of the authority")->required();
  command->add_option("--name", flags->name, "Name on the list and of the folder; default: node-3, nodes-0-135, ...");
  command->add_option("--node", flags->node, "One node");
  command->add_option("--nodes", flags->nodes, "A range of nodes of one gateway: 0-135");
  command->add_option("--operator", flags->operator_name, "An operator");
  command
      ->add_option("--role", flags->role,
                   "What the operator may do. read: look at rounds and results; create: also create rounds, and end "
                   "those; administer: everything (administer)")
      ->transform(OneOf({RoleName(Role::kRead), RoleName(Role::kCreate), RoleName(Role::kAdminister)}));
  command->add_flag("--aggregator", flags->aggregator, "The aggregator");
  command->add_option("--dns", flags->dns, "DNS name of the aggregator (repeatable)");
  command->add_option("--ip", flags->ip, "IP address of the aggregator (repeatable)");
  const auto read = [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(flags->entry, flags->Parse());
    return absl::OkStatus();
  };
  Bind(command, run, read, [flags]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(Enrol(flags->out, flags->entry));
    std::printf("Enrolled %s.\n", flags->entry.name.c_str());
    return absl::OkStatus();
  });
}

void AddSign(CLI::App* provision, std::function<int()>* run) {
  struct Flags {
    std::string out, name, request, certificate;
    std::string valid_for = "365d";
    std::vector<std::string> dns, ip;
    absl::Duration duration;
  };
  CLI::App* command = provision->add_subcommand("sign", "Sign the certificate request of an enrolled name");
  auto flags = std::make_shared<Flags>();
  command->add_option("--out", flags->out, "Folder of the authority")->required();
  command->add_option("--name", flags->name, "Enrolled name")->required();
  command->add_option("--request", flags->request, "Request, as blink-node init makes it (tls/client.csr)")->required();
  command->add_option("--certificate,--output", flags->certificate, "Where the certificate goes")->required();
  command->add_option("--valid-for", flags->valid_for, "Validity from now")->capture_default_str();
  command->add_option("--dns", flags->dns, "One more DNS name of the aggregator (repeatable)");
  command->add_option("--ip", flags->ip, "One more IP address of the aggregator (repeatable)");
  Bind(command, run, ReadDuration("--valid-for", flags->valid_for, flags->duration), [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const absl::Time end,
                           SignRequest(flags->out, flags->name, flags->request, flags->certificate, flags->duration,
                                       flags->dns, flags->ip));
    std::printf("Signed for %s: %s, good until %s.\n", flags->name.c_str(), flags->certificate.c_str(),
                TimeText(end).c_str());
    return absl::OkStatus();
  });
}

void AddRequest(CLI::App* provision, std::function<int()>* run) {
  struct Flags {
    std::string key, request, name;
  };
  CLI::App* command = provision->add_subcommand("request", "Make a key and a request for it (aggregator, operators)");
  auto flags = std::make_shared<Flags>();
  command->add_option("--key", flags->key, "Where the key goes (mode 0600); must not exist")->required();
  command->add_option("--request", flags->request, "Where the request goes")->required();
  command->add_option("--name", flags->name, "For people: who asks")->required();
  Bind(command, run, absl::OkStatus, [flags]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(MakeKeyAndRequest(flags->key, flags->request, flags->name));
    std::printf(
        "Made the key %s, which stays here, and the request %s for %s: have it signed with blink provision "
        "sign.\n",
        flags->key.c_str(), flags->request.c_str(), flags->name.c_str());
    return absl::OkStatus();
  });
}

void AddRevoke(CLI::App* provision, std::function<int()>* run) {
  struct Flags : RevokeOptions {
    std::string valid_for = "90d";
    absl::Duration duration;
  };
  CLI::App* command = provision->add_subcommand("revoke", "Revoke certificates and write OUT/revoked.crl.pem");
  auto flags = std::make_shared<Flags>();
  command->add_option("--out,--output", flags->out, "Folder of the authority")->required();
  command->add_option("--name", flags->name, "Enrolled name")->required();
  command->add_option("--serial", flags->serial,
                      "One certificate, in hexadecimal; default: every certificate of the name");
  command->add_option("--reason", flags->reason, absl::StrCat("One of ", absl::StrJoin(RevocationReasons(), ", ")))
      ->transform(OneOf(RevocationReasons()))
      ->capture_default_str();
  command->add_option("--list-valid-for", flags->valid_for, "How long the list is good; then the aggregator warns")
      ->capture_default_str();
  Bind(command, run, ReadDuration("--list-valid-for", flags->valid_for, flags->duration), [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const size_t count, Revoke(*flags, flags->duration));
    std::printf(
        "Revoked %zu certificate%s of %s. Bring %s/revoked.crl.pem to the aggregator: it takes effect there within a "
        "second.\n",
        count, count == 1 ? "" : "s", flags->name.c_str(), flags->out.c_str());
    return absl::OkStatus();
  });
}

void AddCrl(CLI::App* provision, std::function<int()>* run) {
  struct Flags {
    std::string out;
    std::string valid_for = "90d";
    absl::Duration duration;
  };
  CLI::App* command =
      provision->add_subcommand("crl", "Write OUT/revoked.crl.pem anew, under the next number and with a new date");
  auto flags = std::make_shared<Flags>();
  command->add_option("--out,--output", flags->out, "Folder of the authority")->required();
  command->add_option("--list-valid-for", flags->valid_for, "How long the list is good; then the aggregator warns")
      ->capture_default_str();
  Bind(command, run, ReadDuration("--list-valid-for", flags->valid_for, flags->duration), [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const RevocationListSummary list, RenewRevocationList(flags->out, flags->duration));
    std::printf(
        "Made %s/revoked.crl.pem anew: number %llu with %zu revoked certificates, good until %s. Bring it "
        "to the aggregator.\n",
        flags->out.c_str(), static_cast<unsigned long long>(list.number), list.revoked,
        TimeText(list.good_until).c_str());
    return absl::OkStatus();
  });
}

// Lists the first names alone: a fleet has a hundred thousand, and enrolment.json has them all.
std::string ListNames(const std::vector<std::string>& names) {
  constexpr size_t kNamesMax = 20;
  if (names.size() <= kNamesMax) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kNamesMax, ", "), " and ", names.size() - kNamesMax,
                      " more");
}

void PrintSummary(const RosterSummary& summary, const std::string& out) {
  std::printf(
      "Roster version %llu: %u nodes, %u of them active. Bring %s/aggregator/roster.json to the aggregator, restart "
      "it, and bring "
      "kit.json to the devices of %zu kits.\n",
      static_cast<unsigned long long>(summary.version), summary.node_count, summary.active_count, out.c_str(),
      summary.kits);
  if (!summary.revoked.empty()) {
    std::printf("Revoked the certificates of %s: bring %s/revoked.crl.pem as well.\n",
                ListNames(summary.revoked).c_str(), out.c_str());
  }
  if (!summary.kits_missing.empty()) {
    std::printf("Not in %s/kits, so their kit.json needs \"node_count\" and \"roster_version\" by hand: %s\n",
                out.c_str(), ListNames(summary.kits_missing).c_str());
  }
}

void AddRoster(CLI::App* provision, std::function<int()>* run) {
  struct Flags {
    std::string out;
    uint32_t nodes = 0;
    std::vector<std::string> retire;
    RosterChange change;  // what they say
  };
  CLI::App* command = provision->add_subcommand(
      "roster",
      "Make the next roster: nodes join and retire; without a change, write the files of the present one again");
  auto flags = std::make_shared<Flags>();
  command->add_option("--out,--output", flags->out, "Folder of the authority")->required();
  command->add_option("--nodes", flags->nodes, "New number of nodes n; never fewer than before");
  command->add_option("--retire", flags->retire, "A node (7) or a range (100-135) that leaves for good (repeatable)");
  const auto read = [flags, command]() -> absl::Status {
    flags->change.out = flags->out;
    if (command->count("--nodes") > 0) flags->change.node_count = flags->nodes;
    for (const std::string& text : flags->retire) {
      BLINK_ASSIGN_OR_RETURN(const NodeRange range, ReadRange("--retire", text));
      flags->change.retire.push_back(range);
    }
    return absl::OkStatus();
  };
  Bind(command, run, read, [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const RosterSummary summary, ChangeRoster(flags->change, kRevocationListValidFor));
    PrintSummary(summary, flags->out);
    return absl::OkStatus();
  });
}

void PrintList(const CertificateList& list) {
  std::printf("Authority good until %s; revocation list %s.\n", TimeText(list.authority_until).c_str(),
              list.revocations_until.has_value()
                  ? absl::StrCat("good until ", TimeText(*list.revocations_until)).c_str()
                  : "missing or not readable: make one (blink provision crl)");
  size_t name_width = 4, identity_width = 8;
  for (const ListedCertificate& listed : list.certificates) {
    name_width = std::max(name_width, listed.name.size());
    identity_width = std::max(identity_width, listed.identity.size());
  }
  const auto print = [&](const char* name, const char* identity, const char* state, const std::string& until,
                         const char* serial) {
    std::printf("%-*s  %-*s  %-12s  %-23s  %s\n", static_cast<int>(name_width), name, static_cast<int>(identity_width),
                identity, state, until.c_str(), serial);
  };
  print("name", "identity", "state", "until", "serial number");
  for (const ListedCertificate& listed : list.certificates) {
    const std::string until = listed.serial.empty()                    ? "-"
                              : listed.until == absl::InfiniteFuture() ? "not recorded"
                                                                       : TimeText(listed.until);
    print(listed.name.c_str(), listed.identity.c_str(), listed.state.c_str(), until,
          listed.serial.empty() ? "-" : listed.serial.c_str());
  }
}

void AddList(CLI::App* provision, std::function<int()>* run) {
  CLI::App* command = provision->add_subcommand("list", "Who has which certificate until when");
  auto out = std::make_shared<std::string>();
  command->add_option("--out,--output", *out, "Folder of the authority")->required();
  Bind(command, run, absl::OkStatus, [out]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const CertificateList list, ListCertificates(*out, absl::Now()));
    PrintList(list);
    return absl::OkStatus();
  });
}

void AddSimulate(CLI::App* provision, std::function<int()>* run) {
  struct Flags : AuthorityFlags {
    uint32_t kits = 1;
    std::string listen;
    std::vector<std::string> dns, ip;
    FleetOptions Fleet() const {
      return {.authority = options, .kits = kits, .listen = listen, .dns_names = dns, .ip_addresses = ip};
    }
  };
  CLI::App* command = provision->add_subcommand(
      "simulate", "Make authority, aggregator, operator and kits at once, keys included: for simulations only");
  auto flags = std::make_shared<Flags>();
  flags->AddTo(command);
  command->add_option("--kits", flags->kits, "Number of gateways that share the nodes, 1 .. n")->required();
  command->add_option("--listen", flags->listen,
                      "HOST:PORT that the aggregator binds; default: its address, or 0.0.0.0");
  command->add_option("--dns", flags->dns, "One more DNS name of the aggregator (repeatable)");
  command->add_option("--ip", flags->ip, "One more IP address of the aggregator (repeatable)");
  const auto read = [flags]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(flags->options.policy, flags->policy.Parse());
    return CheckFleetOptions(flags->Fleet());
  };
  Bind(command, run, read, [flags]() -> absl::Status {
    ProgressBar progress("folders", flags->kits + 2, flags->kits > 100);
    BLINK_RETURN_IF_ERROR(ProvisionFleet(flags->Fleet(), [&](uint32_t done) { progress.Update(done); }));
    std::printf("Made %s: an aggregator, an operator and %u kits for %u nodes. Next: blink dataset shard.\n",
                flags->options.out.c_str(), flags->kits, flags->options.node_count);
    return absl::OkStatus();
  });
}

}  // namespace

void AddProvisionCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* provision = app.add_subcommand("provision", "Certificates and start-up kits");
  provision->require_subcommand(1);
  AddInit(provision, run);
  AddEnrol(provision, run);
  AddSign(provision, run);
  AddRequest(provision, run);
  AddRevoke(provision, run);
  AddCrl(provision, run);
  AddRoster(provision, run);
  AddList(provision, run);
  AddSimulate(provision, run);
}

}  // namespace blink
