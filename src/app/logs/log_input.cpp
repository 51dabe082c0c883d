#include "app/logs/log_input.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "model/logs/log_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr std::size_t kMostUnpacked = 8;  // compressed copies that are searched for a position

struct FoundFile {
  std::string path;
  std::string suffix = {};  // suffix of a rotated file: "1", "20240131"
  std::uint64_t device = 0, inode = 0;
  Index size = 0, modified = 0;  // nanoseconds
  bool is(const LogInputPosition& position) const {
    return device == position.device && inode == position.inode && position.inode != 0;
  }
};

std::optional<FoundFile> regular_file(const std::string& path) {
  struct stat info {};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  constexpr Index kNanoseconds = 1'000'000'000;
  return FoundFile{.path = path,
                   .device = static_cast<std::uint64_t>(info.st_dev),
                   .inode = static_cast<std::uint64_t>(info.st_ino),
                   .size = static_cast<Index>(info.st_size),
                   .modified = static_cast<Index>(info.st_mtim.tv_sec) * kNanoseconds + info.st_mtim.tv_nsec};
}

bool is_compressed(std::string_view path) {
  return path.ends_with(".gz") || path.ends_with(".xz") || path.ends_with(".zst");
}

/// Returns at most `size` bytes of a file from offset `from` on, after decompression.
std::string bytes_of(const FoundFile& file, Index from, std::size_t size) {
  if (is_compressed(file.path)) {
    try {
      const Input input = Input::open(file.path);
      const std::string_view bytes = input.bytes();
      return std::string(bytes.substr(std::min(static_cast<std::size_t>(from), bytes.size()), size));
    } catch (const DataError&) {
      return {};  // the file is damaged, or still being written
    }
  }
  const int descriptor = open_for_reading(file.path);
  std::string bytes(size, '\0');
  const ssize_t got = ::pread(descriptor, bytes.data(), size, static_cast<off_t>(from));
  ::close(descriptor);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

/// Returns whether the bytes before a position equal those that were read there.
bool holds(const FoundFile& file, const LogInputPosition& position) {
  const std::size_t size = position.recent.size();
  return bytes_of(file, position.bytes - static_cast<Index>(size), size) == position.recent;
}

/// Returns the part of a name that rotation added to the name of the log: "1" of app.log.1, "20240131" of
/// app-20240131.log.gz; empty for other files.
std::string rotation_suffix(std::string name, const std::string& log) {
  if (is_compressed(name)) name.erase(name.rfind('.'));
  const std::size_t dot = log.rfind('.');
  const std::string stem = log.substr(0, dot), extension = dot == std::string::npos ? "" : log.substr(dot);
  std::string rest;
  if (name.starts_with(log))
    rest = name.substr(log.size());
  else if (!extension.empty() && name.starts_with(stem) && name.ends_with(extension) &&
           name.size() > stem.size() + extension.size())
    rest = name.substr(stem.size(), name.size() - stem.size() - extension.size());
  if (rest.size() < 2 || std::string_view(".-_").find(rest[0]) == std::string_view::npos) return {};
  rest.erase(0, 1);
  const bool dated = rest[0] >= '0' && rest[0] <= '9' && rest.find_first_not_of("0123456789.-_:T") == std::string::npos;
  return dated || rest == "old" ? rest : "";
}

/// Returns the rotated copies of a log, from the oldest to the newest.
std::vector<FoundFile> rotated_files(const std::string& path) {
  const std::filesystem::path log(path);
  const std::filesystem::path folder = log.has_parent_path() ? log.parent_path() : std::filesystem::path(".");
  std::vector<FoundFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string suffix = rotation_suffix(entry->path().filename().string(), log.filename().string());
    if (suffix.empty()) continue;
    std::optional<FoundFile> file = regular_file((log.parent_path() / entry->path().filename()).string());
    if (!file) continue;
    file->suffix = std::move(suffix);
    files.push_back(*std::move(file));
  }
  constexpr std::size_t kLongestNumber = 5;
  const bool numbered = std::ranges::all_of(files, [](const FoundFile& file) {
    return file.suffix.size() <= kLongestNumber && file.suffix.find_first_not_of("0123456789") == std::string::npos;
  });
  std::ranges::sort(files, [&](const FoundFile& a, const FoundFile& b) {
    if (numbered) return std::stol(a.suffix) > std::stol(b.suffix);
    return std::pair(a.modified, a.path) < std::pair(b.modified, b.path);
  });
  return files;
}

