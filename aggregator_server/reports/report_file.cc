#include "aggregator_server/reports/report_file.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_reader.h"
#include "aggregator_server/reports/sealed_pieces.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/format_number.h"
#include "common/base/limits.h"
#include "common/base/progress_parts.h"
#include "common/base/status_macros.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr char kGroupsFile[] = "groups";
constexpr char kName[] = "BLINKR";
constexpr uint32_t kFormat = 2;
constexpr char kMagic[] = "BLINKR01";  // name and format
constexpr size_t kMagicBytes = 8;
constexpr size_t kRecordHeaderBytes = 8 + 1 + 8 + 4;
constexpr size_t kDigestBytes = 32;
constexpr size_t kWriteBufferBytes = 1 << 20;
constexpr uint64_t kRoundJsonBytesMax = 1 << 20;

template <typename T>
void AppendLittleEndian(T value, std::string& out) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

template <typename T>
T ParseLittleEndian(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return static_cast<T>(value);
}

}  // namespace

absl::StatusOr<v1::Round> ReadRound(const std::string& folder) {
  const std::string path = folder + "/round.json";
  BLINK_ASSIGN_OR_RETURN(const std::string json, ReadFile(path, kRoundJsonBytesMax));
  v1::Round round;
  if (const auto status = google::protobuf::util::JsonStringToMessage(json, &round); !status.ok()) {
    const absl::string_view why(status.message().data(), status.message().size());  // and below it the place
    return absl::DataLossError(
        absl::StrCat(path, " is not the description of a round: ", why.substr(0, why.find('\n')), "; fetch it again"));
  }
  if (const absl::Status id = ValidateRoundId(round.round_id()); !id.ok()) {  // Hybrid's ties hang on it
    return absl::DataLossError(absl::StrCat(
        path, ": ", id.message(),
        "; fetch the round's folder again, or on the aggregator remove the file and restart: it is written anew"));
  }
  return round;
}

struct ReportFileWriter::State {
  int fd = -1;
  std::string path;
  std::string temporary;
  std::string buffer;
  Sha256 hash;
  uint64_t count = 0;
  uint64_t last_node = 0;
  bool finished = false;
  std::optional<PieceSealer> sealer;  // of an encrypted file

  absl::Status Flush(bool is_last = false) {
    if (sealer.has_value()) {
      BLINK_ASSIGN_OR_RETURN(buffer, sealer->SealNext(buffer, is_last));
    }
    return Write(buffer);
  }

  // All of the buffer, or what begins the file.
  absl::Status Write(absl::string_view rest) {
    while (!rest.empty()) {
      const ssize_t put = ::write(fd, rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FileError(errno, "write", temporary);
      rest.remove_prefix(put);
    }
    buffer.clear();
    return absl::OkStatus();
  }

  absl::Status Append(absl::string_view bytes) {
    hash.Update(bytes);
    buffer.append(bytes.data(), bytes.size());
    return buffer.size() >= kWriteBufferBytes ? Flush() : absl::OkStatus();
  }
};

ReportFileWriter::ReportFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

ReportFileWriter::~ReportFileWriter() {
  if (state_->fd >= 0) ::close(state_->fd);
  if (!state_->finished) ::unlink(state_->temporary.c_str());
}

absl::StatusOr<std::unique_ptr<ReportFileWriter>> ReportFileWriter::Create(const std::string& path) {
  return Begin(path, std::make_unique<State>());
}

absl::StatusOr<std::unique_ptr<ReportFileWriter>> ReportFileWriter::CreateEncrypted(const std::string& path,
                                                                                    const SecretKey& key,
                                                                                    const std::string& round_id) {
  auto state = std::make_unique<State>();
  state->sealer.emplace(key, round_id);
  return Begin(path, std::move(state));
}

absl::StatusOr<std::unique_ptr<ReportFileWriter>> ReportFileWriter::Begin(const std::string& path,
                                                                          std::unique_ptr<State> state) {
  state->path = path;
  state->temporary = path + ".tmp";
  state->fd = ::open(state->temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (state->fd < 0) return FileError(errno, "create", state->temporary);
  std::unique_ptr<ReportFileWriter> writer(new ReportFileWriter(std::move(state)));
  if (writer->state_->sealer.has_value()) BLINK_RETURN_IF_ERROR(writer->state_->Write(kEncryptedFile));
  BLINK_RETURN_IF_ERROR(writer->state_->Append(absl::string_view(kMagic, kMagicBytes)));
  return writer;
}

absl::Status ReportFileWriter::Add(uint64_t node, const CodedReport& report) {
  if (state_->count > 0 && node <= state_->last_node) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " follows node ", state_->last_node));
  }
  std::string header;
  AppendLittleEndian<uint64_t>(node, header);
  AppendLittleEndian<uint8_t>(report.noisy_degree.has_value() ? 1 : 0, header);
  AppendLittleEndian<int64_t>(report.noisy_degree.value_or(0), header);
  AppendLittleEndian<uint32_t>(static_cast<uint32_t>(report.coded_bits.size()), header);
  BLINK_RETURN_IF_ERROR(state_->Append(header));
  BLINK_RETURN_IF_ERROR(state_->Append(report.coded_bits));
  BLINK_RETURN_IF_ERROR(state_->Append(DigestToBytes(report.digest)));
  state_->last_node = node;
  ++state_->count;
  return absl::OkStatus();
}

