// The files of the page, which are compiled into the program (cmake/EmbedFiles.cmake).
#ifndef BLINK_AGGREGATOR_SERVER_WEB_WEB_FILES_H_
#define BLINK_AGGREGATOR_SERVER_WEB_WEB_FILES_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace blink {

struct WebFile {
  absl::string_view path;  // "/" is index.html
  const char* type;
  absl::string_view text;
};

const std::vector<WebFile>& WebFiles();

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_WEB_FILES_H_
