#include "aggregator_server/train/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/format_number.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little endian");

constexpr char kMagic[] = "BLINKTRAIN-1\n";
constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
constexpr absl::string_view kMagicOfAnyVersion = "BLINKTRAIN-";
constexpr uint32_t kFormat = 1;
constexpr uint64_t kCheckpointBytesMax = uint64_t{64} << 30;

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Bytes(absl::string_view bytes) {
    Number<uint64_t>(bytes.size());
    bytes_.append(bytes.data(), bytes.size());
  }
  template <typename T>
  void Numbers(const std::vector<T>& values) {
    Bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  void Lists(const std::vector<std::vector<float>>& lists) {
    Number<uint64_t>(lists.size());
    for (const std::vector<float>& list : lists) Numbers(list);
  }
  void Raw(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// After the first read beyond the end everything is empty, and ok() false.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}
  template <typename T>
  T Number() {
    T value{};
    const absl::string_view bytes = Take(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  absl::string_view Bytes() { return Take(Number<uint64_t>()); }
  template <typename T>
  std::vector<T> Numbers() {
    const absl::string_view bytes = Bytes();
    std::vector<T> values(bytes.size() / sizeof(T));
    ok_ = ok_ && bytes.size() % sizeof(T) == 0;
    if (ok_ && !values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<std::vector<float>> Lists() {
    std::vector<std::vector<float>> lists;
    for (uint64_t left = Number<uint64_t>(); left > 0 && ok_; --left) lists.push_back(Numbers<float>());
    return lists;
  }
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  absl::string_view Take(uint64_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return {};
    const absl::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  absl::string_view rest_;
  bool ok_ = true;
};

template <typename T>
void Hash(Sha256& hash, const std::vector<T>& values) {
  hash.UpdateUint64(values.size());
  hash.Update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

void HashWeights(Sha256& hash, const LinkWeights& weights, int threads) {
  hash.UpdateUint64(weights.node_count).UpdateUint64(weights.weighted);
  if (weights.node_count == 0) return;
  // Two columns of numbers that nothing else is made of (Weyl sequences): equal products without equal weights would
  // need float32 sums of unlike numbers to agree in every row.
  std::vector<float> x(2 * size_t{weights.node_count}), product(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    const double weyl = static_cast<double>(k + 1) * (k % 2 == 0 ? 0.6180339887498949 : 0.4142135623730951);
    x[k] = static_cast<float>(0.5 + weyl - std::floor(weyl));
  }
  Multiply(weights, x.data(), 2, threads, product.data());
  Hash(hash, product);
}

}  // namespace

Digest TrainingFingerprint(const TrainOptions& options, const std::string& device, const LinkWeights& weights,
                           const NodeAttributes& attributes,
                           const std::vector<std::vector<float>>& initial_parameters) {
  Writer text;
  text.Number(static_cast<int32_t>(options.model));
  text.Number(options.learning_rate);
  text.Number(options.weight_decay);
  text.Number(options.dropout);
  text.Number(static_cast<int32_t>(options.epochs));
  text.Number(static_cast<int32_t>(options.hidden));
  text.Number(static_cast<int32_t>(options.layers));
  text.Number(static_cast<int32_t>(options.patience));
  text.Number(static_cast<uint8_t>(options.balance_classes));
  text.Number(static_cast<uint8_t>(options.deterministic));
  text.Number(static_cast<int32_t>(options.node_features));
  text.Number(options.seed);
  if (options.features_as_they_are) text.Bytes("features as they are");
  if (options.target.has_value()) {
    text.Bytes("target");
    text.Number(options.target->score);
    text.Number(options.target->loss_weight);
  }
  if (options.batch_nodes > 0) {
    text.Bytes("batches");
    text.Number(options.batch_nodes);
    text.Numbers(options.fan_out);
  }
  text.Bytes(device);
  Sha256 hash;
  hash.Update(text.bytes());
  if (options.model != Model::kMlp) HashWeights(hash, weights, std::max(1, options.threads));
  hash.UpdateUint64(attributes.node_count).UpdateUint64(attributes.class_count).UpdateUint64(attributes.features.cols);
  Hash(hash, attributes.features.row_offsets);
  Hash(hash, attributes.features.columns);
  Hash(hash, attributes.features.values);
  Hash(hash, attributes.labels);
  Hash(hash, attributes.split);
  for (const std::vector<float>& parameter : initial_parameters) Hash(hash, parameter);
  return hash.Finish();
}

std::string EncodeCheckpoint(const Checkpoint& checkpoint, const Digest& fingerprint) {
  Writer writer;
  writer.Raw({kMagic, kMagicBytes});
  writer.Raw(DigestToBytes(fingerprint));
  writer.Number(checkpoint.epoch);
  writer.Number(checkpoint.best_epoch);
  writer.Number(checkpoint.best_validation_loss);
  writer.Number(checkpoint.elapsed_ms);
  writer.Numbers(checkpoint.train_losses);
  writer.Numbers(checkpoint.validation_losses);
  writer.Numbers(checkpoint.validation_accuracies);
  writer.Bytes(checkpoint.generator);
  writer.Numbers(checkpoint.steps);
  for (const auto* lists :
       {&checkpoint.parameters, &checkpoint.first_moments, &checkpoint.second_moments, &checkpoint.best_parameters}) {
    writer.Lists(*lists);
  }
  writer.Numbers(checkpoint.best_logits);
  writer.Raw(DigestToBytes(Sha256Of(writer.bytes())));
  return std::move(writer.bytes());
}

namespace {

// What is between magic and checksum: fingerprint and fields. The errors of DecodeCheckpoint that do not need the
// fingerprint.
absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes) {
  constexpr size_t kDigestBytes = sizeof(Digest);
  const absl::string_view magic(kMagic, kMagicBytes);
  // What begins neither as a checkpoint of any version nor as what is left of one.
  if (!absl::StartsWith(bytes, kMagicOfAnyVersion) && !absl::StartsWith(kMagicOfAnyVersion, bytes)) {
    return absl::InvalidArgumentError("it is not the checkpoint of a training, and is left as it is");
  }
  if (bytes.size() >= kMagicBytes && !absl::StartsWith(bytes, magic)) {
    const auto format = FormatNumber(bytes, kMagicOfAnyVersion);
    if (!format) return absl::DataLossError("the checkpoint is damaged: its format has no number");
    return absl::FailedPreconditionError(
        absl::StrCat("the checkpoint has format ", *format, ", and this program reads format ", kFormat));
  }
  if (bytes.size() < kMagicBytes + 2 * kDigestBytes) return absl::DataLossError("the checkpoint is truncated");
  const absl::string_view content = bytes.substr(0, bytes.size() - kDigestBytes);
  if (DigestToBytes(Sha256Of(content)) != std::string(bytes.substr(content.size()))) {
    return absl::DataLossError("the checkpoint is truncated or damaged: its checksum is wrong");
  }
  return content.substr(kMagicBytes);
}

absl::StatusOr<Checkpoint> DecodeFields(absl::string_view fields) {
  Reader reader(fields);
  Checkpoint checkpoint;
  checkpoint.epoch = reader.Number<int64_t>();
  checkpoint.best_epoch = reader.Number<int64_t>();
  checkpoint.best_validation_loss = reader.Number<double>();
  checkpoint.elapsed_ms = reader.Number<double>();
  checkpoint.train_losses = reader.Numbers<float>();
  checkpoint.validation_losses = reader.Numbers<float>();
  checkpoint.validation_accuracies = reader.Numbers<float>();
  checkpoint.generator = std::string(reader.Bytes());
  checkpoint.steps = reader.Numbers<int64_t>();
  checkpoint.parameters = reader.Lists();
  checkpoint.first_moments = reader.Lists();
  checkpoint.second_moments = reader.Lists();
  checkpoint.best_parameters = reader.Lists();
  checkpoint.best_logits = reader.Numbers<float>();
  if (!reader.AtEnd()) return absl::DataLossError("the checkpoint is damaged");
  return checkpoint;
}

}  // namespace

absl::StatusOr<Checkpoint> DecodeCheckpoint(absl::string_view bytes, const Digest& fingerprint) {
  BLINK_ASSIGN_OR_RETURN(const absl::string_view content, Unwrap(bytes));
  if (std::string(content.substr(0, sizeof(Digest))) != DigestToBytes(fingerprint)) {
    return absl::FailedPreconditionError(
        "the checkpoint is of another training (options, device, links or attributes differ)");
  }
  return DecodeFields(content.substr(sizeof(Digest)));
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, const Digest& fingerprint) {
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kCheckpointBytesMax));
  absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(bytes, fingerprint);
  if (!checkpoint.ok()) return InFile(path, checkpoint.status());
  return checkpoint;
}

absl::Status CheckCheckpointFile(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kCheckpointBytesMax));
  const absl::StatusOr<absl::string_view> content = Unwrap(bytes);
  if (!content.ok()) return InFile(path, content.status());
  return InFile(path, DecodeFields(content->substr(sizeof(Digest))).status());
}

namespace {

// "<folder>/a.checkpoint.tmp.123"
constexpr absl::string_view kUnfinished = ".checkpoint.tmp.";
bool IsUnfinished(absl::string_view name) { return absl::StrContains(name, kUnfinished); }

// Whether the process that began an unfinished checkpoint is there: then it may be writing it. This process has only
// begun.
bool IsBeingWritten(absl::string_view name) {
  int pid = 0;
  const absl::string_view number = name.substr(name.rfind('.') + 1);
  return absl::SimpleAtoi(number, &pid) && pid > 0 && pid != ::getpid() && (::kill(pid, 0) == 0 || errno != ESRCH);
}

std::vector<std::filesystem::path> FilesOf(const std::string& folder,
                                           const std::function<bool(const std::string& name)>& wanted) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (wanted(at->path().filename().string())) files.push_back(at->path());
  }
  return files;
}

// Those of them that are checkpoints, or what is left of one: an unfinished one has no checksum yet.
void RemoveOwn(const std::vector<std::filesystem::path>& files) {
  std::error_code error;
  for (const std::filesystem::path& file : files) {
    const absl::Status good = CheckCheckpointFile(file.string());
    if (good.ok() || absl::IsDataLoss(good) || absl::IsFailedPrecondition(good)) std::filesystem::remove(file, error);
  }
}

}  // namespace

absl::Status MakeCheckpointFolder(const std::string& folder) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  RemoveOwn(FilesOf(folder, [](const std::string& name) { return IsUnfinished(name) && !IsBeingWritten(name); }));
  const std::string probe = absl::StrCat(folder, "/.probe.", ::getpid());
  const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EEXIST) return FileError(errno, "write checkpoints into", folder);
  if (fd >= 0) ::close(fd);
  ::unlink(probe.c_str());
  return absl::OkStatus();
}

void RemoveCheckpoints(const std::string& folder) {
  RemoveOwn(FilesOf(folder,
                    [](const std::string& name) { return absl::EndsWith(name, ".checkpoint") || IsUnfinished(name); }));
  ::rmdir(folder.c_str());
}

}  // namespace blink
