// Output files never replace input files, and an unreadable run folder is reported.
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "cli/verb.h"
#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

namespace fs = std::filesystem;

class OwnInputs : public FieldsTest {
 protected:
  /// Expects the command to fail with this message and to leave the file unchanged.
  static void expect_kept(const std::string& file, const Arguments& arguments, const std::string& message) {
    const std::string before = read_bytes(file);
    ASSERT_NE(before, "") << file;
    expect_failure(arguments, 2, message);
    EXPECT_EQ(read_bytes(file), before) << arguments.front();
  }
  /// The same, but `option` names a file that the preceding arguments read.
  static void expect_read(const std::string& file, const Arguments& arguments, const std::string& option) {
    expect_kept(file, arguments + Arguments{option, file}, option + " " + file + " is also an input");
  }
  std::string weights() const { return run_ + "/model.safetensors"; }
};

TEST_F(OwnInputs, texts_and_their_side_files_are_not_overwritten) {
  train();
  const std::string mask = data("mask", std::string(4000, '1')), labels = data("labels", "x\n"),
                    settings = data("own.toml", "quiet = true\n"), key = data("key", "sixteen bytes or more");
  expect_read(text_, {"eval", run_, text_}, "--per-symbol");
  expect_read(mask, {"eval", run_, text_, "--mask", mask}, "--per-symbol");
  expect_read(settings, {"eval", run_, text_, "--config", settings}, "--per-symbol");
  expect_read(key, {"eval", run_, text_, "--key", key}, "--per-symbol");
  expect_read(weights(), {"eval", run_, text_}, "--per-symbol");
  expect_read(text_, {"score", run_, text_, "--by", "line"}, "--plot");
  expect_read(text_, {"score", run_, text_, "--by", "line", "--labels", labels}, "--roc");
  expect_read(labels, {"score", run_, text_, "--by", "line", "--labels", labels}, "--roc");
  expect_read(settings, {"generate", "alphabet", "--config", settings}, "--out");
  expect_read(settings, {"generate", "alphabet", "--config", settings, "--out", folder_ / "new"}, "--mask");
  expect_read(text_, {"bench", "--distributed", "--text", text_}, "--plot");
  expect_read(text_, {"bench", "--distributed", "--text", text_}, "--trace");
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(OwnInputs, models_and_training_inputs_are_not_overwritten) {
  train();
  const std::string file = data("file", "weights\n"), page = data("page", "made before\n"),
                    valid = data("valid.txt", small_text(500));
  expect_read(weights(), {"info", run_}, "--plot");
  expect_read(run_ + "/log.jsonl", {"info", run_}, "--plot");
  expect_read(weights(), {"info", weights()}, "--plot");
  expect_read(weights(), {"export", run_, "--to", "arpa"}, "--out");
  expect_read(file, {"import", file}, "--out");
  expect_read(file, {"import", page, "--alphabet", file}, "--out");
  expect_read(file, {"import", page, "--template", file}, "--out");
  expect_read(weights(), {"import", page, "--like", run_}, "--out");
  expect_read(file, {"sample", run_, "--voices", file}, "--midi");
  expect_read(file, {"sample", run_, "--prime-file", file}, "--picture");
  expect_read(weights(), {"sample", run_}, "--midi");
  expect_read(file, {"report", run_, "--data", file}, "--out");
  expect_read(run_ + "/config.toml", {"report", run_}, "--out");
  expect_read(text_, {"report", run_}, "--out");  // which the run was trained on
  train({"--valid", valid, "--overwrite"});
  expect_read(valid, {"report", run_}, "--out");
}

TEST_F(OwnInputs, data_with_fields_are_not_overwritten_through_any_path) {
  const std::string file = data("test.conll", chunk_columns(20)), link = folder_ / "link", hard = folder_ / "hard";
  train_on(file, {"--format", "columns", "--predict", "3", "--model", "gru:4"});
  fs::create_symlink("test.conll", link);
  fs::create_hard_link(file, hard);
  for (const char* verb : {"tag", "predict", "classify", "forecast"}) {
    expect_read(file, {verb, run_, file}, "--out");
    expect_read(weights(), {verb, run_, file}, "--out");
  }
  expect_kept(file, {"tag", run_, file, "--out", link},
              "--out " + link + " is also an input as " + file + "; name a different file");
  expect_kept(file, {"tag", run_, link, "--out", hard}, "is also an input as " + link);
  expect_kept(file, {"tag", run_, file, "--out", folder_ / "run/../test.conll"}, "is also an input");
  const Finished piped =
      unfold_command({"tag", run_, "-", "--out", file}, {.input_path = file});  // as the shell does with `< test.conll`
  EXPECT_EQ(piped.code, 2) << piped.err;
  EXPECT_EQ(read_bytes(file), chunk_columns(20));
}

TEST_F(OwnInputs, archives_and_their_models_are_not_replaced) {
  train({"--symbols", "bytes"});
  const std::string archive = folder_ / "text.unf";
  ASSERT_EQ(unfold_command({"compress", text_, "--model", run_, "-o", archive}).code, 0);
  expect_read(text_, {"compress", text_}, "--output");
  expect_read(weights(), {"compress", text_, "--model", run_}, "--output");
  expect_read(archive, {"decompress", archive}, "--output");
  expect_read(weights(), {"decompress", archive, "--model", run_}, "--output");
  expect_read(weights(), {"decompress", archive}, "--output");  // the archive says where its model is
}

TEST_F(OwnInputs, output_folder_must_not_be_an_input_run) {
  train();
  const std::string before = read_bytes(weights()), valid = data("valid.txt", small_text(500));
  expect_kept(text_, training({"--out", text_}), "--out " + text_ + " is also an input; name a different folder");
  expect_failure(training({"--start-from", run_, "--overwrite"}), 2, "is also an input");
  expect_failure(training({"--start-from", weights(), "--overwrite"}), 2, "is the folder of the input " + weights());
  EXPECT_EQ(read_bytes(weights()), before);
  train({"--resume", "--steps", "25"});  // goes on in its own folder
  // Data may be in the folder of the new run.
  const Finished beside =
      unfold_command({"train", "text.txt", "--steps", "2", "--out", ".", "--quiet"}, {.folder = folder_.path()});
  EXPECT_EQ(beside.code, 0) << beside.err;
}

/// The settings are read completely before the run folder is prepared.
TEST_F(OwnInputs, a_run_is_repeated_from_its_own_settings) {
  train();
  const std::string settings = run_ + "/config.toml", before = read_bytes(weights()), written = read_bytes(settings);
  const Arguments anew{"train", text_, "--config", settings, "--out", run_, "--quiet"};
  expect_failure(anew, 2, "--overwrite");
  const Finished finished = unfold_command(anew + Arguments{"--overwrite"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(read_bytes(weights()), before);
  EXPECT_EQ(read_bytes(settings), written);
}

TEST_F(OwnInputs, two_outputs_are_two_files) {
  train();
  const std::string mask = data("mask", std::string(4000, '1')), page = folder_ / "page.html";
  const auto expect_two = [&](const Arguments& arguments, const std::string& message) {
    expect_failure(arguments, 2, message);
    EXPECT_FALSE(fs::exists(page));
  };
  expect_two({"score", run_, text_, "--by", "line", "--labels", mask, "--plot", page, "--roc", page},
             "--roc and --plot both write " + page + "; name two files");
  expect_two({"generate", "alphabet", "--out", page, "--mask", folder_ / "./page.html"}, "both write");
}

TEST_F(OwnInputs, TwoSpellingsOfOneOutputAreRefused) {
  const std::string inner = folder_ / "inner", linked = folder_ / "linked", file = data("file", "kept\n");
  fs::create_directory(inner);
  fs::create_symlink("inner", linked);
  fs::create_symlink("inner/new", folder_ / "dangling");
  fs::create_symlink("file", folder_ / "soft");
  fs::create_hard_link(file, folder_ / "hard");
  const auto expect_one = [&](const std::string& out, const std::string& mask) {
    expect_failure({"generate", "alphabet", "--out", out, "--mask", mask}, 2, "both write " + mask + "; name two files",
                   {.folder = folder_.path()});
    EXPECT_FALSE(fs::exists(inner + "/new")) << out;
    EXPECT_EQ(read_bytes(file), "kept\n") << out;
  };
  expect_one("inner/new", "./inner/new");
  expect_one("new", "./new");
  expect_one("new", folder_ / "new");
  expect_one("inner/new", "inner/../inner/new");
  expect_one("inner/new", "linked/new");
  expect_one(linked + "/new", "inner/new");
  expect_one("inner/new", "dangling");
  expect_one("dangling", "linked/new");
  expect_one("file", "soft");
  expect_one("file", "hard");
  expect_one("soft", "hard");
  const Finished two = unfold_command({"generate", "alphabet", "--out", "inner/new", "--mask", "new"},
                                      {.folder = folder_.path()});  // one name in two folders
  EXPECT_EQ(two.code, 0) << two.err;
}

TEST_F(OwnInputs, OutputsAreNotMixedOnStandardOutput) {
  expect_failure({"generate", "alphabet", "--out", "-", "--mask", "-"}, 2,
                 "--out and --mask both write standard output; name two outputs");
  const std::string file = data("redirected", "kept\n");
  for (const char* out : {"-", "/dev/null"}) {
    const Finished finished = unfold_command({"generate", "alphabet", "--out", out, "--mask", file}, {.output = file});
    EXPECT_EQ(finished.code, 2) << finished.err;
    EXPECT_EQ(read_bytes(file), "kept\n");
  }
  const Finished devices = unfold_command({"generate", "alphabet", "--out", "/dev/null", "--mask", "/dev/null"});
  EXPECT_EQ(devices.code, 0) << devices.err;
}

TEST_F(OwnInputs, standard_output_receives_only_results) {
  train();
  expect_failure({"info", run_, "--plot", "-"}, 2, "--plot does not support - (standard output); name a file");
  expect_failure({"train", text_, "--model", "rnn:3", "--steps", "1", "--out", "-"}, 2, "name a folder");
  expect_failure({"import", text_, "-o", "-"}, 2, "--out does not support - (standard output)");
  EXPECT_FALSE(fs::exists("-"));
  EXPECT_THAT(output_of({"report", run_, "-o", "-"}), HasSubstr("<html"));
}

TEST_F(OwnInputs, files_that_are_not_read_are_overwritten) {
  train();
  const std::string out = data("out", "made before\n");
  for (const std::string& file : {out, run_ + "/symbols.tsv", run_ + "/symbols.tsv", folder_ / "new"}) {
    const Finished finished = unfold_command({"eval", run_, text_, "--per-symbol", file});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_THAT(read_bytes(file), StartsWith("position\tsymbol\tbits\n"));
  }
  EXPECT_EQ(unfold_command({"generate", "alphabet", "-o", "/dev/null", "--mask", "/dev/null"}).code, 0);
}

/// A row that names a file without declaring its use would not be checked.
TEST_F(OwnInputs, every_file_option_declares_its_purpose) {
  const std::regex option("\n  (?:-., )?--([a-z-]+) (?:FILE|OUT|DIR|RUN|MODEL)(?:\\.[a-z]+)? "),
      inputs("\nunfold \\w+ [A-Z.|, ]*(?:FILE|DATA|RUN|MODEL)[A-Z.|, ]* \\[options\\]");
  const auto names_files = [](CommandOptions& options, const Arguments& arguments) {
    options.read_arguments(arguments);
    try {
      options.resolve();
    } catch (const Error&) {
      // the inputs or the file may be missing, but the values exist
    }
    for (const FileUse use :
         {FileUse::data, FileUse::settings, FileUse::model, FileUse::written, FileUse::printed, FileUse::filled})
      for (const FileNamed& file : options.files(use))
        if (file.path == arguments.back()) return true;
    return false;
  };
  int checked = 0;
  for (const auto make : {make_train,    make_eval,    make_score,    make_predict,    make_tag,       make_classify,
                          make_forecast, make_sample,  make_compress, make_decompress, make_complete,  make_density,
                          make_explain,  make_compare, make_report,   make_export,     make_import,    make_check,
                          make_info,     make_inspect, make_bench,    make_generate,   make_reproduce, make_sweep}) {
    const std::string help = make()->options().help(true);
    for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found, ++checked)
      EXPECT_TRUE(names_files(make()->options(), {"--" + (*found)[1].str(), "probe"})) << *found->begin() << help;
    const bool takes_files = std::regex_search(help, inputs);
    EXPECT_TRUE(!takes_files || names_files(make()->options(), {"first", "probe"}) ||
                names_files(make()->options(), {"probe"}))
        << help;
  }
  EXPECT_GT(checked, 60);  // with --config and --key of each
}

TEST_F(OwnInputs, unreadable_run_folder_is_reported) {
  train();
  fs::permissions(run_, fs::perms::none);
  const bool may = ::access(run_.c_str(), X_OK) == 0;
  if (!may) {
    for (const Arguments& arguments : {Arguments{"info", run_}, Arguments{"eval", run_, text_},
                                       training({"--out", folder_ / "new", "--start-from", run_})})
      expect_failure(arguments, 4, run_ + " cannot be read: Permission denied");
  }
  fs::permissions(run_, fs::perms::owner_all);
  if (may) GTEST_SKIP() << "this user may read everything";
}

}  // namespace
}  // namespace unfold::test
