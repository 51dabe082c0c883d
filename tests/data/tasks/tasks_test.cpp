#include "unfold/data/tasks/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/files/idx.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

Example example_of(const Task& task, Index number, TaskSplit part = TaskSplit::training, std::uint64_t seed = 1) {
  Example example;
  task.example(part, seed, number, example);
  return example;
}

TEST(Tasks, marked_pairs_give_their_sum_product_or_xor) {
  for (const Index length : {2, 3, 10, 100}) {
    for (const auto& task : {adding({length}), multiplication({length}), marked_xor({length})}) {
      double sum = 0;
      for (Index n = 0; n < 200; ++n) {
        const Example e = example_of(*task, n);
        ASSERT_EQ(e.values.size(), at(2 * length));
        std::vector<Index> marks;
        for (Index t = 0; t < length; ++t)
          if (e.values[at(2 * t + 1)] == 1) marks.push_back(t);
        ASSERT_EQ(marks.size(), 2u);
        EXPECT_LT(marks[0], length / 2);
        EXPECT_GE(marks[1], length / 2);
        const float a = e.values[at(2 * marks[0])], b = e.values[at(2 * marks[1])];
        EXPECT_GE(a, 0);
        EXPECT_LE(a, 1);
        const float target = e.target_values.back();
        if (task->name() == "adding") {
          EXPECT_EQ(target, a + b);
        }
        if (task->name() == "multiplication") {
          EXPECT_EQ(target, a * b);
        }
        if (task->name() == "marked-xor") {
          EXPECT_EQ(target, std::abs(a - b));
        }
        EXPECT_TRUE(
            std::all_of(e.target_values.begin(), e.target_values.end() - 1, [](float x) { return std::isnan(x); }));
        sum += static_cast<double>(target);
      }
      EXPECT_NEAR(sum / 200, task->name() == "adding" ? 1 : task->name() == "multiplication" ? 0.25 : 0.5, 0.12);
    }
  }
}

TEST(Tasks, shortened_task_is_the_same_task_at_that_length) {
  const auto check = [](const Task& task, const Task& made_short) {
    EXPECT_GE(task.length(), made_short.length());
    const auto found = task.shortened(made_short.length());
    EXPECT_EQ(found->length(), made_short.length());
    EXPECT_EQ(found->shape().outputs, task.shape().outputs);
    for (Index n = 0; n < 20; ++n) {
      const Example a = example_of(*found, n), b = example_of(made_short, n);
      EXPECT_EQ(a.symbols, b.symbols);
      EXPECT_EQ(a.values, b.values);
      EXPECT_EQ(a.target_symbols, b.target_symbols);
      EXPECT_EQ(a.length, b.length);
    }
    const auto least = task.shortened(task.shortest());
    EXPECT_EQ(least->shortest(), least->length());
    EXPECT_THROW(task.shortened(task.shortest() - 1), UsageError);
  };
  check(*adding({100}), *adding({7}));
  check(*multiplication({100}), *multiplication({7}));
  check(*marked_xor({100}), *marked_xor({7}));
  check(*temporal_order({.length = 60, .bits = 3}), *temporal_order({.length = 20, .bits = 3}));
  check(*random_permutation({.length = 60, .every_step = true}),
        *random_permutation({.length = 9, .every_step = true}));
  check(*memorization({.length = 50, .bits = 20}), *memorization({.length = 5, .bits = 20}));
  check(*copying({.length = 50, .pattern = 3, .symbols = 4}), *copying({.length = 5, .pattern = 3, .symbols = 4}));
}

TEST(Tasks, temporal_order_target_is_the_order_of_relevant_symbols) {
  for (const Index bits : {2, 3}) {
    const auto task = temporal_order({.length = 100, .bits = bits});
    std::set<Symbol> classes;
    for (Index n = 0; n < 200; ++n) {
      const Example e = example_of(*task, n);
      Symbol answer = 0;
      std::vector<Index> places;
      for (Index t = 0; t < 100; ++t) {
        if (e.symbols[at(t)] > 1) continue;
        answer = static_cast<Symbol>(2 * answer + e.symbols[at(t)]);
        places.push_back(t / 10);
      }
      EXPECT_EQ(places, bits == 2 ? (std::vector<Index>{1, 5}) : (std::vector<Index>{1, 3, 6}));
      EXPECT_EQ(e.target_symbols.back(), answer);
      EXPECT_EQ(std::count(e.target_symbols.begin(), e.target_symbols.end(), kNoSymbol), 99);
      classes.insert(answer);
    }
    EXPECT_EQ(classes.size(), std::size_t{1} << bits);
  }
}

