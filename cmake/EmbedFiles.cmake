# Writes OUTPUT, a C++ source that holds the files of the web page:
#   cmake -DFOLDER=aggregator_server/web -DNAMES=index.html,app.js -DOUTPUT=web_files.cc -P EmbedFiles.cmake
set(_type_html "text/html")
set(_type_css "text/css")
set(_type_js "text/javascript")
set(_type_svg "image/svg+xml")
string(REPLACE "," ";" _names "${NAMES}")
set(_texts "")
set(_entries "")
foreach(_name ${_names})
  file(READ ${FOLDER}/${_name} _hex HEX)
  string(LENGTH "${_hex}" _digits)
  math(EXPR _bytes "${_digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" _escaped "${_hex}")
  # many short literals, which the compiler joins
  set(_byte "(\\\\x[0-9a-f][0-9a-f])")
  string(REGEX MATCHALL "${_byte}?${_byte}?${_byte}?${_byte}" _pieces "${_escaped}")
  list(JOIN _pieces "\"\n    \"" _joined)
  string(MAKE_C_IDENTIFIER "kText_${_name}" _symbol)
  string(APPEND _texts "const char ${_symbol}[] =\n    \"${_joined}\";\n")
  string(REGEX REPLACE ".*\\." "" _ending "${_name}")
  set(_path "/${_name}")
  if(_name STREQUAL "index.html")
    set(_path "/")
  endif()
  set(_type "${_type_${_ending}}; charset=utf-8")
  string(APPEND _entries "      {\"${_path}\", \"${_type}\", {${_symbol}, ${_bytes}}},\n")
endforeach()
file(WRITE ${OUTPUT}
     "#include \"aggregator_server/web/web_files.h\"\n\nnamespace blink {\nnamespace {\n\n${_texts}\n}\n\n"
     "const std::vector<WebFile>& WebFiles() {\n  static const std::vector<WebFile> files = {\n${_entries}  };\n"
     "  return files;\n}\n\n}\n")
