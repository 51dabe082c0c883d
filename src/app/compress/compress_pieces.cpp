#include "app/compress/compress_pieces.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "app/common/work_distribution.h"
#include "distributed/consistency.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

/// Reads a file from the beginning, in pieces.
ByteSource bytes_of_file(const std::string& path) {
  const std::shared_ptr<const int> file(new int(open_for_reading(path)), [](const int* descriptor) {
    ::close(*descriptor);
    delete descriptor;
  });
  return [file, path](char* out, std::size_t size) { return read_some(*file, path, out, size); };
}

/// Everything that determines the compressed bytes.
std::vector<Claim> claims_of(const DistributedCompression& work) {
  const CompressOptions& o = work.options;
  return {{"the version", UNFOLD_VERSION},
          {"the byte order", std::endian::native == std::endian::little ? "little-endian" : "big-endian"},
          {"the model", o.model},
          {"the model file", fingerprint(std::as_bytes(std::span(o.file)))},
          {"--embed", o.embed ? "true" : "false"},
          {"--online", o.learns ? "true" : "false"},
          {"--optimizer", o.optimizer},
          {"--window", fmt::format("{}", o.window)},
          {"--block", fmt::format("{}", o.block)},
          {"--no-verify", o.verify ? "false" : "true"},
          {"--key", o.key != nullptr ? "given" : "not given"},
          {"the set of bytes", fingerprint(std::as_bytes(std::span(o.bytes)))},
          {"the fingerprint of " + work.input, fingerprint_of_file(work.input)}};
}

/// Returns a name for pieces that is unique to this input and these options.
std::string name_of(const std::vector<Claim>& claims) {
  std::string all;
  for (const Claim& claim : claims) all += fmt::format("{}={}\n", claim.what, claim.value);
  return fingerprint(std::as_bytes(std::span(all)));
}

}  // namespace

CompressResult compress_in_processes(const DistributedCompression& work, const ByteSink& sink, Processes& processes,
                                     Reporter& reporter) {
  const std::vector<Claim> claims = claims_of(work);
  require_same_settings(processes, claims);
  const std::string stem = fmt::format("{}/{}", work.folder, name_of(claims));
  const auto blocks_of_piece = static_cast<Index>(processes.of_first(work.options.threads));
  const Index blocks = PieceCompressor(bytes_of_file(work.input), work.options).skip(std::numeric_limits<Index>::max());
  PieceCompressor compressor(bytes_of_file(work.input), work.options);
  std::vector<std::string> files;
  std::vector<WorkPiece> pieces;
  for (Index begin = 0; begin < blocks; begin += blocks_of_piece) {
    const Range piece = {begin, std::min(blocks, begin + blocks_of_piece)};
    const std::string file = fmt::format("{}-{}", stem, begin);
    files.push_back(file);
    pieces.push_back(
        {.name = fmt::format("blocks {} to {}", piece.begin + 1, piece.end),
         .claim = file + ".claim",
         .is_done = [file] { return fs::exists(file); },
         .do_it = [&compressor, piece, file](Reporter&) { write_file_atomically(file, compressor.piece(piece)); }});
  }
  do_work(pieces, {.processes = &processes}, reporter);
  processes.any(false);  // barrier: every process has seen that all pieces are done
  if (!processes.first()) return {};
  const CompressResult result = join_pieces(
      [&, next = files.begin()](std::string& piece) mutable {
        if (next == files.end()) return false;
        piece = read_file(*next++);
        return true;
      },
      sink, work.options);
  std::error_code ignored;
  fs::remove_all(work.folder, ignored);
  return result;
}

}  // namespace unfold
