#pragma once
/// A batch source for a byte stream: standard input, a pipe or a file that is read once. Provides a single sequence,
/// `window` bytes per batch, in constant memory. Call `wait` before accessing a batch.
///
/// The last windows are kept, so a diverged run can return to its last good state. A resumed run reads the same stream
/// from its beginning and skips the part that was already read.

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/train/trainer.h"

namespace unfold {

class ByteStreamSource final : public BatchSource {
 public:
  /// "-" is standard input. `kept`: number of windows kept for going back. Throws DataError if the file does not exist.
  ByteStreamSource(const std::string& path, Index window, Index kept);
  ~ByteStreamSource() override;
  ByteStreamSource(const ByteStreamSource&) = delete;
  ByteStreamSource& operator=(const ByteStreamSource&) = delete;

  /// Waits for the current batch. Returns false if it is not available after a second, if the flag is set, or if the
  /// stream has ended before this batch (epochs_done() is then 1). Throws DataError if a read fails and RuntimeFailure
  /// for a batch that is no longer kept.
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
  std::vector<unsigned char> bytes_;  // bytes received for the incomplete window
  std::vector<unsigned char> buffer_;
  std::size_t buffered_ = 0, taken_ = 0;
  Symbol last_ = kNoSymbol;
  std::deque<Window> windows_;  // the last windows
  Index next_ = 0;              // number of the window after the last one in `windows_`
  Index position_ = 0, end_ = -1;
  Batch batch_;
};

/// Training sources for a byte stream. Keeps no references.
template <class T>
TrainingSources<T> followed_sources(const std::string& path, Index window, Index kept);

}  // namespace unfold
