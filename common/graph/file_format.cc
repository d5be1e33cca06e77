#include "common/graph/file_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace blink {
namespace {

using absl::string_view;

struct Format {
  const char* name;
  // What to do, by what is wanted. FILE stands for the file, OUT for edges or rows. Without the text for a kind it is
  // that of `links`.
  const char* links;
  const char* rows = nullptr;
  const char* features = nullptr;
};

constexpr char kWriteText[] = "write it as text, one row a line (CSV)";

constexpr Format kZip = {"a zip archive", "unpack it (unzip FILE) and give the file in it"};
constexpr Format kExcel = {"an Excel workbook", "python3 -c \"import pandas; pandas.read_excel('FILE')PANDAS"};
constexpr Format kNpz = {
    "a NumPy or SciPy archive (.npz)",
    "of a matrix of scipy.sparse.save_npz: python3 -c \"import scipy.sparse as s, numpy; m = s.load_npz('FILE')"
    ".tocoo(); numpy.savetxt('edges.csv', numpy.c_[m.row, m.col], '%d', ',')\"",
    "python3 -c \"import numpy; z = numpy.load('FILE'); print(z.files)\" shows its arrays; numpy.savetxt writes one as "
    "text"};
constexpr Format kNpy = {
    "a NumPy array (.npy)",
    "python3 -c \"import numpy; a = numpy.load('FILE'); numpy.savetxt('edges.csv', a if a.shape[1] == 2 else a.T, "
    "'%d', "
    "',')\"",
    "python3 -c \"import numpy; a = numpy.load('FILE'); numpy.savetxt('rows.csv', numpy.c_[numpy.arange(len(a)), a], "
    "'%s', ',')\""};
constexpr Format kTorch = {
    "a file of PyTorch (.pt)",
    "blink does not load it, as that can run code. Where you trust its source, these three lines of Python write "
    "graph.npz, which `blink dataset convert graph.npz` reads:\n"
    "import numpy, torch; d = torch.load('FILE', weights_only=False); d = d[0] if isinstance(d, (tuple, list)) else d\n"
    "d = d if isinstance(d, dict) else d.to_dict()\n"
    "numpy.savez('graph.npz', **{k: numpy.asarray(d[k]) for k in ('edge_index', 'x', 'y', 'train_mask', 'val_mask', "
    "'test_mask', 'num_nodes') if d.get(k) is not None})",
    "python3 -c \"import torch, numpy; d = torch.load('FILE'); numpy.savetxt('labels.csv', "
    "numpy.c_[range(len(d.y)), d.y.numpy()], '%d', ',')\"",
    "python3 -c \"import torch, numpy; d = torch.load('FILE'); numpy.save('features.npy', d.x.numpy())\""};
constexpr Format kPickle = {
    "a pickle of Python",
    "load it where you trust its source, as it can run code: python3 -c \"import pickle, networkx; "
    "networkx.write_edgelist(networkx.Graph(pickle.load(open('FILE', 'rb'))), 'edges.txt', data=False)\"",
    "load it with pickle.load, where you trust its source, as it can run code; then write text, one row a line",
    "load it with pickle.load, where you trust its source, as it can run code; then numpy.save('features.npy', x)"};
constexpr Format kGraphMl = {
    "XML, such as GraphML",
    "python3 -c \"import networkx; networkx.write_edgelist(networkx.read_graphml('FILE'), 'edges.tsv', "
    "delimiter='\\t', data=False)\" (read_gexf for GEXF)",
    kWriteText};
constexpr Format kHtml = {"a web page (HTML)", "the download gave a page instead of the file: fetch the file again"};
constexpr Format kGml = {
    "GML",
    "python3 -c \"import networkx; networkx.write_edgelist(networkx.read_gml('FILE'), 'edges.tsv', "
    "delimiter='\\t', data=False)\"",
    kWriteText};
constexpr Format kDot = {"a graph in DOT (Graphviz)",
                         "python3 -c \"import networkx; networkx.write_edgelist(networkx.nx_pydot.read_dot('FILE'), "
                         "'edges.tsv', delimiter='\\t', data=False)\"",
                         kWriteText};
constexpr Format kPajek = {"a Pajek network",
                           "python3 -c \"import networkx; networkx.write_edgelist(networkx.Graph(networkx.read_pajek("
                           "'FILE')), 'edges.tsv', delimiter='\\t', data=False)\"",
                           kWriteText};
constexpr Format kMatrixMarket = {
    "Matrix Market",
    "python3 -c \"import scipy.io, numpy; m = scipy.io.mmread('FILE').tocoo(); numpy.savetxt('edges.csv', "
    "numpy.c_[m.row, m.col], '%d', ',')\"",
    kWriteText,
    "python3 -c \"import scipy.io, scipy.sparse as s; s.save_npz('features.npz', "
    "s.csr_matrix(scipy.io.mmread('FILE')))\""};
constexpr Format kJson = {
    "JSON",
    "of pairs [[0, 1], ..]: python3 -c \"import json; [print(a, b, sep='\\t') for a, b in json.load(open('FILE'))]\" > "
    "edges.tsv; of networkx's form: networkx.node_link_graph, then networkx.write_edgelist",
    "of an object {\"id\": value}: python3 -c \"import json; [print(k, v, sep='\\t') for k, v in "
    "json.load(open('FILE')).items()]\" > rows.tsv",
    "of lists of word numbers by id: python3 -c \"import json, numpy, scipy.sparse as s; d = json.load(open('FILE')); "
    "r = [i for i, w in enumerate(d.values()) for _ in w]; c = [x for w in d.values() for x in w]; "
    "s.save_npz('features.npz', s.csr_matrix((numpy.ones(len(c)), (r, c)))); open('ids.txt', "
    "'w').write('\\n'.join(d))\""
    ", then --features features.npz --feature-ids ids.txt"};
constexpr Format kTuples = {"tuples of Python or lists of YAML",
                            "python3 -c \"import re; [print(*re.findall(r'[^][(),\\s]+', x.lstrip('- ')), sep='\\t') "
                            "for x in open('FILE')]\" > OUT.tsv"};
constexpr Format kUtf16 = {"text in UTF-16",
                           "iconv -f UTF-16 -t UTF-8 FILE > OTHER (and of XML remove encoding=\"UTF-16\")"};
constexpr Format kUtf32 = {"text in UTF-32", "iconv -f UTF-32 -t UTF-8 FILE > utf8.csv"};
constexpr Format kXz = {"compressed by xz", "xz -dc FILE > unpacked, then give unpacked"};
constexpr Format kBzip2 = {"compressed by bzip2", "bzip2 -dc FILE > unpacked, then give unpacked"};
constexpr Format kZstd = {"compressed by zstd", "zstd -dc FILE > unpacked, then give unpacked"};
constexpr Format kLz4 = {"compressed by lz4", "lz4 -dc FILE > unpacked, then give unpacked"};
constexpr Format kCompress = {"compressed by compress (.Z)", "gzip -dc FILE > unpacked, then give unpacked"};
constexpr Format kLzip = {"compressed by lzip", "lzip -dc FILE > unpacked, then give unpacked"};
constexpr Format kLfsPointer = {"a pointer of Git LFS",
                                "the repository was cloned without the file: fetch it with `git lfs pull`",
                                "the repository was cloned without the file: fetch it with `git lfs pull`",
                                "the repository was cloned without the file: fetch it with `git lfs pull`"};
constexpr Format kSevenZip = {"a 7-Zip archive", "unpack it (7z x FILE) and give the file in it"};
constexpr Format kRar = {"a RAR archive", "unpack it (unrar x FILE) and give the file in it"};
constexpr Format kTar = {"a tar archive", "unpack it (tar -xf FILE) and give the file in it"};
constexpr Format kHdf5 = {"HDF5", "python3 -c \"import pandas; pandas.read_hdf('FILE')PANDAS", nullptr,
                          "read it with h5py, then numpy.save('features.npy', x)"};
constexpr Format kMatlab = {"a MATLAB file (.mat)",
                            "read it with scipy.io.loadmat and write two columns of ids as text",
                            "read it with scipy.io.loadmat and write it as text, one row a line",
                            "read it with scipy.io.loadmat, then numpy.save('features.npy', x) or "
                            "scipy.sparse.save_npz('features.npz', x)"};
constexpr Format kParquet = {"Parquet", "python3 -c \"import pandas; pandas.read_parquet('FILE')PANDAS"};
constexpr Format kArrow = {"Arrow or Feather", "python3 -c \"import pandas; pandas.read_feather('FILE')PANDAS"};
constexpr Format kOrc = {"ORC", "python3 -c \"import pandas; pandas.read_orc('FILE')PANDAS"};
constexpr Format kAvro = {"Avro", kWriteText};
constexpr Format kSqlite = {"an SQLite database", "sqlite3 -csv FILE \"SELECT source, target FROM links\" > edges.csv",
                            "sqlite3 -csv FILE \"SELECT node, label FROM nodes\" > labels.csv"};
constexpr Format kOldOffice = {"an old Office file, such as .xls", "save it as CSV"};
constexpr Format kRData = {"a file of R (.rds, .RData)", "in R: write.csv(x, 'edges.csv', row.names=FALSE)"};
constexpr Format kPdf = {"a PDF", "give the file that holds the data"};
constexpr Format kGraph6 = {"graph6 or sparse6",
                            "python3 -c \"import networkx; networkx.write_edgelist(networkx.read_graph6('FILE'), "
                            "'edges.txt', data=False)\" (read_sparse6 for sparse6)"};
constexpr Format kArff = {"ARFF (Weka)", kWriteText};
constexpr Format kBinary = {"a binary file of a kind that blink does not know", kWriteText};

struct Magic {
  string_view bytes;
  const Format* format;
};
constexpr Magic kMagics[] = {
    {string_view("\xff\xfe\0\0", 4), &kUtf32},
    {string_view("\0\0\xfe\xff", 4), &kUtf32},
    {"\xff\xfe", &kUtf16},
    {"\xfe\xff", &kUtf16},
    {"\x93NUMPY", &kNpy},
    {string_view("\xfd\x37zXZ\0", 6), &kXz},
    {"BZh", &kBzip2},
    {"\x28\xb5\x2f\xfd", &kZstd},
    {"\x04\x22\x4d\x18", &kLz4},
    {"\x1f\x9d", &kCompress},
    {"LZIP\x01", &kLzip},
    {"7z\xbc\xaf\x27\x1c", &kSevenZip},
    {"Rar!\x1a\x07", &kRar},
    {"\x89HDF\r\n\x1a\n", &kHdf5},
    {"MATLAB 5.0 MAT-file", &kMatlab},
    {"MATLAB 7.3 MAT-file", &kMatlab},
    {"PAR1", &kParquet},
    {string_view("ARROW1\0", 7), &kArrow},
    {"FEA1", &kArrow},
    {string_view("ORC\x0a", 4), &kOrc},
    {"ORC\x08", &kOrc},
    {"Obj\x01", &kAvro},
    {string_view("SQLite format 3\0", 16), &kSqlite},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", &kOldOffice},
    {"RDX2\n", &kRData},
    {"RDX3\n", &kRData},
    {string_view("X\n\0\0\0", 5), &kRData},
    {"%PDF-", &kPdf},
    {"%%MatrixMarket", &kMatrixMarket},
    {"%MatrixMarket", &kMatrixMarket},
    {"version https://git-lfs", &kLfsPointer},
    {">>graph6<<", &kGraph6},
    {">>sparse6<<", &kGraph6},
};

const Format* ZipFormat(string_view bytes) {
  if (absl::StrContains(bytes, "data.pkl") || absl::StrContains(bytes, "/version")) return &kTorch;
  if (absl::StrContains(bytes, ".npy")) return &kNpz;
  if (absl::StrContains(bytes, "[Content_Types].xml") || absl::StrContains(bytes, "xl/")) return &kExcel;
  return &kZip;
}

// "cposix\nsystem\np0\n(": module and name of an object, its place in the memo, and its arguments, as pickles in the
// protocols 0 and 1 begin with.
bool BeginsWithName(string_view bytes) {
  if (!absl::ConsumePrefix(&bytes, "c")) return false;
  for (int k = 0; k < 2; ++k) {
    const string_view line = bytes.substr(0, bytes.find('\n'));
    if (line.empty() || line.size() == bytes.size() ||
        !std::all_of(line.begin(), line.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }))
      return false;
    bytes.remove_prefix(line.size() + 1);
  }
  if (absl::StartsWith(bytes, "p")) bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size() - 1) + 1);
  if (absl::StartsWith(bytes, "q")) bytes.remove_prefix(std::min<size_t>(bytes.size(), 2));
  return absl::StartsWith(bytes, "(") || absl::StartsWith(bytes, ")");
}

