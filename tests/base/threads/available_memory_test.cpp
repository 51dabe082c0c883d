#include "base/threads/available_memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/base/group_files.h"

namespace unfold {
namespace {

using testing_support::GroupFiles;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

TEST(AvailableMemory, available_memory_is_positive) { EXPECT_GT(available_memory(), 1U << 20); }

TEST(AvailableMemory, most_restrictive_parent_group_determines_available_memory) {
  GroupFiles groups;
  groups.add("a", "memory.max", "3000");
  groups.add("a", "memory.current", "2500");
  groups.add("a/b", "memory.max", "2000");
  groups.add("a/b", "memory.current", "1000");
  groups.add("a/b/c", "memory.max", "max");
  groups.add("a/b/c", "memory.current", "1000");
  EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/a/b/c\n")), 500U);
  groups.add("a", "memory.stat", "anon 1500\nfile 1000\ninactive_file 700\nactive_file 300");
  EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/a/b/c\n")), 1000U);
  EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/a\n")), 1200U);
  EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/\n")), kNoLimit);
}

TEST(AvailableMemory, full_group_leaves_no_memory) {
  GroupFiles groups;
  groups.add("", "memory.max", "1000");
  groups.add("", "memory.current", "1001");
  EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/system.slice/docker-8c.scope\n")), 0U);
}

TEST(AvailableMemory, version_one_control_group_names_are_supported) {
  GroupFiles groups;
  groups.add("memory", "memory.limit_in_bytes", "9223372036854771712");  // no limit
  groups.add("memory", "memory.usage_in_bytes", "5000");
  groups.add("memory/box", "memory.limit_in_bytes", "4000");
  groups.add("memory/box", "memory.usage_in_bytes", "3000");
  groups.add("memory/box", "memory.stat", "inactive_file 1\ntotal_inactive_file 200");
  EXPECT_EQ(cgroup_memory_left(groups.of_process("7:memory:/box\n4:cpu:/other\n")), 1200U);
  EXPECT_EQ(cgroup_memory_left(groups.of_process("7:memory:/\n")), kNoLimit);
  EXPECT_EQ(cgroup_memory_left(groups.of_process("4:cpu:/box\n")), kNoLimit);
}

TEST(AvailableMemory, malformed_limit_is_ignored) {
  GroupFiles groups;
  for (const char* text : {"", "max", "many", "-5", "1e9"}) {
    groups.add("a", "memory.max", text);
    groups.add("a", "memory.current", "1");
    EXPECT_EQ(cgroup_memory_left(groups.of_process("0::/a\n")), kNoLimit) << text;
  }
  EXPECT_EQ(cgroup_memory_left({"/nowhere/cgroup", "/nowhere"}), kNoLimit);
}

}  // namespace
}  // namespace unfold
