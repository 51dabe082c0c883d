#include "unfold/base/formats/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

const std::string kText = "eins zwei drei\nvier\n";

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

/// The root user may access everything; in this scope the process drops root privileges, if it is allowed to.
class Unprivileged {
 public:
  Unprivileged() : root_(::geteuid() == 0) {
    if (root_ && ::seteuid(65534) != 0) root_ = false;
  }
  ~Unprivileged() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }
  static bool possible() {
    const Unprivileged scope;
    return ::geteuid() != 0;
  }

 private:
  bool root_;
};

struct Packed {
  std::string ending, bytes;
};

/// kText packed by gzip, xz and zstd.
const std::vector<Packed> kPacked{
    {".gz", from_hex("1f8b08000000000002034bcdcc2b56a82a4fcd5448294acde42acb4c2de20200901bb20c14000000")},
    {".xz", from_hex("fd377a585a000004e6d6b446020021011c00000010cf58cc01001365696e73207a77656920647265690a766965"
                     "720a00b945ca9b3b456cac00012c14f80a6d031fb6f37d010000000004595a")},
    {".zst", from_hex("28b52ffd2414a1000065696e73207a77656920647265690a766965720aac7407f2")}};

TEST(InputFile, a_plain_file_is_read_as_it_is) {
  const ScratchFolder folder;
  const Input input = Input::open(folder.write("a.txt", kText));
  EXPECT_EQ(input.bytes(), kText);
  EXPECT_EQ(input.name(), folder.path("a.txt"));
  EXPECT_EQ(read_file(folder.path("a.txt")), kText);
  EXPECT_EQ(MappedFile(folder.path("a.txt")).bytes(), kText);
}

TEST(InputFile, packed_files_are_unpacked_by_their_ending) {
  const ScratchFolder folder;
  for (const Packed& packed : kPacked) {
    EXPECT_EQ(Input::open(folder.write("a" + packed.ending, packed.bytes)).bytes(), kText) << packed.ending;
    EXPECT_EQ(Input::open(folder.write("plain", packed.bytes)).bytes(), packed.bytes);
  }
}

TEST(InputFile, AWindowThatIsTooLongNamesTheLimit) {
  const ScratchFolder folder;
  const std::string file = folder.write("long.zst", from_hex("28b52ffd00a0010000"));  // a window of 1 GiB
  const std::string message = message_of<DataError>([&] { Input::open(file); });
  EXPECT_TRUE(contains(message, "a window of more than 128 MiB")) << message;
  EXPECT_TRUE(contains(message, "--long=27")) << message;
  EXPECT_FALSE(contains(message, "damaged")) << message;
}

TEST(InputFile, several_members_follow_each_other) {
  const ScratchFolder folder;
  for (const Packed& packed : kPacked) {
    EXPECT_EQ(Input::open(folder.write("a" + packed.ending, packed.bytes + packed.bytes)).bytes(), kText + kText);
  }
}

TEST(InputFile, every_cut_of_a_packed_file_is_a_data_error) {
  const ScratchFolder folder;
  for (const Packed& packed : kPacked) {
    for (std::size_t size = 1; size < packed.bytes.size(); ++size) {
      const std::string path = folder.write("a" + packed.ending, packed.bytes.substr(0, size));
      EXPECT_TRUE(contains(message_of<DataError>([&] { Input::open(path); }), "the compressed data is truncated"))
          << packed.ending << ' ' << size;
      // ... also if a complete member precedes it.
      folder.write("a" + packed.ending, packed.bytes + packed.bytes.substr(0, size));
      EXPECT_NE(message_of<DataError>([&] { Input::open(path); }), "") << packed.ending << ' ' << size;
    }
  }
}

TEST(InputFile, damaged_packed_files_and_wrong_endings_are_data_errors) {
  const ScratchFolder folder;
  for (const Packed& packed : kPacked) {
    std::string bytes = packed.bytes;
    bytes[bytes.size() / 2] ^= 0x55;
    const std::string path = folder.write("a" + packed.ending, bytes);
    EXPECT_NE(message_of<DataError>([&] { Input::open(path); }), "") << packed.ending;
    folder.write("a" + packed.ending, packed.bytes + "rubbish");
    EXPECT_NE(message_of<DataError>([&] { Input::open(path); }), "") << packed.ending;
    folder.write("a" + packed.ending, kText);
    EXPECT_TRUE(contains(message_of<DataError>([&] { Input::open(path); }), "the file name says")) << packed.ending;
  }
}

TEST(InputFile, missing_files_directories_and_empty_files_have_their_messages) {
  const ScratchFolder folder;
  const auto message = [](const std::string& path) { return message_of<DataError>([&] { Input::open(path); }); };
  EXPECT_TRUE(contains(message(folder.path("no")), "no: no such file"));
  EXPECT_TRUE(contains(message(folder.path("")), "is a directory"));
  EXPECT_TRUE(contains(message(folder.write("empty", "")), "is empty"));
  EXPECT_EQ(Input::open(folder.path("empty"), EmptyInput::allowed).bytes(), "");
  EXPECT_TRUE(contains(message_of<DataError>([&] { read_file(folder.path("")); }), "is a directory"));
  EXPECT_TRUE(contains(message_of<DataError>([&] { MappedFile{folder.path("no")}; }), "no such file"));
  EXPECT_THROW(open_inputs({"-", "-"}), UsageError);
}