// 0x80, the version of the protocol, then an opcode; or protocol 0 and 1, which are text that ends with a full stop.
const Format* PickleFormat(string_view bytes) {
  if (bytes.size() < 3 || bytes[0] != '\x80' || bytes[1] < 2 || bytes[1] > 5) {
    return absl::StartsWith(bytes, "(dp0\n") || absl::StartsWith(bytes, "(lp0\n") ||
                   absl::StartsWith(bytes, string_view("}q\0", 3)) || BeginsWithName(bytes)
               ? &kPickle
               : nullptr;
  }
  const bool of_torch =
      absl::StartsWith(bytes.substr(2), "\x8a\x0al\xfc\x9c\x46\xf9") || absl::StrContains(bytes, "torch");
  return of_torch ? &kTorch : &kPickle;
}

bool IsWordThen(string_view lower, string_view word, string_view then) {
  if (!absl::ConsumePrefix(&lower, word)) return false;
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(lower), then);
}

// "(1, 2)", or "- [1, 2]", where the bracket that begins the line ends it too.
bool IsBracketed(string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (absl::ConsumePrefix(&line, "- ") && !absl::StartsWith(line, "[")) return false;
  if (line.size() < 2 || (line[0] != '(' && line[0] != '[')) return false;
  absl::ConsumeSuffix(&line, ",");
  const char close = line[0] == '(' ? ')' : ']';
  return line.find(close) == line.size() - 1 && line.find(line[0], 1) == line.npos && absl::StrContains(line, ',');
}