/// Returns the index of the file that continues a position: the file itself under a different name, otherwise the
/// newest one with the same bytes.
std::optional<std::size_t> copy_of(const std::vector<FoundFile>& files, const LogInputPosition& position) {
  for (std::size_t i = files.size(); i-- > 0;)
    if (files[i].is(position) && holds(files[i], position)) return i;
  for (std::size_t i = files.size(); i-- > 0;)
    if (!is_compressed(files[i].path) && holds(files[i], position)) return i;
  std::size_t unpacked = 0;
  for (std::size_t i = files.size(); i-- > 0 && unpacked < kMostUnpacked;)
    if (is_compressed(files[i].path) && ++unpacked > 0 && holds(files[i], position)) return i;
  return std::nullopt;
}

/// Returns the index of the first copy that was modified after an empty log was read.
std::optional<std::size_t> copy_after(const std::vector<FoundFile>& files, const LogInputPosition& position) {
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].modified > position.since && files[i].size > 0) return i;
  return std::nullopt;
}

Index log_since(const nlohmann::json& json) {
  if (!json.is_number_integer()) refuse_log_model("the position is inconsistent");
  return json.get<Index>();
}

}  // namespace

void LogInputPosition::begin(std::uint64_t its_device, std::uint64_t its_inode, std::string its_carry) {
  *this = {.device = its_device, .inode = its_inode, .carry = std::move(its_carry)};
}

void LogInputPosition::pass(std::string_view line, char line_end) {
  line.remove_prefix(std::min(carry.size(), line.size()));
  carry.clear();
  bytes += static_cast<Index>(line.size()) + 1;
  if (line.size() + 1 >= kRecentBytes) recent.clear();
  recent.append(line.substr(line.size() - std::min(line.size(), kRecentBytes - 1))).append(1, line_end);
  if (recent.size() > kRecentBytes) recent.erase(0, recent.size() - kRecentBytes);
}

nlohmann::json LogInputPosition::to_json() const {
  return {{"device", device}, {"inode", inode}, {"bytes", bytes},
          {"recent", recent}, {"carry", carry}, {"since", since}};
}

LogInputPosition LogInputPosition::from_json(const nlohmann::json& json) {
  const nlohmann::json &device = log_part(json, "device"), &inode = log_part(json, "inode");
  if (!device.is_number_unsigned() || !inode.is_number_unsigned()) refuse_log_model("the position is inconsistent");
  LogInputPosition position{.device = device.get<std::uint64_t>(),
                            .inode = inode.get<std::uint64_t>(),
                            .bytes = log_count(json, "bytes"),
                            .recent = log_text(json, "recent"),
                            .carry = log_text(json, "carry"),
                            .since = log_since(log_part(json, "since"))};
  if (position.recent.size() > kRecentBytes || static_cast<Index>(position.recent.size()) > position.bytes)
    refuse_log_model("the position is inconsistent");
  return position;
}

void LogInput::open() {
  pieces_ = {{.path = path_}};
  (void)open_piece();
}

