// Recognises what a file is by its first bytes, so that a file that is not what was asked for is named as what it is.
#ifndef BLINK_COMMON_GRAPH_FILE_FORMAT_H_
#define BLINK_COMMON_GRAPH_FILE_FORMAT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

enum class FileKind { kText, kNumpyArray, kNumpyArchive, kPickle, kXml, kGml, kJson, kMatrixMarket, kMatlab, kOther };
FileKind KindOf(absl::string_view first_bytes);

enum class WantedContent { kLinks, kRows, kFeatures };
// INVALID_ARGUMENT for a file `name` that is not text: it names the format, and the command that makes what is wanted
// of it. Some of them `blink dataset convert` reads itself where links are wanted (tools/dataset/import).
absl::Status CheckIsText(absl::string_view first_bytes, const std::string& name, WantedContent wanted);
// The same for a file that is neither text nor an array or archive of NumPy.
absl::Status CheckIsTextOrNumpy(absl::string_view first_bytes, const std::string& name);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_FILE_FORMAT_H_
