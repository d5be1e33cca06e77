#include "tools/privatise/command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/program_json.h"
#include "common/graph/dataset.h"
#include "common/graph/dataset_digest.h"
#include "common/graph/numpy_file.h"
#include "common/privacy/random_source.h"
#include "common/wire/degree_share.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/privatise/privatise.h"

namespace blink {
namespace {

constexpr char kTwoLists[] = "a link stands in the lists of both its ends";

struct Flags {
  std::string dataset, epsilon, output;
  std::optional<std::string> degree_share;
  bool json = false;
};

struct Budget {
  uint64_t epsilon_micro = 0;
  uint32_t degree_share_ppm = 0;
};

absl::StatusOr<Budget> BudgetOf(const Flags& flags) {
  Budget budget;
  BLINK_ASSIGN_OR_RETURN(budget.epsilon_micro, ParseEpsilon("--epsilon", flags.epsilon));
  budget.degree_share_ppm = DefaultDegreeSharePpm(budget.epsilon_micro, Prior::kBeta);
  if (flags.degree_share) {
    BLINK_ASSIGN_OR_RETURN(budget.degree_share_ppm, ParseDegreeShare("--degree-share", *flags.degree_share));
  }
  return budget;
}

std::string TextOf(const PrivacyParameters& p, const std::string& output) {
  return absl::StrFormat(
      "%s: noisy %s of %u nodes\n"
      "  cost      epsilon %g for one entry of one list (%g for the bits, %g for the degree)\n"
      "            epsilon %g for an undirected link: %s\n"
      "%s"
      "  again     a second draw costs the same again, and the two add up\n",
      output,
      !p.sends_bits()     ? "degrees"
      : !p.sends_degree() ? "bits"
                          : "bits and degrees",
      p.node_count(), p.epsilon(), p.epsilon_list(), p.epsilon_degree(), 2 * p.epsilon(), kTwoLists,
      p.sends_bits() ? absl::StrFormat("  flipped   each bit with probability %.9g\n", p.flip_probability()) : "");
}

std::string JsonOf(const PrivacyParameters& p, const Dataset& dataset, const std::string& output) {
  const nlohmann::ordered_json json = {
      {"format", 1},
      {"program", ProgramJson()},
      {"output", output},
      {"dataset", {{"name", dataset.name}, {"sha256", DigestToHex(DigestOfDataset(dataset))}}},
      {"nodes", p.node_count()},
      {"epsilon_per_entry", FromMillionths(p.epsilon_micro())},
      {"epsilon_per_link", FromMillionths(2 * p.epsilon_micro())},
      {"degree_share", FromMillionths(p.degree_share_ppm())},
      {"epsilon_list", p.epsilon_list()},
      {"epsilon_degree", p.epsilon_degree()},
      {"flip_probability", p.sends_bits() ? nlohmann::ordered_json(p.flip_probability()) : nlohmann::ordered_json()}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Of n nodes the bits are n^2 / 8 bytes. They are held as they are drawn, as an array, as a member of the file, and as
// the file.
absl::Status CheckMemoryFor(const PrivacyParameters& parameters) {
  if (!parameters.sends_bits()) return absl::OkStatus();
  const double n = parameters.node_count(), need = 4 * n * n / 8;
  const MachineMemory memory = FindMachineMemory();
  if (need <= static_cast<double>(memory.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the noisy bits of ", parameters.node_count(), " nodes need about ",
                                                   FormatBytes(need), " of memory, and ", memory.available_of, " has ",
                                                   FormatBytes(static_cast<double>(memory.available)),
                                                   " free: use a machine with more, or a smaller graph"));
}

absl::Status RunPrivatise(const Flags& flags, const Budget& budget) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(flags.output, error))) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.output,
                     " is there already and is left as it is: another draw would spend epsilon again; name another "
                     "file, or remove it"));
  }
  BLINK_RETURN_IF_ERROR(CheckCanWriteFile(flags.output));  // noise that cannot be kept would be drawn again
  BLINK_ASSIGN_OR_RETURN(const Dataset dataset, SuggestingPath(ReadDataset(flags.dataset), {flags.dataset}));
  BLINK_ASSIGN_OR_RETURN(
      const PrivacyParameters parameters,
      PrivacyParameters::Create(budget.epsilon_micro, budget.degree_share_ppm, dataset.graph.node_count()));
  BLINK_RETURN_IF_ERROR(CheckMemoryFor(parameters));
  BLINK_ASSIGN_OR_RETURN(const PrivatisedGraph noisy, Privatise(dataset.graph, parameters, SecureRandom()));
  BLINK_RETURN_IF_ERROR(WriteNpz(ArraysOf(noisy), flags.output));
  const std::string text = flags.json ? JsonOf(parameters, dataset, flags.output) : TextOf(parameters, flags.output);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddPrivatiseCommand(CLI::App& app, std::function<int()>* run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "privatise", "Write the noisy bits and degrees of every node of a data set, for an estimator of your own");
  command->add_option("--dataset", flags->dataset, "Data-set folder, with its links")->required();
  command
      ->add_option("--epsilon", flags->epsilon,
                   "Budget of a report, for one entry of one list, (0, 50]; an undirected link costs twice as much")
      ->required();
  command->add_option("--degree-share", flags->degree_share,
                      "Share of the budget that pays for the degree, 0 .. 1 (by epsilon: docs/TUNING.md)");
  command
      ->add_option("--output", flags->output,
                   "File to write, .npz; one that is there is never replaced, since a second draw spends epsilon again")
      ->required()
      ->check(NotEmpty());
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->footer(absl::StrCat(
      "Arrays of the file:\n"
      "  bits              uint8 [n, ceil(n / 8)]: numpy.unpackbits(bits, axis=1, count=n, bitorder='little');\n"
      "                    absent where the degree share is 1\n"
      "  degrees           int64 [n], noisy, may be negative; absent where the degree share is 0\n"
      "  epsilon, epsilon_per_link, degree_share, epsilon_list, epsilon_degree, flip_probability\n"
      "                    numbers\n\n",
      ExitCodeTable()));
  command->callback([flags, run] {
    *run = [flags] {
      const absl::StatusOr<Budget> budget = BudgetOf(*flags);
      return budget.ok() ? Finish(RunPrivatise(*flags, *budget)) : FinishWrongFlags(budget.status());
    };
  });
}

}  // namespace blink