std::vector<std::string> LogInput::continue_after(const LogInputPosition& position) {
  const std::optional<FoundFile> log = regular_file(path_);
  const auto piece = [](const FoundFile& file, Index from) {
    return Piece{.path = file.path, .from = from, .device = file.device, .inode = file.inode};
  };
  std::vector<std::string> notes;
  resumed_ = log.has_value();
  if (!log) {  // a pipe has no position, and a file that does not exist is an error
    open();
    return notes;
  }
  position_ = position;
  const bool same = log->is(position);
  const std::vector<FoundFile> copies = position.inode == 0 || (position.bytes > 0 && same && holds(*log, position))
                                            ? std::vector<FoundFile>()
                                            : rotated_files(path_);
  const bool was_empty = position.bytes == 0;
  const std::optional<std::size_t> copy = was_empty ? copy_after(copies, position) : copy_of(copies, position);
  if (position.inode == 0) {
    pieces_ = {piece(*log, 0)};
  } else if (copy) {
    pieces_ = {piece(copies[*copy], position.bytes)};
    for (std::size_t i = *copy + 1; i < copies.size(); ++i) pieces_.push_back(piece(copies[i], 0));
    pieces_.push_back(piece(*log, 0));
    std::erase_if(pieces_, [&](const Piece& each) {
      const std::optional<FoundFile> file = regular_file(each.path);
      return each.from == 0 && (!file || file->size == 0);
    });
    notes.push_back(fmt::format("{} was rotated; reading continues in {}", path_, copies[*copy].path));
  } else if (holds(*log, position)) {
    pieces_ = {piece(*log, position.bytes)};
    position_.device = log->device, position_.inode = log->inode;
  } else {
    notes.push_back(
        fmt::format("{} was replaced or truncated after {} bytes were read, and no rotated copy continues them; it is "
                    "read from its beginning",
                    path_, position.bytes));
    position_ = {};
    pieces_ = {piece(*log, 0)};
  }
  if (pieces_.size() == 1 && pieces_[0].path == path_ && pieces_[0].from == 0 &&
      log->size == 0) {  // nothing was written yet
    pieces_.clear();
    position_.begin(log->device, log->inode, {});
    position_.since = log->modified;
  }
  (void)open_piece();
  return notes;
}

/// Opens the current piece. Returns false if there is none, or if the file was rotated after it was found; the next run
/// then finds it.
bool LogInput::open_piece() {
  if (piece_ >= pieces_.size()) return false;
  const Piece& piece = pieces_[piece_];
  const std::optional<FoundFile> now = regular_file(piece.path);
  if (resumed_ && (!now || now->device != piece.device || now->inode != piece.inode)) {
    pieces_.resize(std::max<std::size_t>(piece_, 1));
    piece_ = pieces_.size();
    return false;
  }
  source_ = std::make_unique<LineSource>(piece.path);
  source_->accept_carriage_returns();
  if (piece.from > 0) source_->skip(piece.from);
  if (piece.from > 0 && position_.recent.ends_with('\r')) source_->set_line_end('\r');
  begins_ = resumed_ && piece.from == 0;
  return true;
}

/// Returns whether a line without a line ending is incomplete: the rest follows later in the same file, or already in
/// the next one.
bool LogInput::leaves(std::string_view line) {
  if (!resumed_ || source_->line_ended()) return false;
  const bool is_last = piece_ + 1 == pieces_.size();
  if (is_last && is_compressed(path_)) return false;
  if (is_last) left_bytes_ = next_carry_.size() + line.size();
  next_carry_ += line;
  return true;
}

bool LogInput::next(std::string_view& line) {
  began_file_ = false;
  while (piece_ < pieces_.size()) {
    if (source_ == nullptr && !open_piece()) return false;
    if (!source_->next(line) || leaves(line)) {
      source_.reset();
      ++piece_;
      continue;
    }
    carry_ = std::exchange(next_carry_, {});
    if (!carry_.empty()) {
      line_ = carry_;
      line_ += line;
      line = line_;
    }
    began_file_ = std::exchange(begins_, false);
    if (began_file_) position_.begin(pieces_[piece_].device, pieces_[piece_].inode, carry_);
    if (resumed_) position_.pass(line, source_->line_end());
    return true;
  }
  return false;
}

}  // namespace unfold
