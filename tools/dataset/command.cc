#include "tools/dataset/command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/cli/output_file.h"
#include "common/cli/program_json.h"
#include "common/graph/dataset_digest.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/dataset/convert.h"
#include "tools/dataset/export_command.h"
#include "tools/dataset/files.h"
#include "tools/dataset/first_argument.h"
#include "tools/new_folder.h"

namespace blink {
namespace {

// "mean_degree is ..." becomes "--mean-degree is ...".
std::string NamingTheFlag(absl::string_view message) {
  const size_t name = message.find(' ');
  return absl::StrCat("--", absl::StrReplaceAll(message.substr(0, name), {{"_", "-"}}), message.substr(name));
}

constexpr FirstArgument kInput = {"input", "--input"};

std::string FormatSummary(const DatasetSummary& s, const Dataset& dataset, bool json) {
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
        {"unlabelled", s.unlabelled},
        {"warnings", s.warnings}};
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  std::string text = s.name + "\n";
  absl::StrAppendFormat(&text, "  nodes      %u (%u isolated)\n", s.nodes, s.isolated);
  absl::StrAppendFormat(&text, "  links      %llu\n", static_cast<unsigned long long>(s.links));
  absl::StrAppendFormat(&text, "  degree     mean %.2f, median %u, from %u to %u\n", s.degree_mean, s.degree_median,
                        s.degree_min, s.degree_max);
  absl::StrAppendFormat(&text, "  homophily  %s (share of links within a class)\n",
                        std::isnan(s.homophily) ? "none" : absl::StrFormat("%.3f", s.homophily).c_str());
  if (s.unlabelled < s.nodes) {
    absl::StrAppendFormat(&text, "  classes    %u (%u nodes without a label)\n", s.classes, s.unlabelled);
  } else {
    absl::StrAppendFormat(&text, "  classes    none: no node has a label\n");
  }
  absl::StrAppendFormat(&text, "  features   %u (%.2f %% of the entries are not 0)\n", s.features,
                        100 * s.feature_density);
  absl::StrAppendFormat(&text, "  split      %u train, %u validation, %u test\n", s.train, s.validation, s.test);
  for (const std::string& warning : s.warnings) absl::StrAppend(&text, "  warning    ", warning, "\n");
  return text;
}

struct GenerateFlags {
  SyntheticOptions synthetic;
  std::string output;
  std::string model = "degree-corrected";
  std::vector<double> rmat;
  bool has_homophily = false, has_exponent = false;
};

// Flags that the model does not read would otherwise be lost without a word.
absl::Status TakeModel(GenerateFlags& flags) {
  SyntheticOptions& options = flags.synthetic;
  if (flags.model == "rmat") options.model = LinkModel::kRmat;
  if (flags.model == "chung-lu") options.model = LinkModel::kChungLu;
  const auto refuse = [&](const char* flag, const char* model) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " belongs to --model ", model, ", and the model is ",
                                                   flags.model, ": leave it out, or change the model"));
  };
  if (flags.has_homophily && options.model != LinkModel::kDegreeCorrected)
    return refuse("--homophily", "degree-corrected");
  if (flags.has_exponent && options.model != LinkModel::kChungLu) return refuse("--degree-exponent", "chung-lu");
  if (flags.rmat.empty()) return absl::OkStatus();
  if (options.model != LinkModel::kRmat) return refuse("--rmat", "rmat");
  if (flags.rmat.size() != options.rmat.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--rmat has ", flags.rmat.size(),
                                                   " shares: give the four of the quadrants, as 0.57,0.19,0.19,0.05"));
  }
  std::copy(flags.rmat.begin(), flags.rmat.end(), options.rmat.begin());
  return absl::OkStatus();
}

int RunGenerate(GenerateFlags flags) {
  if (const absl::Status usable = TakeModel(flags); !usable.ok()) return FinishWrongFlags(usable);
  const absl::StatusOr<Dataset> made = GenerateDataset(flags.synthetic);
  if (absl::IsInvalidArgument(made.status())) {  // the flags are all that it is made from
    return FinishWrongFlags(absl::InvalidArgumentError(NamingTheFlag(made.status().message())));
  }
  return Finish([&]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(made.status());
    BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(flags.output));
    BLINK_RETURN_IF_ERROR(WriteDataset(*made, staging.path()));
    BLINK_RETURN_IF_ERROR(staging.Publish());
    std::printf("%s: %u nodes, %llu links, %u features, %u classes\n", flags.output.c_str(), made->graph.node_count(),
                static_cast<unsigned long long>(made->graph.link_count()), made->attributes.features.cols,
                made->attributes.class_count);
    return absl::OkStatus();
  }());
}

