#include "tools/round/doctor_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/address.h"
#include "common/base/http_proxy.h"
#include "common/base/program.h"
#include "common/base/time_text.h"
#include "common/cli/settings.h"
#include "common/doctor/checks.h"
#include "common/doctor/print.h"
#include "common/doctor/tls_checks.h"
#include "tools/round/operator_client.h"

namespace blink {
namespace {

struct DoctorFlags {
  std::string config, aggregator, proxy;
  bool json = false;
};

void LookAtRole(const std::optional<OwnCertificate>& own, const OperatorConfig& config, Diagnosis& diagnosis) {
  if (!own.has_value()) return;
  const std::optional<Identity>& is = own->identity;
  if (is.has_value() && is->kind == Identity::Kind::kOperator && is->deployment == config.deployment) {
    diagnosis.Ok("identity", config.tls.certificate,
                 absl::StrCat("is of operator ", is->name, " of ", is->deployment, ", who may ", RoleName(is->role)));
    return;
  }
  diagnosis.Error("identity", config.tls.certificate,
                  absl::StrCat("is the certificate of ", own->info.uri_sans.empty() ? "nobody" : own->info.uri_sans[0],
                               ", and no operator of ", config.deployment, ": the aggregator will refuse every call"),
                  ExitCode::kRefusedByPeer,
                  "have one signed for an operator (blink provision enrol --operator, then sign)");
}

// A round cannot have been made in the future: this machine's clock runs behind the aggregator's then.
void LookAtRounds(const OperatorConfig& config, absl::Time now, Diagnosis& diagnosis) {
  absl::StatusOr<OperatorClient> client = OperatorClient::Connect(config);
  const absl::StatusOr<std::vector<v1::Round>> rounds =
      client.ok() ? client->List() : absl::StatusOr<std::vector<v1::Round>>(client.status());
  if (!rounds.ok()) {
    const ExitCode code =
        IsAggregatorsAnswer(rounds.status()) ? ExitCode::kRefusedByPeer : ExitCodeFor(rounds.status());
    diagnosis.Error("calls", config.aggregator, std::string(rounds.status().message()), code);
    return;
  }
  diagnosis.Ok("calls", config.aggregator, absl::StrCat("answers this operator, and has ", rounds->size(), " rounds"));
  absl::Time newest = absl::InfinitePast();
  for (const v1::Round& round : *rounds) newest = std::max(newest, absl::FromUnixMillis(round.created_ms()));
  if (newest <= now + absl::Minutes(1)) return;
  diagnosis.Warn("clock", config.aggregator,
                 absl::StrCat("its newest round was made on ", TimeText(newest), ", and this machine's clock says ",
                              TimeText(now), ": one of the two clocks is wrong"),
                 "timedatectl status, on both machines");
}

void LookAtOperator(const DoctorFlags& flags, Diagnosis& diagnosis) {
  const absl::Time now = absl::Now();
  const absl::StatusOr<OperatorConfig> config =
      LoadOperatorConfig(flags.config, {flags.aggregator, flags.proxy, ReadEnvironment()});
  if (!diagnosis.Judge(
          "configuration", flags.config, config.status(),
          config.ok() ? absl::StrCat("is of deployment ", config->deployment, " at ", config->aggregator) : "")) {
    return;  // all else follows from it
  }
  if (config->insecure) {
    diagnosis.NotLooked("certificate", config->aggregator, "there is no TLS (insecure)");
  } else {
    LookAtRole(LookAtTlsFiles(config->tls, CheckClientFiles(config->tls), now, diagnosis), *config, diagnosis);
  }
  LookAtClock({flags.config, config->tls.certificate, config->tls.key, config->tls.ca}, now, diagnosis);
  if (const absl::Status proxy = PrepareProxy(config->proxy, config->insecure); !proxy.ok()) {
    diagnosis.Error("proxy", "", proxy);
    return;
  }
  if (LookAtConnection(config->insecure ? nullptr : &config->tls, config->aggregator, config->proxy, now, diagnosis)) {
    LookAtRounds(*config, now, diagnosis);
  }
}

// `blink simulate` becomes a program that lies beside this one.
void LookAtHelper(Diagnosis& diagnosis) {
  const absl::StatusOr<std::string> folder = ProgramFolder();
  if (!folder.ok()) return;
  const std::string helper = *folder + "/blink-simulate";
  if (std::error_code error; std::filesystem::exists(helper, error)) LookAtProgram(helper, diagnosis);
}

}  // namespace

void AddDoctorCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Look for what would stop an operator's commands, or hurt later, and change nothing; the exit code is 0 without "
      "an error, and otherwise that of the first error");
  auto flags = std::make_shared<DoctorFlags>();
  command->add_option("--config", flags->config, "operator.conf, as blink provision makes it")
      ->envname(VariableName(kOperatorPrefix, "config"))
      ->required();
  command->add_option("--aggregator", flags->aggregator, "HOST:PORT instead of the one in the configuration")
      ->check(CLI::Validator([](std::string& text) { return std::string(ParseAddress(text).status().message()); }, ""));
  command
      ->add_option("--proxy", flags->proxy,
                   "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT of the proxy (HTTP CONNECT) that is the only "
                   "way to it, instead of the one in the configuration")
      ->check(
          CLI::Validator([](std::string& text) { return std::string(ParseHttpProxy(text).status().message()); }, ""));
  command->add_flag("--json", flags->json, "Print JSON");
  command->callback([flags, run] {
    *run = [flags] {
      Diagnosis diagnosis;
      LookAtOperator(*flags, diagnosis);
      LookAtHelper(diagnosis);
      return PrintDiagnosis(diagnosis, "blink", flags->json);
    };
  });
}

}  // namespace blink
