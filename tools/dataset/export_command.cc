#include "tools/dataset/export_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "tools/command_line.h"
#include "tools/dataset/export/export.h"
#include "tools/dataset/first_argument.h"
#include "tools/new_folder.h"

namespace blink {
namespace {

struct ExportFlags {
  std::string folder, format, output;
};

absl::Status CheckIsNew(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " exists: remove it, or choose another --output"));
}

absl::StatusOr<Dataset> ReadIt(const ExportFlags& flags) {
  return SuggestingPath(ReadDataset(flags.folder), {flags.folder});
}

absl::StatusOr<Dataset> ExportFolder(const ExportFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(flags.output));
  BLINK_ASSIGN_OR_RETURN(Dataset read, ReadIt(flags));
  BLINK_RETURN_IF_ERROR(ExportOgb(read, staging.path()));
  BLINK_RETURN_IF_ERROR(staging.Publish());
  return read;
}

absl::StatusOr<Dataset> ExportFile(const ExportFlags& flags) {
  BLINK_RETURN_IF_ERROR(CheckIsNew(flags.output));
  BLINK_RETURN_IF_ERROR(CheckCanWriteFile(flags.output));
  BLINK_ASSIGN_OR_RETURN(Dataset read, ReadIt(flags));
  BLINK_RETURN_IF_ERROR(flags.format == "npz"       ? ExportNpz(read, flags.output)
                        : flags.format == "graphml" ? ExportGraphMl(read, flags.output)
                                                    : ExportTorch(read, flags.output));
  return read;
}

// A place that does not suit is refused before the data set is read, which takes much longer.
absl::Status ExportDataset(const ExportFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const Dataset read, flags.format == "ogb" ? ExportFolder(flags) : ExportFile(flags));
  std::printf("%s: %u nodes, %llu links, %u features, %u classes\n", flags.output.c_str(), read.graph.node_count(),
              static_cast<unsigned long long>(read.graph.link_count()), read.attributes.features.cols,
              read.attributes.class_count);
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& dataset, std::function<int()>* run) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = dataset.add_subcommand("export", "Write a data set in a form that other programs read");
  kDataset.AddTo(command, flags->folder, "Data-set folder");
  command
      ->add_option("--format", flags->format,
                   "npz: arrays of NumPy. graphml: GraphML. ogb: a folder of csv.gz. torch: a dictionary of tensors, "
                   "for torch.load(.., weights_only=True)")
      ->required()
      ->transform(OneOf({"npz", "graphml", "ogb", "torch"}));
  command->add_option("--output", flags->output, "File to write (ogb: folder to make); must not exist")
      ->required()
      ->check(NotEmpty());
  command->callback([flags, command, run] {
    kDataset.Require(*command);
    *run = [flags] { return Finish(ExportDataset(*flags)); };
  });
}

}  // namespace blink
