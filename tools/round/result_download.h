// Downloads the files of a round's result into a new folder.
#ifndef BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_
#define BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_

#include <string>

#include "absl/status/status.h"
#include "tools/round/operator_client.h"

namespace blink {

// Fetches every artifact of the result with this metrics.json into `folder`.partial, which is locked, and becomes
// `folder` when it is complete. A killed process may have left an older one: its files of a result are removed, and
// nothing else.
//
// Returns INVALID_ARGUMENT before anything is fetched when `folder` exists (even as a symbolic link to nothing), or
// when `folder`.partial is not a folder or holds another file. Returns ABORTED when another process fetches into
// `folder`, and otherwise what the aggregator or the file system says.
absl::Status DownloadResult(OperatorClient& client, const std::string& round_id, const std::string& metrics_json,
                            std::string folder);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_