// "graph [" after comments and what tells where it comes from: Creator "..", Version 1.
bool IsGml(string_view lower) {
  while (absl::StartsWith(lower, "#")) {
    const size_t end = std::min(lower.find('\n'), lower.size());
    lower = absl::StripLeadingAsciiWhitespace(lower.substr(end));
  }
  if (IsWordThen(lower, "graph", "[") || IsWordThen(lower, "creator", "\"")) return true;
  const size_t line = lower.find('\n');
  return absl::StartsWith(lower, "version ") && line != string_view::npos &&
         (IsWordThen(lower.substr(line + 1), "graph", "[") || IsWordThen(lower.substr(line + 1), "creator", "\""));
}

// Formats of text that are not rows.
const Format* TextFormat(string_view bytes) {
  absl::ConsumePrefix(&bytes, "\xEF\xBB\xBF");
  string_view text = absl::StripLeadingAsciiWhitespace(bytes);
  const std::string lower = absl::AsciiStrToLower(text.substr(0, 512));
  if (absl::StartsWith(lower, "<!doctype html") || absl::StartsWith(lower, "<html")) return &kHtml;
  if (absl::StartsWith(lower, "<?xml") || absl::StartsWith(lower, "<graphml") || absl::StartsWith(lower, "<gexf") ||
      absl::StartsWith(lower, "<!--") || absl::StartsWith(lower, "<!doctype")) {
    return &kGraphMl;
  }
  if (absl::StartsWith(lower, "*vertices") || absl::StartsWith(lower, "*network")) return &kPajek;
  if (absl::StartsWith(lower, "@relation")) return &kArff;
  if (IsGml(lower)) return &kGml;
  for (const char* word : {"strict graph", "strict digraph", "digraph", "graph"}) {
    if (absl::StartsWith(lower, word) && absl::StrContains(lower.substr(0, lower.find('\n')), "{")) return &kDot;
  }
  if (IsBracketed(bytes.substr(0, bytes.find('\n')))) return absl::StartsWith(text, "[") ? &kJson : &kTuples;
  // A name may begin with a bracket, so what follows must look like JSON too.
  if (!text.empty() && (text[0] == '{' || text[0] == '[')) {
    const string_view next = absl::StripLeadingAsciiWhitespace(text.substr(1));
    if (next.empty() || next[0] == '"' || next[0] == '[' || next[0] == '{' || next[0] == ']' || next[0] == '}' ||
        (text[0] == '[' && absl::ascii_isdigit(next[0])) || absl::StartsWith(next, "-")) {
      return &kJson;
    }
  }
  return nullptr;
}