void AddGenerate(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = dataset.add_subcommand("generate",
                                             "Make a synthetic data set with features and labels: a degree-corrected "
                                             "block model whose defaults resemble Cora, "
                                             "or the links of R-MAT or Chung-Lu, which know nothing of the labels");
  command->add_option("--output", flags->output, "Folder to make; must not exist, or be empty")->required();
  SyntheticOptions& s = flags->synthetic;
  command->add_option("--nodes", s.nodes, "Number of nodes, at least 3")->capture_default_str();
  command->add_option("--classes", s.classes, "Number of classes")->capture_default_str();
  command->add_option("--mean-degree", s.mean_degree, "Mean number of links of a node")->capture_default_str();
  command->add_option("--model", flags->model, "What the links follow: degree-corrected, rmat or chung-lu")
      ->transform(OneOf({"degree-corrected", "rmat", "chung-lu"}))
      ->capture_default_str();
  CLI::Option* homophily =
      command->add_option("--homophily", s.homophily, "Of degree-corrected: share of links within a class, 0 to 1")
          ->capture_default_str();
  command
      ->add_option("--rmat", flags->rmat,
                   "Of rmat: shares a,b,c,d of the four quadrants, with commas (0.57,0.19,0.19,0.05)")
      ->delimiter(',')
      ->allow_extra_args(false);
  CLI::Option* exponent = command
                              ->add_option("--degree-exponent", s.degree_exponent,
                                           "Of chung-lu: exponent of the degrees' power law, above 2, at most 10")
                              ->capture_default_str();
  command->add_option("--features", s.features, "Number of binary features (words); 0 for none")->capture_default_str();
  command->add_option("--words-per-node", s.words_per_node, "Mean number of words of a node")->capture_default_str();
  command->add_option("--seed", s.seed, "The same seed gives the same data set on every machine")
      ->check(CLI::Validator(
          [](std::string& text) { return absl::StartsWith(text, "-") ? text + " is negative" : std::string(); }, ""))
      ->capture_default_str();
  command->callback([flags, homophily, exponent, run] {
    flags->has_homophily = homophily->count() > 0;
    flags->has_exponent = exponent->count() > 0;
    *run = [flags] { return RunGenerate(*flags); };
  });
}

struct InfoFlags {
  std::string folder;
  bool json = false;
  OutputFile output;
};

absl::Status DescribeDataset(const InfoFlags& flags) {
  BLINK_RETURN_IF_ERROR(flags.output.Check());
  BLINK_ASSIGN_OR_RETURN(const Dataset read, SuggestingPath(ReadDataset(flags.folder), {flags.folder}));
  return flags.output.Print(FormatSummary(SummariseDataset(read), read, flags.json));
}

void AddInfo(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* command = dataset.add_subcommand("info", "Describe a data-set folder: counts, degrees, homophily, split");
  kDataset.AddTo(command, flags->folder, "Data-set folder");
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->output.AddTo(command);
  command->callback([flags, command, run] {
    kDataset.Require(*command);
    *run = [flags] { return Finish(DescribeDataset(*flags)); };
  });
}

absl::Status PrintConversion(const ConvertOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const Converted converted,
                         SuggestingPath(ConvertToDataset(options), {options.input, options.labels, options.split,
                                                                    options.features, options.feature_ids}));
  const ConvertReport& report = converted.report;
  const CsrGraph& graph = converted.dataset.graph;
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s: %u nodes, %llu links from %llu %s; dropped %llu duplicates and %llu self-loops; %s\n",
              options.output.c_str(), graph.node_count(), number(graph.link_count()), number(report.lines),
              report.format.empty() ? "lines" : "entries", number(report.duplicates_dropped),
              number(report.self_loops_dropped),
              report.renumbered ? "ids were renumbered, see nodes.csv" : "ids are as they were");
  if (!report.format.empty()) std::printf("  read as %s\n", report.format.c_str());
  for (const std::string& note : report.notes) std::printf("  %s\n", note.c_str());
  for (const std::string& warning : report.warnings) std::printf("  warning: %s\n", warning.c_str());
  return absl::OkStatus();
}

void AddFile(CLI::App* command, const char* flag, std::string& path, const char* text) {
  command->add_option(flag, path, text)->check(NotEmpty());
}

void AddColumns(CLI::App* command, const char* flag, std::vector<std::string>& columns, const char* text) {
  command->add_option(flag, columns, text)->delimiter(',')->allow_extra_args(false);
}

struct ConvertFlags {
  ConvertOptions options;
  std::string row_order, first_row;
};

