#include "data/arrow/arrow_stream.h"

#include <cstring>
#include <deque>
#include <functional>
#include <limits>

#include "data/arrow/arrow_type.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

/// Structures of the Arrow C data interface with their buffers, released as one.
class ArrowMemory {
 public:
  template <class T>
  const void* values(std::vector<T> numbers) {
    std::string& bytes = buffers_.emplace_back(numbers.size() * sizeof(T), '\0');
    if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes.data();
  }
  const void* bytes(const std::string& text) { return buffers_.emplace_back(text).data(); }
  /// The offsets and the characters of texts.
  std::vector<const void*> texts(const std::vector<std::string>& entries) {
    std::vector<std::int32_t> offsets = {0};
    std::string characters;
    for (const std::string& entry : entries) {
      characters += entry;
      offsets.push_back(static_cast<std::int32_t>(characters.size()));
    }
    return {nullptr, values(offsets), bytes(characters)};
  }
  ArrowSchema* schema(const char* format, const char* name, std::vector<ArrowSchema*> children = {},
                      ArrowSchema* dictionary = nullptr) {
    auto& list = schema_children_.emplace_back(std::move(children));
    schemas_.push_back({.format = format,
                        .name = name,
                        .metadata = nullptr,
                        .flags = ARROW_FLAG_NULLABLE,
                        .n_children = static_cast<std::int64_t>(list.size()),
                        .children = list.data(),
                        .dictionary = dictionary,
                        .release = [](ArrowSchema* s) { s->release = nullptr; },
                        .private_data = nullptr});
    return &schemas_.back();
  }
  ArrowArray* array(std::int64_t length, std::vector<const void*> buffers, std::int64_t nulls = 0,
                    std::vector<ArrowArray*> children = {}, std::int64_t offset = 0, ArrowArray* dictionary = nullptr) {
    auto& list = array_children_.emplace_back(std::move(children));
    auto& memory = array_buffers_.emplace_back(std::move(buffers));
    arrays_.push_back({.length = length,
                       .null_count = nulls,
                       .offset = offset,
                       .n_buffers = static_cast<std::int64_t>(memory.size()),
                       .n_children = static_cast<std::int64_t>(list.size()),
                       .buffers = memory.data(),
                       .children = list.data(),
                       .dictionary = dictionary,
                       .release = [](ArrowArray* a) { a->release = nullptr; },
                       .private_data = nullptr});
    return &arrays_.back();
  }

 private:
  std::deque<std::string> buffers_;
  std::deque<ArrowSchema> schemas_;
  std::deque<ArrowArray> arrays_;
  std::deque<std::vector<ArrowSchema*>> schema_children_;
  std::deque<std::vector<ArrowArray*>> array_children_;
  std::deque<std::vector<const void*>> array_buffers_;
};

/// A stream of chunks.
struct TestStream {
  ArrowSchema* schema = nullptr;
  std::vector<ArrowArray*> chunks = {};
  std::size_t next = 0;
  int released = 0;
  std::string error = {};

  ArrowTable read() {
    ArrowArrayStream stream{
        .get_schema =
            [](ArrowArrayStream* s, ArrowSchema* out) {
              *out = *static_cast<TestStream*>(s->private_data)->schema;
              return 0;
            },
        .get_next =
            [](ArrowArrayStream* s, ArrowArray* out) {
              auto* self = static_cast<TestStream*>(s->private_data);
              if (!self->error.empty()) return 5;
              *out = self->next < self->chunks.size() ? *self->chunks[self->next++] : ArrowArray{};
              return 0;
            },
        .get_last_error = [](ArrowArrayStream* s) { return static_cast<TestStream*>(s->private_data)->error.c_str(); },
        .release =
            [](ArrowArrayStream* s) {
              ++static_cast<TestStream*>(s->private_data)->released;
              s->release = nullptr;
            },
        .private_data = this};
    ArrowTable table = read_arrow_stream("data", &stream);
    EXPECT_EQ(stream.release, nullptr);
    return table;
  }
};

using Parts = std::pair<ArrowSchema*, ArrowArray*>;

