#include "node_client/anchor.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/format_number.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr uint64_t kAnchorBytesMax = 4096;
constexpr char kName[] = "blink-anchor ";
constexpr uint32_t kFormat = 1;

// The value in a line "name value", or nothing when the line has another name.
absl::string_view Value(absl::string_view line, absl::string_view name) {
  if (line.substr(0, name.size()) != name || line.size() <= name.size() || line[name.size()] != ' ') return {};
  return line.substr(name.size() + 1);
}

template <size_t N>
bool FromHex(absl::string_view hex, std::array<uint8_t, N>* out) {
  if (hex.size() != 2 * N ||
      !std::all_of(hex.begin(), hex.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); })) {
    return false;
  }
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), out->begin());
  return true;
}

}  // namespace

std::string AnchorToText(const Anchor& anchor) {
  const absl::string_view id(reinterpret_cast<const char*>(anchor.journal.data()), anchor.journal.size());
  std::string text = absl::StrCat(kName, kFormat, "\njournal ", absl::BytesToHexString(id), "\nlength ", anchor.length,
                                  "\nchain ", DigestToHex(anchor.chain), "\n");
  const std::string checksum = DigestToHex(Sha256Of(text));
  absl::StrAppend(&text, "checksum ", checksum, "\n");
  return text;
}

absl::StatusOr<Anchor> ParseAnchor(const std::string& text, const std::string& path) {
  BLINK_RETURN_IF_ERROR(RefuseOtherFormat(absl::StrCat("the anchor ", path), text, kName, kFormat));
  Anchor anchor;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  // When it is written again, the text must be the same. So spelling and checksum need no other check.
  if (lines.size() != 6 || !FromHex(Value(lines[1], "journal"), &anchor.journal) ||
      !absl::SimpleAtoi(Value(lines[2], "length"), &anchor.length) ||
      !FromHex(Value(lines[3], "chain"), &anchor.chain) || AnchorToText(anchor) != text) {
    return absl::DataLossError(absl::StrCat("the anchor ", path, " is damaged"));
  }
  return anchor;
}

absl::StatusOr<Anchor> ReadAnchor(const std::string& path) {
  constexpr char kRemedy[] =
      ". Without it an older copy of the journal could not be told from the latest. Bring the right file back; only if "
      "the "
      "journal is known to be the latest one, make another anchor with blink-node anchor --replace";
  const auto text = ReadFile(path, kAnchorBytesMax);
  if (absl::IsOutOfRange(text.status()))
    return absl::DataLossError(absl::StrCat("the anchor ", path, " is damaged", kRemedy));
  if (!text.ok())
    return absl::Status(text.status().code(), absl::StrCat("the anchor: ", text.status().message(), kRemedy));
  auto anchor = ParseAnchor(*text, path);
  if (absl::IsDataLoss(anchor.status())) return absl::DataLossError(absl::StrCat(anchor.status().message(), kRemedy));
  return anchor;
}

absl::Status WriteAnchor(const std::string& path, const Anchor& anchor) {
  const absl::Status written = WriteFileAtomically(path, AnchorToText(anchor));
  if (written.ok()) return written;
  return absl::Status(written.code(),
                      absl::StrCat("the anchor: ", written.message(),
                                   ". Nothing is sent that it does not hold: mend its volume and start again"));
}

}  // namespace blink