absl::Status ReportFileWriter::Finish() {
  std::string footer;
  // An impossible node marks the end, so that a reader needs no count in advance.
  AppendLittleEndian<uint64_t>(~uint64_t{0}, footer);
  AppendLittleEndian<uint64_t>(state_->count, footer);
  BLINK_RETURN_IF_ERROR(state_->Append(footer));
  state_->buffer += DigestToBytes(state_->hash.Finish());
  BLINK_RETURN_IF_ERROR(state_->Flush(/*is_last=*/true));
  if (::fsync(state_->fd) != 0) return FileError(errno, "fsync", state_->temporary);
  if (::rename(state_->temporary.c_str(), state_->path.c_str()) != 0)
    return FileError(errno, "rename", state_->temporary);
  state_->finished = true;
  return SyncDirectory(std::filesystem::path(state_->path).parent_path().string());
}

namespace {

struct FileFigures {
  uint32_t reports = 0;
  double coded_bytes_mean = 0;
};

// Gives each report of the folder to `take`, in the order of the file, and checks the file as a whole. What `take`
// refuses is damage.
absl::StatusOr<FileFigures> ReadReports(const std::string& folder, const SecretKey* key, const v1::Round& round,
                                        const PrivacyParameters& parameters,
                                        const std::function<absl::Status(NodeIndex, PrivateReport)>& take) {
  const std::string path = folder + "/reports.blr";
  BLINK_ASSIGN_OR_RETURN(ReportReader reader, ReportReader::Open(path, key, round.round_id()));
  auto damaged = [&path](absl::string_view what) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: ", what, "; ", kWriteAnew));
  };
  std::string bytes;
  BLINK_RETURN_IF_ERROR(reader.Read(kMagicBytes, bytes));
  if (bytes != kMagic) {
    // Format 1 spelt as no program writes it is damage.
    if (FormatNumber(bytes, kName).value_or(0) > kFormat) return RefuseOtherFormat(path, bytes, kName, kFormat);
    return damaged("it does not begin as a file of reports");
  }
  FileFigures figures;
  uint64_t coded_bytes = 0, begin = kMagicBytes, last_node = 0;  // begin: of the report in the file
  while (true) {
    BLINK_RETURN_IF_ERROR(reader.Read(8, bytes));
    const uint64_t node = ParseLittleEndian<uint64_t>(bytes.data());
    if (node == ~uint64_t{0}) break;
    if (figures.reports > 0 && node <= last_node) {
      return damaged(
          absl::StrCat("byte ", begin, ": node ", node, " follows node ", last_node, ", and nodes must ascend"));
    }
    BLINK_RETURN_IF_ERROR(reader.Read(kRecordHeaderBytes - 8, bytes));
    CodedReport coded;
    if (const auto presence = static_cast<uint8_t>(bytes[0]); presence > 1) {
      return damaged(absl::StrCat("byte ", begin + 8, ", of node ", node, ": the presence of the degree is ", presence,
                                  ", and must be 0 or 1"));
    }
    const int64_t degree = ParseLittleEndian<int64_t>(bytes.data() + 1);
    if (bytes[0] == 1) coded.noisy_degree = degree;
    if (bytes[0] == 0 && degree != 0) {
      return damaged(absl::StrCat("byte ", begin + 9, ", of node ", node, ": there is no degree, so it must be 0"));
    }
    const uint32_t size = ParseLittleEndian<uint32_t>(bytes.data() + 9);
    if (size > kCodedBytesMax) return damaged("a report is larger than any report can be");
    BLINK_RETURN_IF_ERROR(reader.Read(size, coded.coded_bits));
    BLINK_RETURN_IF_ERROR(reader.Read(kDigestBytes, bytes));
    BLINK_ASSIGN_OR_RETURN(coded.digest, DigestFromBytes(bytes));
    if (node >= parameters.node_count()) return damaged("a node is not on the roster");
    absl::StatusOr<PrivateReport> report = DecodeReport(parameters, static_cast<NodeIndex>(node), coded);
    if (!report.ok() && figures.reports == 0) {  // its digest names the parameters
      return absl::DataLossError(
          absl::StrCat(path, ": node ", node, ": ", report.status().message(), "; either it is damaged, or ", folder,
                       "/round.json (n = ", parameters.node_count(), ") is of another round: ", kWriteAnew));
    }
    if (!report.ok()) return damaged(absl::StrCat("node ", node, ": ", report.status().message()));
    if (const absl::Status taken = take(static_cast<NodeIndex>(node), *std::move(report)); !taken.ok()) {
      return absl::IsResourceExhausted(taken) ? taken : damaged(taken.message());
    }
    coded_bytes += size;
    begin += kRecordHeaderBytes + size + kDigestBytes;
    last_node = node;
    ++figures.reports;
  }
  BLINK_RETURN_IF_ERROR(reader.Read(8, bytes));
  if (ParseLittleEndian<uint64_t>(bytes.data()) != figures.reports) return damaged("reports are missing");
  if (round.active_nodes() > parameters.node_count()) {
    return absl::DataLossError(absl::StrCat(folder, "/round.json counts ", round.active_nodes(), " active nodes of ",
                                            parameters.node_count(), ": ", kWriteAnew));
  }
  if (round.reports() != figures.reports) {
    return absl::DataLossError(absl::StrCat(path, " holds ", figures.reports, " reports, but ", folder,
                                            "/round.json counts ", round.reports(),
                                            ": they are of different rounds, or one is outdated; ", kWriteAnew));
  }
  const Digest expected = reader.Finish();
  reader.StopHashing();
  BLINK_RETURN_IF_ERROR(reader.Read(kDigestBytes, bytes));
  if (bytes != DigestToBytes(expected)) return damaged("its digest is another");
  if (!reader.AtEnd()) return damaged("bytes follow its end");
  if (figures.reports > 0) figures.coded_bytes_mean = static_cast<double>(coded_bytes) / figures.reports;
  return figures;
}

}  // namespace