const Format* FindFormat(string_view bytes) {
  for (const auto& [magic, format] : kMagics) {
    if (absl::StartsWith(bytes, magic)) return format;
  }
  if (absl::StartsWith(bytes, "PK\x03\x04") || absl::StartsWith(bytes, "PK\x05\x06")) return ZipFormat(bytes);
  if (bytes.size() > 262 && bytes.substr(257, 5) == "ustar") return &kTar;
  if (const Format* pickle = PickleFormat(bytes); pickle != nullptr) return pickle;
  const size_t zeros = std::count(bytes.begin(), bytes.end(), '\0');
  if (zeros > 0) {
    // Without a mark at its beginning, UTF-16 of Latin letters has a zero in every second byte.
    const bool wide = bytes.size() >= 4 && zeros * 5 >= bytes.size() * 2 && (bytes[0] == '\0') != (bytes[1] == '\0');
    return wide ? &kUtf16 : &kBinary;
  }
  return TextFormat(bytes);
}

absl::Status Refuse(const Format& format, const std::string& name, WantedContent wanted) {
  const char* remedy = format.links;
  if (wanted == WantedContent::kRows && format.rows != nullptr) remedy = format.rows;
  if (wanted == WantedContent::kFeatures && format.features != nullptr) remedy = format.features;
  if (wanted == WantedContent::kFeatures && remedy == kWriteText) {
    remedy = "write it with numpy.save or scipy.sparse.save_npz";
  }
  const char* out = wanted == WantedContent::kLinks ? "edges" : "rows";
  const char* what = wanted == WantedContent::kLinks  ? "an edge list (text, two ids a line)"
                     : wanted == WantedContent::kRows ? "text with one row a line"
                                                      : "features (.npy, .npz, or text with an id and numbers a line)";
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", format.name, ", not ", what, "; ",
      absl::StrReplaceAll(
          remedy,
          {{"PANDAS", absl::StrCat(".to_csv('", out, ".csv', index=False)\"")}, {"FILE", name}, {"OUT", out}})));
}

}  // namespace