int RunConvert(const ConvertFlags& flags) {
  ConvertOptions options = flags.options;
  if (!flags.row_order.empty()) {
    options.row_order = flags.row_order == "as-is" ? RowOrder::kAsIs : RowOrder::kIdsSorted;
  }
  using FirstRow = EdgeListOptions::FirstRow;
  if (!flags.first_row.empty()) options.first_row = flags.first_row == "link" ? FirstRow::kLink : FirstRow::kSizes;
  const absl::Status usable = CheckConvertOptions(options);
  return usable.ok() ? Finish(PrintConversion(options)) : FinishWrongFlags(usable);
}

void AddConvert(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<ConvertFlags>();
  ConvertOptions* options = &flags->options;
  CLI::App* command = dataset.add_subcommand(
      "convert",
      "Turn links, and what there is about the nodes, into a data-set folder. Every input may be a file, a pipe or - "
      "(standard input), plain or gzip; its columns may be separated by commas, tabs, semicolons, bars or white space");
  kInput.AddTo(command, options->input,
               "The links: two ids a line, with or without a header. Or a whole graph: a file (GraphML, GML, Matrix "
               "Market, .npz, .mat, a pickle) or a folder (Planetoid, LINQS, MUSAE, Geom-GCN, OGB, DGL CSV)");
  command->add_option("--output", options->output, "Folder to make; must not exist, or be empty")
      ->required()
      ->check(NotEmpty());
  AddFile(
      command, "--labels", options->labels,
      "Rows of an id and a label: an integer or the name of a class; empty, -1 or NaN where it is unknown. May name "
      "nodes that have no link");
  AddFile(command, "--split", options->split,
          "Rows of an id and train, val, test or none; or columns train_mask, val_mask, test_mask");
  command->add_option("--random-split", options->random_split,
                      "Draw a split by this seed instead: of the nodes with a label (--labels) half for training, a "
                      "quarter for validation, the rest for the test");
  AddFile(command, "--features", options->features,
          "Features: a .npy (numpy.save), a .npz (scipy.sparse.save_npz), or text with an id and numbers");
  AddFile(command, "--feature-ids", options->feature_ids, "The ids of the rows of --features, one a line");
  command
      ->add_option("--row-order", flags->row_order,
                   "Without such ids, where ids were renumbered: row k of --features belongs to the k-th smallest id "
                   "(ids-sorted) or to node k of nodes.csv (as-is)")
      ->transform(OneOf({"ids-sorted", "as-is"}));
  command->add_option("--label-attribute", options->attributes.label_attribute,
                      "Of a whole graph whose nodes have attributes with names: the one that is the label");
  AddColumns(command, "--feature-attributes", options->attributes.feature_attributes,
             "The ones that are features, as age,income; without this: features, feat, x or attr");
  AddColumns(command, "--columns", options->columns,
             "The two columns of the links, by number (from 1) or by name, as 1,2 or source,target");
  AddColumns(command, "--label-columns", options->label_columns, "The columns of id and label");
  AddColumns(command, "--split-columns", options->split_columns, "The columns of id and split, or of id and masks");
  AddColumns(command, "--feature-columns", options->feature_columns,
             "Of a text: the column of the ids, then those of the features, as 1,2-1434 or id,age,weight");
  AddColumns(command, "--feature-id-column", options->feature_id_column, "The column of --feature-ids");
  command->add_option("--nodes", options->nodes,
                      "Number of nodes, where some have no link: ids are 0 to N-1, or 1 to N");
  command->add_flag(
      "--names", options->names,
      "Ids are names, even where some look like numbers; otherwise a name in a list of integers is refused");
  command
      ->add_option("--comment", options->comment,
                   "The character that begins comments, or none. auto: # and %, where such a line cannot be a row")
      ->capture_default_str();
  command
      ->add_option("--first-row", flags->first_row,
                   "What a first row of two integers is: link, or sizes (the numbers of nodes and of links). Without "
                   "this it is sizes if it fits what follows. link also says that a first row is no header")
      ->transform(OneOf({"link", "sizes"}));
  command->callback([flags, command, run] {
    kInput.Require(*command);
    *run = [flags] { return RunConvert(*flags); };
  });
}

struct ShardFlags {
  std::string folder, out;
};

absl::Status CutIntoKits(const ShardFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const Dataset read, SuggestingPath(ReadDataset(flags.folder), {flags.folder}));
  BLINK_ASSIGN_OR_RETURN(const ShardReport report, SuggestingPath(ShardDataset(read, flags.out), {flags.out}));
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
  CLI::App* dataset = app.add_subcommand("dataset", "Make, describe, convert, export and cut data sets");
  dataset->require_subcommand(1);
  AddGenerate(*dataset, run);
  AddInfo(*dataset, run);
  AddConvert(*dataset, run);
  AddExportCommand(*dataset, run);
  AddShard(*dataset, run);
}

}  // namespace blink