absl::StatusOr<RoundFolder> ReadRoundFolder(const std::string& folder, const ReadingOptions& options) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, ReadRound(folder));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  if (parameters.sends_group_degrees()) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder,
                     " holds answers about groups of nodes (mechanism group-degrees): links cannot be "
                     "estimated from them; give a round of both-ends or one-end"));
  }
  const RowPlace place = options.key == nullptr ? options.place : RowPlace{};
  BLINK_RETURN_IF_ERROR(CheckRoom(parameters, place));
  const RowStorage storage = options.storage.value_or(FittingStorage(parameters));
  RoundFolder result{std::move(round), ReportSet(parameters, storage, place)};
  ProgressParts parts(options.progress, 3);
  const auto tell = parts.Next(2);
  const auto take = [&](NodeIndex node, PrivateReport report) {
    result.ones.push_back(report.bits.Count());
    tell((node + 1.0) / parameters.node_count());
    return result.reports.Add(node, std::move(report));
  };
  BLINK_ASSIGN_OR_RETURN(const FileFigures figures, ReadReports(folder, options.key, result.round, parameters, take));
  BLINK_RETURN_IF_ERROR(result.reports.Complete(options.threads, parts.Next(1)));
  result.coded_bytes_mean = figures.coded_bytes_mean;
  return result;
}