/// The column of a table with one column and one chunk.
ExampleColumn column_of_parts(ArrowMemory& memory, const Parts& parts, std::int64_t rows) {
  TestStream stream{.schema = memory.schema("+s", "", {parts.first}),
                    .chunks = {memory.array(rows, {nullptr}, 0, {parts.second})}};
  return stream.read().examples.columns.at(0);
}

TEST(ArrowStream, NumbersOfEveryWidthAndNullsAreRead) {
  ArrowMemory m;
  const std::vector<Parts> columns = {
      {m.schema("c", "a"), m.array(3, {nullptr, m.values<std::int8_t>({-1, 2, 3})})},
      {m.schema("S", "b"), m.array(3, {nullptr, m.values<std::uint16_t>({1, 65535, 3})})},
      {m.schema("l", "c"), m.array(3, {m.bytes("\x05"), m.values<std::int64_t>({7, 8, 9})}, 1)},
      {m.schema("f", "d"),
       m.array(3, {nullptr, m.values<float>({0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()})})},
      {m.schema("e", "e"), m.array(3, {nullptr, m.values<std::uint16_t>({0x3C00, 0xC000, 0x0001})})},
      {m.schema("tDm", "f"), m.array(3, {nullptr, m.values<std::int64_t>({1500, 0, -250})})}};
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;
  for (const auto& [schema, array] : columns) schemas.push_back(schema), arrays.push_back(array);
  TestStream stream{.schema = m.schema("+s", "", schemas), .chunks = {m.array(3, {nullptr}, 0, arrays)}};
  const ArrowTable table = stream.read();
  EXPECT_EQ(stream.released, 1);
  EXPECT_EQ(table.format, "table");
  EXPECT_EQ(table.examples.ends, (Indices{3}));
  EXPECT_EQ(column_of(table.examples, "a").numbers, (Numbers{-1, 2, 3}));
  EXPECT_EQ(column_of(table.examples, "b").numbers, (Numbers{1, 65535, 3}));
  EXPECT_EQ(column_of(table.examples, "c").missing, (Flags{0, 1, 0}));
  EXPECT_EQ(column_of(table.examples, "d").missing, (Flags{0, 0, 1}));
  EXPECT_EQ(column_of(table.examples, "e").numbers, (Numbers{1, -2, 5.9604644775390625e-08}));
  EXPECT_EQ(column_of(table.examples, "f").numbers, (Numbers{1.5, 0, -0.25}));
}

TEST(ArrowStream, ChunksAndOffsetsAreFollowed) {
  ArrowMemory m;
  const auto chunk = [&](std::vector<std::int32_t> values, std::int64_t offset) {
    const auto length = static_cast<std::int64_t>(values.size()) - offset;
    return m.array(length, {nullptr}, 0, {m.array(length, {nullptr, m.values(values)}, 0, {}, offset)});
  };
  TestStream stream{.schema = m.schema("+s", "", {m.schema("i", "x")}),
                    .chunks = {chunk({1, 2}, 0), chunk({}, 0), chunk({9, 9, 3, 4}, 2)}};
  EXPECT_EQ(column_of(stream.read().examples, "x").numbers, (Numbers{1, 2, 3, 4}));
}

TEST(ArrowStream, WholeNumbersBeyondDoublesKeepTheirDigits) {
  ArrowMemory m;
  const ExampleColumn column = column_of_parts(
      m, {m.schema("l", "id"), m.array(3, {m.bytes("\x05"), m.values<std::int64_t>({5, 0, 9007199254740993})}, 1)}, 3);
  EXPECT_EQ(column.texts, (Texts{"5", "", "9007199254740993"}));
  EXPECT_EQ(column.missing, (Flags{0, 1, 0}));
  EXPECT_TRUE(column.integers);
}

