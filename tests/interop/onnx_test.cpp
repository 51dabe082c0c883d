/// ONNX graphs as far as they can be checked without a runtime; tests/python/test_exchange.py runs them.

#include <gtest/gtest.h>

#include "interop/onnx/export_onnx.h"
#include "interop/onnx/onnx_message.h"
#include "tests/base/scratch.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// The examples of https://protobuf.dev/programming-guides/encoding.
TEST(OnnxMessage, fields_are_encoded_as_in_the_guide) {
  ProtoMessage small, text, outer;
  small.number(1, 150);
  EXPECT_EQ(small.bytes(), "\x08\x96\x01");
  text.text(2, "testing");
  EXPECT_EQ(text.bytes(), "\x12\x07testing");
  outer.message(3, small);
  EXPECT_EQ(outer.bytes(), "\x1a\x03\x08\x96\x01");
  ProtoMessage minus;
  minus.number(2, static_cast<std::uint64_t>(std::int64_t{-2}));
  EXPECT_EQ(minus.bytes(), "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(OnnxMessage, field_numbers_above_fifteen_take_two_bytes) {
  ProtoMessage message;
  message.number(20, 7);
  EXPECT_EQ(message.bytes(), "\xa0\x01\x07");
}

class ExportOnnx : public ::testing::Test {
 protected:
  std::string write(const Model& model) const {
    model.save(folder_.path("model"));
    std::string bytes;
    export_onnx(folder_.path("model"), [&](std::string_view piece) { bytes += piece; });
    return bytes;
  }
  ScratchFolder folder_;
};

TEST_F(ExportOnnx, every_registered_cell_is_exported_or_named_in_the_error) {
  Index written = 0;
  for (const std::string& cell : cells().names()) {
    std::optional<LanguageModel<float>> model;
    try {
      model.emplace(cell + ":8", Alphabet::chars_of("abc"));
    } catch (const UsageError&) {
      continue;  // not a model of text
    }
    try {
      const std::string bytes = write(*model);
      EXPECT_TRUE(contains(bytes, "Scan") && contains(bytes, "log_probabilities") && contains(bytes, "lengths"))
          << cell;
      ++written;
    } catch (const UsageError& error) {
      EXPECT_TRUE(contains(error.what(), "cannot be written as ONNX: ") && contains(error.what(), cell))
          << error.what();
    }
  }
  EXPECT_GT(written, 15);
}

TEST_F(ExportOnnx, equal_models_give_equal_files) {
  LanguageModel<float> model("lstm:8", Alphabet::chars_of("abc"));
  model.initialize(2);
  EXPECT_EQ(write(model), write(model));
}

DataSpecification words_and_tags() {
  const auto letters = std::make_shared<const Alphabet>(Alphabet::chars_of("abc"));
  return {
      .source = "columns",
      .fields = {{.name = "tag", .size = 3, .alphabet = letters}, {.name = "word", .size = 3, .alphabet = letters}}};
}

TEST_F(ExportOnnx, field_networks_are_exported) {
  const NetworkModel<float> model("lstm:4", words_and_tags(), {.reads = {"word"}, .heads = {{.field = "tag"}}});
  const std::string bytes = write(model);
  EXPECT_TRUE(contains(bytes, "read_now") && contains(bytes, "log_probabilities") && contains(bytes, "predicts"));
}

TEST_F(ExportOnnx, networks_that_look_ahead_are_rejected) {
  const NetworkModel<float> model("bilstm:4", words_and_tags(), {.reads = {"word"}, .heads = {{.field = "tag"}}});
  EXPECT_TRUE(contains(message_of<UsageError>([&] { write(model); }), "a step can read only earlier positions"));
}

}  // namespace
}  // namespace unfold
