#include "data/tasks/grid_tasks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "unfold/base/error.h"

namespace unfold {
namespace {

struct Grid {
  std::vector<std::string> texts, labels;
};

std::vector<Grid> grids_in(const std::string& text) {
  std::vector<Grid> grids(1);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) {
      grids.emplace_back();
      continue;
    }
    const std::size_t tab = line.find('\t');
    grids.back().texts.push_back(line.substr(0, tab));
    grids.back().labels.push_back(line.substr(tab + 1));
  }
  grids.pop_back();
  return grids;
}

/// A room reconstructed by walking from a position to its neighbors.
struct Room {
  std::vector<std::pair<int, int>> places;
  std::string marks;
  std::pair<int, int> marked;
};

Room walk(const Grid& grid, int i, int j, std::set<std::pair<int, int>>& seen) {
  Room room;
  std::vector<std::pair<int, int>> open = {{i, j}};
  seen.insert({i, j});
  while (!open.empty()) {
    const auto [a, b] = open.back();
    open.pop_back();
    room.places.emplace_back(a, b);
    const char c = grid.texts[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
    if (c != '.' && c != ':') room.marks += c, room.marked = {a, b};
    for (const auto& [da, db] : {std::pair{0, 1}, {1, 0}, {0, -1}, {-1, 0}}) {
      const std::pair<int, int> next{a + da, b + db};
      const bool wall = grid.texts[static_cast<std::size_t>(next.first)][static_cast<std::size_t>(next.second)] == '#';
      if (!wall && seen.insert(next).second) open.push_back(next);
    }
  }
  return room;
}

/// Returns the difference of neighbors (0, 1 or 2) at a position without the mark.
int texture_of(const Grid& grid, const Room& room) {
  for (const auto& [i, j] : room.places) {
    const auto at_place = [&](int a, int b) {
      return grid.texts[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
    };
    const char here = at_place(i, j), right = at_place(i, j + 1), below = at_place(i + 1, j);
    const auto plain = [](char c) { return c == '.' || c == ':'; };
    if (!plain(here) || !plain(right) || !plain(below)) continue;
    return here != right && here != below ? 2 : here != right ? 1 : 0;
  }
  ADD_FAILURE() << "no place shows the texture";
  return -1;
}

TEST(TextureGrids, rooms_are_labeled_by_their_single_mark) {
  for (const int kinds : {2, 3, 5}) {
    const GeneratedGrids made = generate_grids("texture:20,room=4,marks=" + std::to_string(kinds), 5, 20);
    Index labels = 0, within = 0, rooms = 0;
    std::set<int> textures;
    const std::vector<Grid> grids = grids_in(made.text);
    ASSERT_EQ(grids.size(), 20U);
    for (const Grid& grid : grids) {
      ASSERT_EQ(grid.texts.size(), 20U);
      std::set<std::pair<int, int>> seen;
      for (int i = 0; i < 20; ++i)
        for (int j = 0; j < 20; ++j) {
          const char label = grid.labels[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
          if (grid.texts[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] == '#') {
            EXPECT_EQ(label, '_');
            continue;
          }
          if (seen.contains({i, j})) continue;
          const Room room = walk(grid, i, j, seen);
          ++rooms;
          EXPECT_GE(room.places.size(), 16U);
          ASSERT_EQ(room.marks.size(), 1U);
          const int expected = room.marks[0] - 'a';
          EXPECT_LT(expected, kinds);
          textures.insert(texture_of(grid, room));
          for (const auto& [a, b] : room.places) {
            EXPECT_EQ(grid.labels[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)], '0' + expected);
            ++labels;
            within +=
                std::max(std::abs(a - room.marked.first), std::abs(b - room.marked.second)) <= kTextureNear ? 1 : 0;
          }
        }
    }
    EXPECT_GT(rooms, 60);
    EXPECT_EQ(textures, (std::set<int>{0, 1, 2}));
    EXPECT_EQ(made.positions, 20 * 400);
    EXPECT_EQ(made.labels, labels);
    EXPECT_EQ(made.within, within);
  }
}

TEST(TextureGrids, texture_grids_depend_only_on_seed_and_number) {
  const std::string ten = generate_grids("texture", 7, 10).text;
  EXPECT_EQ(ten, generate_grids("texture", 7, 10).text);
  EXPECT_TRUE(ten.starts_with(generate_grids("texture", 7, 3).text));
  EXPECT_NE(ten, generate_grids("texture", 8, 10).text);
}

TEST(TextureGrids, invalid_texture_grids_are_rejected) {
  EXPECT_THROW(generate_grids("texture:8,room=7", 1, 1), UsageError);
  EXPECT_THROW(generate_grids("texture:3", 1, 1), UsageError);
  EXPECT_THROW(generate_grids("texture:24,marks=11", 1, 1), UsageError);
  EXPECT_THROW(generate_grids("texture:24,rooms=4", 1, 1), UsageError);
  EXPECT_TRUE(is_grid_task("texture:24"));
  EXPECT_FALSE(is_grid_task("arithmetic"));
}

}  // namespace
}  // namespace unfold