TEST(ArrowStream, TextsOfEveryLayoutAreRead) {
  ArrowMemory m;
  EXPECT_EQ(column_of_parts(m, {m.schema("u", "t"), m.array(3, m.texts({"Zoé", "", "b c"}))}, 3).texts,
            (Texts{"Zoé", "", "b c"}));
  const std::string long_text = "longer than twelve bytes";
  const auto large = m.array(2, {nullptr, m.values<std::int64_t>({0, 1, 25}), m.bytes("a" + long_text)});
  EXPECT_EQ(column_of_parts(m, {m.schema("U", "t"), large}, 2).texts, (Texts{"a", long_text}));
  std::string views(32, '\0');
  views[0] = 2;
  views.replace(4, 2, "hi");
  views[16] = static_cast<char>(long_text.size());
  views.replace(20, 4, long_text.substr(0, 4));
  const auto view = m.array(2, {nullptr, m.bytes(views), m.bytes(long_text), m.values<std::int64_t>({24})});
  EXPECT_EQ(column_of_parts(m, {m.schema("vu", "t"), view}, 2).texts, (Texts{"hi", long_text}));
  EXPECT_EQ(column_of_parts(m, {m.schema("w:2", "t"), m.array(2, {nullptr, m.bytes("abcd")})}, 2).texts,
            (Texts{"ab", "cd"}));
  EXPECT_EQ(column_of_parts(m, {m.schema("b", "t"), m.array(3, {nullptr, m.bytes("\x05")})}, 3).texts,
            (Texts{"True", "False", "True"}));
}

TEST(ArrowStream, DictionariesBecomeTheirValues) {
  ArrowMemory m;
  const Parts parts = {m.schema("c", "kind", {}, m.schema("u", "")),
                       m.array(4, {m.bytes("\x0D"), m.values<std::int8_t>({1, 0, 0, 1})}, 1, {}, 0,
                               m.array(2, m.texts({"red", "blue"})))};
  const ExampleColumn column = column_of_parts(m, parts, 4);
  EXPECT_EQ(column.texts, (Texts{"blue", "", "red", "blue"}));
  EXPECT_EQ(column.missing, (Flags{0, 1, 0, 0}));
}