TEST(Tasks, permutation_ends_with_its_first_symbol) {
  const auto last = random_permutation({.length = 20}), every = random_permutation({.length = 20, .every_step = true});
  for (Index n = 0; n < 50; ++n) {
    const Example e = example_of(*last, n), each = example_of(*every, n);
    EXPECT_LT(e.symbols.front(), 2);
    EXPECT_TRUE(std::all_of(e.symbols.begin() + 1, e.symbols.end(), [](Symbol s) { return s >= 2 && s < 100; }));
    EXPECT_EQ(e.target_symbols.back(), e.symbols.front());
    EXPECT_EQ(std::count(e.target_symbols.begin(), e.target_symbols.end(), kNoSymbol), 19);
    for (std::size_t t = 0; t + 1 < 20; ++t) EXPECT_EQ(each.target_symbols[t], each.symbols[t + 1]);
  }
}

TEST(Tasks, pattern_is_expected_after_the_cue) {
  struct Case {
    std::unique_ptr<Task> task;
    Index pattern, symbols;
  };
  Case cases[] = {{memorization({.length = 30, .bits = 5}), 5, 2},
                  {memorization({.length = 30, .bits = 20}), 10, 5},
                  {copying({.length = 30, .pattern = 4, .symbols = 3}), 4, 3}};
  for (const auto& [task, pattern, symbols] : cases) {
    const Example e = example_of(*task, 7);
    EXPECT_EQ(e.length, 2 * pattern + 30);
    EXPECT_EQ(task->scored_steps(), pattern);
    EXPECT_EQ(std::count(e.symbols.begin(), e.symbols.end(), symbols + 1), 1);
    EXPECT_EQ(e.symbols[at(pattern + 29)], symbols + 1);
    for (Index t = 0; t < e.length; ++t) {
      const Symbol expected = t < pattern + 30 ? static_cast<Symbol>(symbols) : e.symbols[at(t - pattern - 30)];
      EXPECT_EQ(e.target_symbols[at(t)], expected);
      if (t >= pattern && t != pattern + 29) {
        EXPECT_EQ(e.symbols[at(t)], symbols);
      }
    }
  }
}

TEST(Tasks, example_depends_only_on_part_seed_and_number) {
  const auto task = adding({.length = 12});
  EXPECT_EQ(example_of(*task, 5).values, example_of(*task, 5).values);
  EXPECT_NE(example_of(*task, 5).values, example_of(*task, 6).values);
  EXPECT_NE(example_of(*task, 5).values, example_of(*task, 5, TaskSplit::test).values);
  EXPECT_NE(example_of(*task, 5).values, example_of(*task, 5, TaskSplit::training, 2).values);
}

TEST(Tasks, invalid_options_are_rejected) {
  EXPECT_TRUE(contains(message_of<UsageError>([] { adding({.length = 1}); }), "at least 2 steps"));
  EXPECT_NE(message_of<UsageError>([] { temporal_order({.length = 9}); }), "");
  EXPECT_NE(message_of<UsageError>([] { memorization({.bits = 6}); }), "");
}

