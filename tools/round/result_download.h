// The files of a round's result, from an aggregator into a new folder.
#ifndef BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_
#define BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_

#include <string>

#include "absl/status/status.h"
#include "tools/round/operator_client.h"

namespace blink {

// Fetches every artifact into DIR.partial, which becomes DIR when it is complete, and is locked until then. One that
// was left by a process that was killed is cleared, of the files of a result and of nothing else.
// INVALID_ARGUMENT before anything is fetched: DIR exists already, be it as a symbolic link to nothing, or DIR.partial
// is no folder, or holds something else. ABORTED: another process fetches into DIR. Otherwise what the aggregator or
// the file system says.
absl::Status DownloadResult(OperatorClient& client, const std::string& round_id, std::string folder);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_RESULT_DOWNLOAD_H_
