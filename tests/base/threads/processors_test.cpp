#include "unfold/base/threads/processors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/base/group_files.h"

namespace unfold {
namespace {

using testing_support::GroupFiles;

double granted(const GroupFiles& files, const std::string& memberships) {
  return cgroup_processor_quota(files.of_process(memberships));
}

TEST(Processors, at_least_one_processor_is_available) {
  EXPECT_GE(available_threads(), 1);
  EXPECT_GE(machine_threads(), available_threads());
}

TEST(Processors, most_restrictive_version_two_parent_group_determines_the_quota) {
  GroupFiles groups;
  groups.add("", "cgroup.procs", "");
  groups.add("a", "cpu.max", "400000 100000");
  groups.add("a/b", "cpu.max", "250000 100000");
  groups.add("a/b/c", "cpu.max", "max 100000");
  EXPECT_EQ(granted(groups, "0::/a/b/c\n"), 2.5);
  EXPECT_EQ(granted(groups, "0::/a\n"), 4);
  EXPECT_TRUE(std::isinf(granted(groups, "0::/\n")));
}

TEST(Processors, container_root_group_is_used_regardless_of_its_host_name) {
  GroupFiles groups;
  groups.add("", "cpu.max", "50000 100000");
  EXPECT_EQ(granted(groups, "0::/\n"), 0.5);
  EXPECT_EQ(granted(groups, "0::/system.slice/docker-8c.scope\n"), 0.5);
}

TEST(Processors, version_one_quota_is_read_from_two_files) {
  GroupFiles groups;
  groups.add("cpu,cpuacct/box", "cpu.cfs_quota_us", "150000");
  groups.add("cpu,cpuacct/box", "cpu.cfs_period_us", "50000");
  groups.add("cpu/other", "cpu.cfs_quota_us", "-1");
  groups.add("cpu/other", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(granted(groups, "5:memory:/box\n4:cpu,cpuacct:/box\n0::/\n"), 3);
  EXPECT_TRUE(std::isinf(granted(groups, "4:cpu:/other\n3:cpuset:/box\n")));
}

TEST(Processors, malformed_quota_is_ignored) {
  GroupFiles groups;
  for (const char* text : {"", "max", "x 100000", "100000 0", "-5 100000", "0 100000", "100000"}) {
    groups.add("a", "cpu.max", text);
    EXPECT_TRUE(std::isinf(granted(groups, "0::/a\n"))) << text;
  }
  for (const char* memberships : {"", "nonsense\n", "1:cpu\n", "0::\n"})
    EXPECT_TRUE(std::isinf(granted(groups, memberships))) << memberships;
  EXPECT_TRUE(std::isinf(cgroup_processor_quota({"/nowhere/cgroup", "/nowhere"})));
}

}  // namespace
}  // namespace unfold