absl::StatusOr<GroupAnswers> ReadGroupAnswers(const std::string& folder, const SecretKey* key) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, ReadRound(folder));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  if (!parameters.sends_group_degrees()) {
    return absl::FailedPreconditionError(absl::StrCat(folder, " holds reports of the mechanism ",
                                                      MechanismName(parameters.mechanism()),
                                                      ", and no answers about groups of nodes"));
  }
  const uint32_t n = parameters.node_count(), count = parameters.question().count;
  const std::string path = folder + "/" + kGroupsFile;
  BLINK_ASSIGN_OR_RETURN(const std::string coded, ReadFile(path, GroupsBytes(n)));
  absl::StatusOr<NodeGroups> asked = DecodeGroups(coded, n, count);
  if (!asked.ok() || QuestionAbout(*asked) != parameters.question()) {
    return absl::DataLossError(
        absl::StrCat(path, " does not hold the groups of ", folder, "/round.json: ", kWriteAnew));
  }
  GroupAnswers answers{std::move(round), parameters, *std::move(asked), BitRow(n)};
  const auto take = [&](NodeIndex node, const PrivateReport& report) -> absl::Status {
    answers.reported.Set(node);
    answers.degrees.resize(size_t{n} * count);
    for (uint32_t group = 0; group < count; ++group) {
      answers.degrees[size_t{node} * count + group] = static_cast<float>(report.group_degrees[group]);
    }
    return absl::OkStatus();
  };
  BLINK_ASSIGN_OR_RETURN(const FileFigures figures, ReadReports(folder, key, answers.round, parameters, take));
  answers.reports = figures.reports;
  answers.coded_bytes_mean = figures.coded_bytes_mean;
  return answers;
}

absl::Status WriteGroups(const std::string& coded, const std::string& folder) {
  return WriteFileAtomically(folder + "/" + kGroupsFile, coded);
}

absl::Status WriteRoundJson(const v1::Round& round, const std::string& folder) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  v1::Round written = round;
  written.clear_history();    // who did what is nothing that an analysis needs, and an older worker would not read it
  written.clear_encrypted();  // reports.blr says it
  written.clear_reports_deleted_ms();
  std::string json;
  if (const auto status = google::protobuf::util::MessageToJsonString(written, &json, options); !status.ok()) {
    return absl::InternalError(absl::StrCat("cannot write the round as JSON: ", status.ToString()));
  }
  return WriteFileAtomically(folder + "/round.json", json);
}

absl::StatusOr<std::vector<int64_t>> ReadNoisyDegrees(const std::string& folder, const SecretKey* key) {
  const std::string path = folder + "/reports.blr";
  std::string round_id;
  if (key != nullptr) {
    BLINK_ASSIGN_OR_RETURN(const v1::Round round, ReadRound(folder));
    round_id = round.round_id();
  }
  BLINK_ASSIGN_OR_RETURN(ReportReader reader, ReportReader::Open(path, key, round_id));
  reader.StopHashing();
  const absl::Status damaged = absl::DataLossError(absl::StrCat(path, " is damaged: ", kWriteAnew));
  std::string bytes;
  const auto read = [&](size_t size) { return reader.Read(size, bytes).ok(); };
  if (!read(kMagicBytes) || bytes != std::string(kMagic, kMagicBytes)) return damaged;
  std::vector<int64_t> degrees;
  uint64_t reports = 0;
  for (uint64_t last = 0;; ++reports) {
    if (!read(8)) return damaged;
    const auto node = ParseLittleEndian<uint64_t>(bytes.data());
    if (node == ~uint64_t{0}) break;
    if (node >= kNodesMax || (reports > 0 && node <= last) || !read(kRecordHeaderBytes - 8)) return damaged;
    last = node;
    if (bytes[0] == 1) degrees.push_back(ParseLittleEndian<int64_t>(bytes.data() + 1));
    const size_t rest = ParseLittleEndian<uint32_t>(bytes.data() + 9) + kDigestBytes;
    if (rest > kCodedBytesMax + kDigestBytes || !reader.Skip(rest).ok()) return damaged;
  }
  if (!read(8) || ParseLittleEndian<uint64_t>(bytes.data()) != reports) return damaged;
  return degrees;
}

}  // namespace blink