std::string idx(std::uint8_t type, const std::vector<Index>& sizes, const std::string& elements) {
  std::string bytes = {'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const Index size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 255);
  return bytes + elements;
}

TEST(Idx, idx_reader_reads_sizes_and_elements_and_rejects_mismatches) {
  const auto read = [](const std::string& bytes) { return Idx(Input::from_bytes("x.idx", bytes)); };
  const Idx good = read(idx(8, {2, 3}, "abcdef"));
  EXPECT_EQ(good.shape(), (std::vector<Index>{2, 3}));
  EXPECT_EQ(good.bytes()[4], 'e');
  const auto refused = [&](const std::string& bytes) { return message_of<DataError>([&] { read(bytes); }); };
  EXPECT_TRUE(contains(refused("PK00"), "not an IDX file:"));
  EXPECT_TRUE(contains(refused(idx(13, {1}, "abcd")), "0xd"));
  EXPECT_TRUE(contains(refused(idx(8, {2, 3}, "abcde")), "exceed the size") ||
              contains(refused(idx(8, {2, 3}, "abcde")), "the sizes require 6"));
  EXPECT_TRUE(contains(refused(idx(8, {2, 3}, "abcdefg")), "7 bytes of elements"));
  EXPECT_TRUE(contains(refused(idx(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "a")), "exceed the size"));
  EXPECT_TRUE(contains(refused(std::string("\0\0\x08\x03\0\0", 6)), "the IDX header is truncated"));
}

TEST(Idx, mnist_digits_are_read_pixel_by_pixel) {
  UNFOLD_REAL_DATA(file, "mnist/train-labels-idx1-ubyte.gz");
  const std::string folder = file.substr(0, file.rfind('/'));
  const auto plain = sequential_mnist(folder), permuted = sequential_mnist(folder, {.permuted = true});
  EXPECT_EQ(plain->examples(TaskSplit::training), 55000);
  EXPECT_EQ(plain->examples(TaskSplit::validation), 5000);
  EXPECT_EQ(plain->examples(TaskSplit::test), 10000);
  std::vector<int> counts(10);
  Example e;
  for (Index n = 0; n < 10000; ++n) {
    plain->example(TaskSplit::test, 1, n, e);
    ++counts[at(e.target_symbols.back())];
  }
  EXPECT_EQ(counts, (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  auto values = example_of(*plain, 3).values, mixed = example_of(*permuted, 3).values;
  EXPECT_NE(values, mixed);
  std::sort(values.begin(), values.end());
  std::sort(mixed.begin(), mixed.end());
  EXPECT_EQ(values, mixed);
  EXPECT_EQ(values.back(), 1.0F);
  EXPECT_TRUE(contains(message_of<DataError>([] { sequential_mnist("/nowhere"); }), "neither"));
}

/// The original digits, shifted by hand; black is shifted in at the edge.
std::vector<float> moved(const std::vector<float>& image, Index down, Index right) {
  std::vector<float> out(784, 0.0F);
  for (Index row = 0; row < 28; ++row)
    for (Index column = 0; column < 28; ++column)
      if (const Index r = row + down, c = column + right; r >= 0 && r < 28 && c >= 0 && c < 28)
        out[at(28 * r + c)] = image[at(28 * row + column)];
  return out;
}

TEST(Idx, training_digits_are_shifted_differently_in_each_pass) {
  UNFOLD_REAL_DATA(file, "mnist/train-labels-idx1-ubyte.gz");
  const std::string folder = file.substr(0, file.rfind('/'));
  const auto still = sequential_mnist(folder), moving = sequential_mnist(folder, {.shift = 2});
  std::set<std::pair<Index, Index>> seen;
  Index changes = 0;
  for (Index n = 0; n < 40; ++n) {
    EXPECT_EQ(example_of(*still, n).values, example_of(*moving, n).values);  // evaluation examples are not shifted
    Example before, e;
    for (Index pass = 0; pass < 5; ++pass, before = e) {
      moving->in_pass(pass, 1, n, e);
      EXPECT_EQ(e.target_symbols, example_of(*still, n).target_symbols);
      Index fits = 0;
      for (Index down = -2; down <= 2; ++down)
        for (Index right = -2; right <= 2; ++right)
          if (e.values == moved(example_of(*still, n).values, down, right)) ++fits, seen.emplace(down, right);
      EXPECT_EQ(fits, 1) << n;
      changes += pass > 0 && e.values != before.values;
    }
  }
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_GT(changes, 140);  // of 160, of which one in 25 is unchanged by chance
  EXPECT_TRUE(
      contains(message_of<UsageError>([&] { sequential_mnist(folder, {.shift = 28}); }), "pixels of the images"));
}

TEST(Idx, permuted_digits_are_shifted_before_permutation) {
  UNFOLD_REAL_DATA(file, "mnist/train-labels-idx1-ubyte.gz");
  const std::string folder = file.substr(0, file.rfind('/'));
  const auto plain = sequential_mnist(folder, {.shift = 3}),
             mixed = sequential_mnist(folder, {.permuted = true, .shift = 3});
  Example a, b;
  for (Index n = 0; n < 10; ++n) {
    plain->in_pass(1, 1, n, a);
    mixed->in_pass(1, 1, n, b);
    std::sort(a.values.begin(), a.values.end());
    std::sort(b.values.begin(), b.values.end());
    EXPECT_EQ(a.values, b.values);
  }
}

}  // namespace
}  // namespace unfold
