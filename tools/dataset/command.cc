#include "tools/dataset/command.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/cli/program_json.h"
#include "common/graph/dataset_digest.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/dataset/files.h"

namespace blink {
namespace {

// "mean_degree is ..." becomes "--mean-degree is ...".
std::string NamingTheFlag(absl::string_view message) {
  const size_t name = message.find(' ');
  return absl::StrCat("--", absl::StrReplaceAll(message.substr(0, name), {{"_", "-"}}), message.substr(name));
}

// A file or folder that is the first argument. It may also be given as an option, as older scripts do. Then the help
// does not list the option.
struct FirstArgument {
  const char* name;
  const char* option_name;

  void AddTo(CLI::App* command, std::string& value, const char* what) const {
    CLI::Option* option = command->add_option(option_name, value)->group("");
    command->add_option(name, value, what)->option_text("REQUIRED")->excludes(option);
  }
  // To be called in CLI11's callback: then what it throws ends the parsing, as other wrong flags do.
  void Require(const CLI::App& command) const {
    if (command.count(option_name) + command.count(name) == 0) throw CLI::RequiredError(name);
  }
};
constexpr FirstArgument kDataset = {"dataset", "--dataset"};
constexpr FirstArgument kInput = {"input", "--input"};

void PrintSummary(const DatasetSummary& s, const Dataset& dataset, bool json) {
  if (json) {
    nlohmann::ordered_json out = {
        {"format", 1},
        {"program", ProgramJson()},
        {"name", s.name},
        {"sha256", DigestToHex(DigestOfDataset(dataset))},
        {"attributes_sha256", DigestToHex(DigestOfAttributes(dataset.attributes))},
        {"nodes", s.nodes},
        {"links", s.links},
        {"features", s.features},
        {"classes", s.classes},
        {"degree",
         {{"min", s.degree_min},
          {"median", s.degree_median},
          {"mean", s.degree_mean},
          {"max", s.degree_max},
          {"isolated", s.isolated}}},
        {"homophily", std::isnan(s.homophily) ? nlohmann::ordered_json() : nlohmann::ordered_json(s.homophily)},
        {"feature_density", s.feature_density},
        {"split", {{"train", s.train}, {"validation", s.validation}, {"test", s.test}}},
        {"unlabelled", s.unlabelled}};
    std::printf("%s\n", out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%s\n", s.name.c_str());
  std::printf("  nodes      %u (%u isolated)\n", s.nodes, s.isolated);
  std::printf("  links      %llu\n", static_cast<unsigned long long>(s.links));
  std::printf("  degree     mean %.2f, median %u, from %u to %u\n", s.degree_mean, s.degree_median, s.degree_min,
              s.degree_max);
  std::printf("  homophily  %s (share of links within a class)\n",
              std::isnan(s.homophily) ? "none" : absl::StrFormat("%.3f", s.homophily).c_str());
  if (s.unlabelled < s.nodes) {
    std::printf("  classes    %u (%u nodes without a label)\n", s.classes, s.unlabelled);
  } else {
    std::printf("  classes    none: no node has a label\n");
  }
  std::printf("  features   %u (%.2f %% of the entries are not 0)\n", s.features, 100 * s.feature_density);
  std::printf("  split      %u train, %u validation, %u test\n", s.train, s.validation, s.test);
}

struct GenerateFlags {
  SyntheticOptions synthetic;
  std::string output;
};

int RunGenerate(const GenerateFlags& flags) {
  const absl::StatusOr<Dataset> made = GenerateDataset(flags.synthetic);
  if (absl::IsInvalidArgument(made.status())) {  // the flags are all that it is made from
    return FinishWrongFlags(absl::InvalidArgumentError(NamingTheFlag(made.status().message())));
  }
  return Finish([&]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(made.status());
    std::error_code error;
    if (std::filesystem::exists(flags.output + "/labels.csv", error)) {
      return absl::InvalidArgumentError(absl::StrCat(flags.output, " holds a data set already: choose another folder"));
    }
    BLINK_RETURN_IF_ERROR(WriteDataset(*made, flags.output));
    std::printf("%s: %u nodes, %llu links, %u features, %u classes\n", flags.output.c_str(), made->graph.node_count(),
                static_cast<unsigned long long>(made->graph.link_count()), made->attributes.features.cols,
                made->attributes.class_count);
    return absl::OkStatus();
  }());
}

void AddGenerate(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = dataset.add_subcommand(
      "generate",
      "Make a synthetic data set: a degree-corrected block model with features and labels; the defaults resemble Cora");
  command->add_option("--output", flags->output, "Folder to make; must not hold a data set yet")->required();
  SyntheticOptions& s = flags->synthetic;
  command->add_option("--nodes", s.nodes, "Number of nodes, at least 3")->capture_default_str();
  command->add_option("--classes", s.classes, "Number of classes")->capture_default_str();
  command->add_option("--mean-degree", s.mean_degree, "Mean number of links of a node")->capture_default_str();
  command->add_option("--homophily", s.homophily, "Share of links within a class, 0 to 1")->capture_default_str();
  command->add_option("--features", s.features, "Number of binary features (words); 0 for none")->capture_default_str();
  command->add_option("--words-per-node", s.words_per_node, "Mean number of words of a node")->capture_default_str();
  command->add_option("--seed", s.seed, "The same seed gives the same data set on every machine")
      ->check(CLI::Validator(
          [](std::string& text) { return absl::StartsWith(text, "-") ? text + " is negative" : std::string(); }, ""))
      ->capture_default_str();
  command->callback([flags, run] { *run = [flags] { return RunGenerate(*flags); }; });
}

struct InfoFlags {
  std::string folder;
  bool json = false;
};

absl::Status DescribeDataset(const InfoFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const Dataset read, SuggestingPath(ReadDataset(flags.folder), flags.folder));
  PrintSummary(SummariseDataset(read), read, flags.json);
  return absl::OkStatus();
}

void AddInfo(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* command = dataset.add_subcommand("info", "Describe a data-set folder: counts, degrees, homophily, split");
  kDataset.AddTo(command, flags->folder, "Data-set folder");
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, command, run] {
    kDataset.Require(*command);
    *run = [flags] { return Finish(DescribeDataset(*flags)); };
  });
}

