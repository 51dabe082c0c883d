/// Steps that update only the rows of tables that a batch reads: the bytes of steps over all rows, in any run.

#include "train/objective/table_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/train/trained_text.h"

namespace unfold {
namespace {

/// With this option, every step updates all rows; the limit changes no gradient.
const std::string kAllRows = ",component-clip=1e30";

/// Returns text over `alphabet` characters, of which few are frequent and some occur once.
std::string rare_text(Index length, Index alphabet) {
  Random random(11, "rare");
  std::string text;
  for (Index i = 0; i < length; ++i) {
    const double share = random.uniform();
    append_utf8(text, static_cast<char32_t>(0x4E00 + static_cast<Index>(share * share * share * double(alphabet))));
  }
  return text;
}

/// A network over a text with many symbols; its first affine map looks up the rows of a large table.
struct ManySymbols {
  explicit ManySymbols(Index alphabet = 900, Index length = 3000)
      : text(rare_text(length, alphabet)),
        corpus(Corpus::from_text(text, Alphabet::chars_of(text))),
        parts(split_corpus(corpus, parse_split("80/20"))),
        small(corpus.alphabet().size(), 12, Cell::lstm, 0.1) {}
  TrainingData data() const { return {corpus, parts[0], &parts[1], nullptr}; }

  std::string text;
  Corpus corpus;
  std::array<Split, 3> parts;
  SmallNetwork<float> small;
};

struct Finished {
  std::vector<float> last, best;
  double loss = 0, norm = 0;
  bool operator==(const Finished&) const = default;
};

/// Keeps the last norm of the gradient.
struct LastNorm : Observer {
  void progress(const ProgressEvent& e) override { norm = e.gradient_norm; }
  double norm = 0;
};

Finished train(const TrainerOptions& options, int threads = 1) {
  ManySymbols setting;
  Team team(threads);
  Finished result;
  LastNorm observer;
  {
    Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
    trainer.set_observer(&observer);
    result.loss = trainer.run().last_loss;
    result.best = flat(trainer.best());
  }
  result.last = flat(setting.small.parameters);  // after the trainer has been destroyed
  result.norm = observer.norm;
  return result;
}

TrainerOptions many_options(const std::string& optimizer, Index steps = 150) {
  TrainerOptions options = small_options(steps);
  options.optimizer = optimizer;
  options.batches = {.window = 7, .batch = 3};
  options.validate_every = 90;
  options.snapshot_every = 100;  // longer than the steps that are postponed together
  return options;
}

Batch batch_of(const std::vector<Symbol>& symbols) {
  Batch batch;
  batch.symbol_field(kPreviousSymbol).symbols = symbols;
  return batch;
}

TEST(TableRows, finds_the_rows_that_a_batch_reads) {
  ManySymbols setting;
  TableRows tables(setting.small.network);
  ASSERT_TRUE(tables.any());
  const RowTables* read = tables.read(batch_of({7, 3, kNoSymbol, 7, 40}));
  ASSERT_NE(read, nullptr);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().read, (std::vector<Index>{3, 7, 40}));
  EXPECT_EQ(read->front().cols, 48);
  std::vector<Symbol> every(at(read->front().rows));
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<Symbol>(i);
  EXPECT_EQ(tables.read(batch_of(every)), nullptr);
}

TEST(TableRows, small_tables_are_updated_as_a_whole) {
  Setting setting;
  EXPECT_FALSE(TableRows(setting.small.network).any());
}

TEST_F(TrainerTest, steps_over_read_rows_have_the_bytes_of_steps_over_all_rows) {
  for (const std::string spec : {"adam:rate=0.01,schedule=cosine,warmup=5", "adamw:rate=0.01,decay=0.1",
                                 "adam:rate=0.02,clip=0.05", "adam:rate=0.01,lazy=true", "adamw:rate=0.01,lazy=true"}) {
    const Finished all = train(many_options(spec + kAllRows));
    EXPECT_EQ(train(many_options(spec)), all) << spec;
    for (const int threads : {2, 3}) EXPECT_EQ(train(many_options(spec), threads), all) << spec << threads;
  }
}

TEST_F(TrainerTest, lazy_steps_change_the_result) {
  EXPECT_NE(train(many_options("adam:rate=0.01,lazy=true")).last, train(many_options("adam:rate=0.01")).last);
}

TEST_F(TrainerTest, steps_over_read_rows_resume_with_the_same_bytes) {
  const Finished all = train(many_options("adamw:rate=0.01" + kAllRows));
  for (const Stop::How how : {Stop::How::flag, Stop::How::crash})
    for (const Index at : {1, 63, 64, 65, 131}) {
      TrainerOptions options = many_options("adamw:rate=0.01");
      options.checkpoint = file("c.safetensors");
      options.checkpoint_steps = 9;
      {
        ManySymbols setting;
        Stop stop(at, how);
        options.stop = &stop.flag;
        Team team(1);
        Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
        trainer.set_observer(&stop);
        EXPECT_ANY_THROW(trainer.run());
      }
      options.stop = nullptr;
      options.resume = std::filesystem::exists(options.checkpoint);
      EXPECT_EQ(train(options), all) << at;
      std::filesystem::remove(options.checkpoint);
    }
}

/// Reads and changes the parameters after some steps.
struct Meddler : Observer {
  explicit Meddler(Parameters<float>& parameters_) : parameters(parameters_) {}
  void progress(const ProgressEvent& e) override {
    if (e.step % 11 == 5) sum += parameters.flat()[static_cast<std::size_t>(e.step)];
    if (e.step % 37 == 20) parameters.at("z/W")(e.step, 1) += 0.25F;
    if (e.step == 77) parameters.at("z/U")(3, 2) = times-- > 0 ? std::nanf("") : 0.5F;
    if (e.step == 60) saved = parameters;
    if (e.step == 140) parameters = std::move(saved);
  }
  Parameters<float>& parameters;
  Parameters<float> saved;
  double sum = 0;
  int times = 1;
};

TEST_F(TrainerTest, observers_and_rollbacks_see_every_row_up_to_date) {
  std::vector<std::pair<std::vector<float>, double>> endings;
  for (const std::string& rows : {std::string(), kAllRows}) {
    ManySymbols setting;
    Team team(2);
    TrainerOptions options = many_options("adamw:rate=0.01" + rows);
    options.snapshot_every = 8;
    Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
    Meddler meddler(setting.small.parameters);
    trainer.set_observer(&meddler);
    EXPECT_EQ(trainer.run().rollbacks, 1);
    endings.emplace_back(flat(setting.small.parameters), meddler.sum);
  }
  EXPECT_EQ(endings[0], endings[1]);
}

TEST_F(TrainerTest, steps_over_read_rows_do_not_change_training_in_shards) {
  TrainerOptions options = many_options("adam:rate=0.01", 60);
  options.shards = 3;
  const Finished rows = train(options);
  options.optimizer += kAllRows;
  EXPECT_EQ(rows, train(options));
}

}  // namespace
}  // namespace unfold