TEST(InputFile, a_file_without_permission_is_a_data_error) {
  if (!Unprivileged::possible()) GTEST_SKIP() << "root may read everything";
  const ScratchFolder folder;
  const std::string path = folder.write("secret", kText);
  ::chmod(path.c_str(), 0);
  ::chmod(folder.path("").c_str(), 0755);
  const Unprivileged scope;
  EXPECT_TRUE(contains(message_of<DataError>([&] { Input::open(path); }), "permission denied"));
}

TEST(InputFile, a_pipe_is_read_to_its_end) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const std::string large(3000000, 'x');
  std::thread writer([&] { folder.write("pipe", large); });
  const Input input = Input::open(folder.path("pipe"));
  writer.join();
  EXPECT_EQ(input.bytes(), large);
}

TEST(InputFile, truncated_file_is_detected) {
  const ScratchFolder folder;
  const std::string small = folder.write("small", kText), large = folder.write("large", "");
  ASSERT_EQ(::truncate(large.c_str(), 20'000'000), 0);
  const Input read = Input::open(small), mapped = Input::open(large);
  ASSERT_EQ(::truncate(small.c_str(), 3), 0);
  EXPECT_EQ(read.bytes(), kText);
  read.require_whole();
  mapped.require_whole();
  ASSERT_EQ(::truncate(large.c_str(), 19'999'999), 0);
  EXPECT_TRUE(contains(message_of<RuntimeFailure>([&] { mapped.require_whole(); }),
                       large + " was truncated while it was read"));
  EXPECT_EQ(std::string(mapped_file_at(mapped.bytes().data() + 12'345)), large);
}

TEST(InputFile, input_that_exceeds_the_unpacked_limit_is_refused) {
  const ScratchFolder folder;
  for (const Packed& packed : kPacked) {
    const std::string path = folder.write("a" + packed.ending, packed.bytes);
    set_decompression_limit(static_cast<Index>(kText.size()));
    EXPECT_EQ(Input::open(path).bytes(), kText);
    set_decompression_limit(static_cast<Index>(kText.size()) - 1);
    const std::string message = message_of<DataError>([&] { Input::open(path); });
    EXPECT_TRUE(contains(message, "--max-unpacked")) << message;
    set_decompression_limit(0);
  }
}

TEST(InputFile, a_dash_is_standard_input) {
  const ScratchFolder folder;
  const int saved = ::dup(STDIN_FILENO), file = ::open(folder.write("a.gz", kText).c_str(), O_RDONLY);
  ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
  ::close(file);
  const std::vector<Input> inputs = open_inputs({"-"});
  EXPECT_EQ(inputs[0].bytes(), kText);
  EXPECT_EQ(inputs[0].name(), "standard input");
  EXPECT_TRUE(contains(message_of<DataError>([] { Input::open("-"); }), "standard input is empty"));
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST(AtomicOutput, writes_and_replaces_whole_files) {
  const ScratchFolder folder;
  const std::string large(5000000, 'y');
  write_file_atomically(folder.path("a"), kText);
  EXPECT_EQ(read_file(folder.path("a")), kText);
  write_file_atomically(folder.path("a"), large);
  EXPECT_EQ(read_file(folder.path("a")), large);
  EXPECT_EQ(folder.files(), 1u);
  AtomicFile pieces(folder.path("b"));
  for (int i = 0; i < 1000; ++i) pieces.write(std::string(1999, static_cast<char>('a' + i % 26)));
  pieces.commit();
  EXPECT_EQ(read_file(folder.path("b")).size(), 1999000u);
}

TEST(AtomicOutput, without_commit_the_old_file_stays) {
  const ScratchFolder folder;
  write_file_atomically(folder.path("a"), kText);
  {
    AtomicFile file(folder.path("a"));
    file.write(std::string(3000000, 'z'));
  }
  EXPECT_EQ(read_file(folder.path("a")), kText);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(AtomicOutput, a_temporary_file_of_a_killed_process_is_removed) {
  const ScratchFolder folder;
  folder.write("a.unfold-tmp-0123456789abcdef", std::string(100, 'x'));
  write_file_atomically(folder.path("a"), kText);
  EXPECT_EQ(read_file(folder.path("a")), kText);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(AtomicOutput, user_files_are_not_mistaken_for_temporary_files) {
  const ScratchFolder folder;
  const std::vector<std::string> names = {"a.unfold-tmp", "a.unfold-tmp-", "a.unfold-tmp-0123456789abcdeg",
                                          "a.unfold-tmp-0123456789abcdef0", "b.unfold-tmp-0123456789abcdef"};
  for (const std::string& name : names) folder.write(name, name);
  write_file_atomically(folder.path("a"), kText);
  for (const std::string& name : names) EXPECT_EQ(read_file(folder.path(name)), name);
}

TEST(AtomicOutput, nothing_planted_is_written_through) {
  const ScratchFolder folder;
  const std::string other = folder.write("other", "precious");
  ASSERT_EQ(::link(other.c_str(), folder.path("a.unfold-tmp").c_str()), 0);
  ASSERT_EQ(::link(other.c_str(), folder.path("a.unfold-tmp-0123456789abcdef").c_str()), 0);
  ASSERT_EQ(::symlink("other", folder.path("a.unfold-tmp-0123456789abcde0").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder.path("a.unfold-tmp-0123456789abcde1").c_str(), 0600), 0);
  write_file_atomically(folder.path("a"), kText);
  { AtomicFile failing(folder.path("a")); }
  EXPECT_EQ(read_file(other), "precious");
  EXPECT_EQ(read_file(folder.path("a")), kText);
}

TEST(AtomicOutput, new_files_have_the_mode_of_the_umask_and_names_may_be_long) {
  const ScratchFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  const mode_t old = ::umask(027);
  write_file_atomically(path, kText);
  ::umask(old);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicOutput, a_link_to_nothing_leads_to_a_new_file) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  ASSERT_EQ(::symlink("sub/second", folder.path("first").c_str()), 0);
  ASSERT_EQ(::symlink("third", folder.path("sub/second").c_str()), 0);
  write_file_atomically(folder.path("first"), kText);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("sub/second")));
  EXPECT_EQ(read_file(folder.path("sub/third")), kText);
  ASSERT_EQ(::symlink("loop", folder.path("loop").c_str()), 0);
  EXPECT_TRUE(contains(message_of<RuntimeFailure>([&] { write_file_atomically(folder.path("loop"), kText); }),
                       "Too many levels of symbolic links"));
}

TEST(AtomicOutput, two_writers_of_one_file_do_not_mix) {
  const ScratchFolder folder;
  AtomicFile first(folder.path("a"));
  EXPECT_TRUE(contains(message_of<RuntimeFailure>([&] { AtomicFile second(folder.path("a")); }), "another process"));
  first.write(kText);
  first.commit();
  EXPECT_EQ(read_file(folder.path("a")), kText);
}

TEST(AtomicOutput, keeps_permissions_and_follows_links) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", kText);
  ::chmod(path.c_str(), 0640);
  ASSERT_EQ(::symlink("a", folder.path("link").c_str()), 0);
  write_file_atomically(folder.path("link"), "new");
  EXPECT_EQ(read_file(path), "new");
  struct stat status {};
  ASSERT_EQ(::lstat(folder.path("link").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicOutput, a_full_device_names_the_reason_and_the_remedy) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const std::string message = message_of<RuntimeFailure>([] { write_file_atomically("/dev/full", kText); });
  EXPECT_TRUE(contains(message, "/dev/full: No space left on device; free some space")) << message;
}

TEST(AtomicOutput, failed_write_leaves_no_file) {
  const ScratchFolder folder;
  write_file_atomically(folder.path("a"), kText);
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 2000000, old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      message_of<RuntimeFailure>([&] { write_file_atomically(folder.path("a"), std::string(9000000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_TRUE(contains(message, "cannot write " + folder.path("a") + ": File too large")) << message;
  EXPECT_EQ(read_file(folder.path("a")), kText);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(AtomicOutput, missing_and_read_only_folders_have_specific_messages) {
  const ScratchFolder folder;
  const auto message = [](const std::string& path) {
    return message_of<RuntimeFailure>([&] { write_file_atomically(path, kText); });
  };
  EXPECT_TRUE(contains(message(folder.path("no/a")), "create the directory first"));
  EXPECT_TRUE(contains(message(folder.path("")), "specify a file, not a directory"));
  if (!Unprivileged::possible()) GTEST_SKIP() << "root may write everywhere";
  ::chmod(folder.write("fixed", kText).c_str(), 0444);
  ::chmod(folder.path("").c_str(), 0555);
  {
    const Unprivileged scope;
    EXPECT_TRUE(contains(message(folder.path("a")), "that you have permission to write"));
    EXPECT_TRUE(contains(message(folder.path("fixed")), "that you have permission to write"));
  }
  ::chmod(folder.path("").c_str(), 0755);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(AtomicFile, pipe_is_written_through_every_path_to_it) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  for (const char* folder : {"/proc/self/fd/", "/dev/fd/"}) {
    AtomicFile file(folder + std::to_string(ends[1]));  // a link to "pipe:[N]", which is not a file
    file.write("abc");
    file.commit();
    std::array<char, 3> read{};
    ASSERT_EQ(::read(ends[0], read.data(), read.size()), 3);
    EXPECT_EQ(std::string(read.data(), 3), "abc");
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace unfold