absl::Status ConvertToDataset(const ConvertOptions& options) {
  CsrGraph graph;
  BLINK_ASSIGN_OR_RETURN(const EdgeListReport report, ConvertEdgeList(options, &graph));
  std::printf("%s: %u nodes, %llu links from %llu lines; dropped %llu duplicates and %llu self-loops; %s\n",
              options.output.c_str(), graph.node_count(), static_cast<unsigned long long>(graph.link_count()),
              static_cast<unsigned long long>(report.lines), static_cast<unsigned long long>(report.duplicates_dropped),
              static_cast<unsigned long long>(report.self_loops_dropped),
              report.mapped ? "ids were renumbered, see nodes.csv" : "ids are as they were");
  if (report.nodes_added > 0) std::printf("  %u nodes have a label but no link\n", report.nodes_added);
  if (report.maybe_header) {
    std::printf(
        "  the first line was taken for a link, but no other line has its ids: if it is a header, put a # before it\n");
  }
  return absl::OkStatus();
}

void AddConvert(CLI::App& dataset, std::function<int()>* run) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = dataset.add_subcommand(
      "convert", "Turn an edge list (CSV, TSV or SNAP; plain or gzip; any ids) into a data-set folder");
  kInput.AddTo(command, options->input, "The edge list: two ids a line, with or without a header");
  command->add_option("--output", options->output, "Folder to make")->required();
  command->add_option(
      "--labels", options->labels,
      "node,label rows to bring along (original ids, integer labels); may name nodes that have no link");
  command->add_option("--split", options->split, "node,split rows to bring along (original ids)");
  command->add_option("--random-split", options->random_split,
                      "Draw a split by this seed instead: of the nodes with a label (--labels) half for training, a "
                      "quarter for validation, the rest for the test");
  command->add_option("--features", options->features,
                      "features.npz or .npy to bring along (rows in the order of the new ids)");
  command->add_flag(
      "--names", options->names,
      "Ids are names, even where some look like numbers; otherwise a name in a list of integers is refused");
  command->callback([options, command, run] {
    kInput.Require(*command);
    *run = [options] {
      const absl::Status usable = CheckSplitOptions(*options);
      return usable.ok() ? Finish(ConvertToDataset(*options)) : FinishWrongFlags(usable);
    };
  });
}

struct ShardFlags {
  std::string folder, out;
};

absl::Status CutIntoKits(const ShardFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const Dataset read, SuggestingPath(ReadDataset(flags.folder), flags.folder));
  BLINK_ASSIGN_OR_RETURN(const ShardReport report, ShardDataset(read, flags.out));
  std::printf("%s: lists of %u of %u nodes in %u kits, attributes in aggregator/attributes\n", flags.out.c_str(),
              report.nodes, read.graph.node_count(), report.kits);
  return absl::OkStatus();
}

void AddShard(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<ShardFlags>();
  CLI::App* command = dataset.add_subcommand("shard",
                                             "Cut a data set for a simulated fleet: each node's list into its kit, the "
                                             "public attributes into the aggregator's folder");
  command->add_option("--dataset", flags->folder, "Data-set folder")->required();
  command->add_option("--out,--output", flags->out, "Provisioning folder made by `blink provision`")->required();
  command->callback([flags, run] { *run = [flags] { return Finish(CutIntoKits(*flags)); }; });
}

}  // namespace

void AddDatasetCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* dataset = app.add_subcommand("dataset", "Make, describe, convert and cut data sets");
  dataset->require_subcommand(1);
  AddGenerate(*dataset, run);
  AddInfo(*dataset, run);
  AddConvert(*dataset, run);
  AddShard(*dataset, run);
}

}  // namespace blink