FileKind KindOf(string_view first_bytes) {
  const Format* format = FindFormat(first_bytes);
  if (format == nullptr) return FileKind::kText;
  constexpr std::pair<const Format*, FileKind> kKinds[] = {
      {&kNpy, FileKind::kNumpyArray}, {&kNpz, FileKind::kNumpyArchive},
      {&kPickle, FileKind::kPickle},  {&kGraphMl, FileKind::kXml},
      {&kGml, FileKind::kGml},        {&kJson, FileKind::kJson},
      {&kMatlab, FileKind::kMatlab},  {&kMatrixMarket, FileKind::kMatrixMarket}};
  for (const auto& [known, kind] : kKinds) {
    if (known == format) return kind;
  }
  return FileKind::kOther;
}

absl::Status CheckIsText(string_view first_bytes, const std::string& name, WantedContent wanted) {
  const Format* format = FindFormat(first_bytes);
  return format == nullptr ? absl::OkStatus() : Refuse(*format, name, wanted);
}

absl::Status CheckIsTextOrNumpy(string_view first_bytes, const std::string& name) {
  const FileKind kind = KindOf(first_bytes);
  if (kind == FileKind::kNumpyArray || kind == FileKind::kNumpyArchive) return absl::OkStatus();
  return CheckIsText(first_bytes, name, WantedContent::kFeatures);
}

}  // namespace blink
