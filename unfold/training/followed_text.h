#pragma once
/// A stream of bytes that goes on elsewhere: standard input, a pipe, a file that is read once. One sequence, `window`
/// bytes a batch, in constant memory. A batch is there once its bytes have come: `wait` first.
///
/// The last windows are kept, so that a diverged run can go back as far as its last good state. A run that is resumed
/// is given the same stream from its beginning: what was read before is read over.

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/training/trainer.h"

namespace unfold {

class FollowedText final : public BatchSource {
 public:
  /// "-" is standard input. `kept`: windows to go back. Throws DataError when there is no such file.
  FollowedText(const std::string& path, Index window, Index kept);
  ~FollowedText() override;
  FollowedText(const FollowedText&) = delete;
  FollowedText& operator=(const FollowedText&) = delete;

  /// Waits for the current batch; false when it is not there after a second, when the flag is set, or when the stream
  /// has ended before it (epochs_done() is 1 then). Throws DataError: a read that fails; RuntimeFailure: a batch that
  /// is kept no longer.
  bool wait(const std::atomic<bool>* stop);

  const Batch& batch() const override { return batch_; }  ///< REQUIRES wait
  void advance() override { ++position_; }
  void seek(Index, Index batch) override { position_ = batch; }
  Index epoch() const override { return ended() ? 1 : 0; }
  Index position() const override { return position_; }
  double epochs_done() const override { return ended() ? 1 : 0; }
  Index streams() const override { return 1; }
  bool shortened() const override { return false; }

 private:
  struct Window {
    Symbol before = kNoSymbol;
    std::vector<Symbol> symbols;
  };
  enum class Read { some, later, end };

  bool ended() const { return end_ >= 0 && position_ >= end_; }
  Read read();
  void cut();
  void lay(const Window& window);

  std::string name_;
  Index window_, kept_;
  int descriptor_ = -1;
  std::vector<unsigned char> bytes_;  // that have come, of the window that is not whole yet
  std::vector<unsigned char> buffer_;
  std::size_t buffered_ = 0, taken_ = 0;
  Symbol last_ = kNoSymbol;
  std::deque<Window> windows_;  // the last ones
  Index next_ = 0;              // number of the window after them
  Index position_ = 0, end_ = -1;
  Batch batch_;
};

/// To train on. Refers to nothing.
template <class T>
TrainingSources<T> followed_sources(const std::string& path, Index window, Index kept);

}  // namespace unfold