TEST(ArrowStream, DatesHaveTheFormatsOfCsvFiles) {
  ArrowMemory m;
  const auto texts = [&](const char* format, auto values) {
    const auto rows = static_cast<std::int64_t>(values.size());
    return column_of_parts(m, {m.schema(format, "d"), m.array(rows, {nullptr, m.values(values)})}, rows).texts;
  };
  EXPECT_EQ(texts("tdD", std::vector<std::int32_t>{0, -1, 19753}), (Texts{"1970-01-01", "1969-12-31", "2024-01-31"}));
  EXPECT_EQ(texts("tdm", std::vector<std::int64_t>{86'400'000}), (Texts{"1970-01-02"}));
  EXPECT_EQ(texts("tss:", std::vector<std::int64_t>{0, 86400}), (Texts{"1970-01-01", "1970-01-02"}));
  EXPECT_EQ(texts("tsm:", std::vector<std::int64_t>{0, -1000}), (Texts{"1970-01-01 00:00:00", "1969-12-31 23:59:59"}));
  EXPECT_EQ(texts("tsu:UTC", std::vector<std::int64_t>{1'500'000}), (Texts{"1970-01-01 00:00:01.500000Z"}));
  EXPECT_EQ(texts("tsn:", std::vector<std::int64_t>{1'000'000'001}), (Texts{"1970-01-01 00:00:01.000000001"}));
  EXPECT_EQ(texts("tts", std::vector<std::int32_t>{3661}), (Texts{"01:01:01"}));
}

TEST(ArrowStream, DecimalsAreNumbers) {
  const auto text = [](std::vector<std::int64_t> words, Index scale) {
    return decimal_text(reinterpret_cast<const unsigned char*>(words.data()), static_cast<Index>(words.size()) * 8,
                        scale);
  };
  EXPECT_EQ(text({1250, 0}, 2), "12.50");
  EXPECT_EQ(text({-5, -1}, 2), "-0.05");
  EXPECT_EQ(text({0, 1}, 0), "18446744073709551616");
  EXPECT_EQ(text({0, 0, 0, 0}, 0), "0");
  EXPECT_EQ(text({7, 0}, -2), "700");
  ArrowMemory m;
  const Parts parts = {m.schema("d:9,2", "x"), m.array(2, {nullptr, m.values<std::int64_t>({1250, 0, -5, -1})})};
  EXPECT_EQ(column_of_parts(m, parts, 2).numbers, (Numbers{12.5, -0.05}));
}

TEST(ArrowStream, ListsMakeAnExampleOfEachRow) {
  ArrowMemory m;
  ArrowSchema* words = m.schema("+l", "word", {m.schema("u", "item")});
  ArrowSchema* vectors = m.schema("+l", "v", {m.schema("+w:2", "item", {m.schema("g", "item")})});
  ArrowArray* word_lists =
      m.array(2, {nullptr, m.values<std::int32_t>({0, 2, 3})}, 0, {m.array(3, m.texts({"a", "b", "c"}))});
  ArrowArray* vector_lists =
      m.array(2, {nullptr, m.values<std::int32_t>({0, 2, 3})}, 0,
              {m.array(3, {nullptr}, 0, {m.array(6, {nullptr, m.values<double>({1, 2, 3, 4, 5, 6})})})});
  TestStream stream{.schema = m.schema("+s", "", {words, vectors, m.schema("u", "label")}),
                    .chunks = {m.array(2, {nullptr}, 0, {word_lists, vector_lists, m.array(2, m.texts({"x", "y"}))})}};
  const ArrowTable table = stream.read();
  EXPECT_EQ(table.format, "jsonl");
  EXPECT_EQ(table.examples.ends, (Indices{2, 3}));
  EXPECT_EQ(names_of(table.examples), (Texts{"label", "v", "word"}));
  EXPECT_TRUE(column_of(table.examples, "label").once);
  EXPECT_EQ(column_of(table.examples, "word").texts, (Texts{"a", "b", "c"}));
  EXPECT_EQ(column_of(table.examples, "v").width, 2);
  EXPECT_EQ(column_of(table.examples, "v").numbers, (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST(ArrowStream, MembersOfStructuresAreColumns) {
  ArrowMemory m;
  TestStream stream{.schema = m.schema("+s", "", {m.schema("+s", "p", {m.schema("i", "x"), m.schema("i", "y")})}),
                    .chunks = {m.array(2, {nullptr}, 0,
                                       {m.array(2, {m.bytes("\x01")}, 1,
                                                {m.array(2, {nullptr, m.values<std::int32_t>({1, 2})}),
                                                 m.array(2, {nullptr, m.values<std::int32_t>({3, 4})})})})}};
  const Examples examples = stream.read().examples;
  EXPECT_EQ(names_of(examples), (Texts{"p.x", "p.y"}));
  EXPECT_EQ(column_of(examples, "p.y").missing, (Flags{0, 1}));
}

TEST(ArrowStream, FaultsAreNamed) {
  ArrowMemory m;
  const auto refused = [&](TestStream stream, const std::string& part) {
    const std::string message = message_of<DataError>([&] { stream.read(); });
    EXPECT_TRUE(contains(message, part)) << message;
    EXPECT_EQ(stream.released, 1);
  };
  ArrowSchema* number = m.schema("+s", "", {m.schema("g", "x")});
  refused({.schema = number, .error = "disk full"}, "data: the Arrow stream failed: disk full");
  refused({.schema = number}, "data: the table has no rows");
  refused({.schema = m.schema("g", "")}, "has no columns");
  refused({.schema = m.schema("+s", "", {m.schema("+r", "x")})}, "the Arrow type \"+r\" is not supported");
  const auto rows = [&](ArrowArray* column) { return std::vector{m.array(column->length, {nullptr}, 0, {column})}; };
  refused({.schema = number,
           .chunks = rows(m.array(1, {nullptr, m.values<double>({std::numeric_limits<double>::infinity()})}))},
          "column x: row 1: a number is not finite");
  ArrowSchema* lists = m.schema("+s", "", {m.schema("+l", "x", {m.schema("g", "item")})});
  refused({.schema = lists,
           .chunks = rows(m.array(1, {nullptr, m.values<std::int32_t>({0, 0})}, 0, {m.array(0, {nullptr, nullptr})}))},
          "column x: row 1: the list is empty");
  refused({.schema = m.schema("+s", "", {m.schema("z", "x")}), .chunks = rows(m.array(1, m.texts({"\xFF"})))},
          "column x: row 1: the bytes are not valid UTF-8");
}

}  // namespace
}  // namespace unfold
