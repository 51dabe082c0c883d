// Emulates a link with limited rate and delay between two network namespaces, for links.sh, because many kernels are
// built without netem. Creates a TAP device of the same name in both namespaces and forwards frames between them. A
// frame is sent when the preceding frames have been sent at the given rate, and arrives after the delay. Frames of
// segmentation offload are forwarded as a whole, so 10 Gbit/s need only a fraction of a core.
//
//   slow_link SPACE SPACE DEVICE RATE DELAY      bits per second, seconds: slow_link left right wire 1e9 1e-4
//
// Prints "ready" when both devices exist, and runs until it is terminated. Needs root and /dev/net/tun.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

int checked(int result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": " + std::strerror(errno));
  return result;
}

// Creates a TAP device in a namespace. It exists until the descriptor is closed.
int open_tap(const std::string& space, const std::string& device) {
  const int entry = checked(open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC), "namespace " + space);
  checked(setns(entry, CLONE_NEWNET), "setns " + space);
  close(entry);
  const int tap = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  device.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
  checked(ioctl(tap, TUNSETIFF, &request), "TUNSETIFF " + device);
  checked(ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), "TUNSETOFFLOAD");
  return tap;
}

struct Frame {
  Clock::time_point due;
  std::vector<char> bytes;
};

// One direction of the link.
class Lane {
 public:
  Lane(int from, int to, double rate, double delay) : from_(from), to_(to), rate_(rate), delay_(delay) {}

  // Reads the frames that wait at the sender, unless the frames in transit exceed a tenth of a second at the given
  // rate.
  void take() {
    while (static_cast<double>(under_way_) < rate_ / 80) {
      Frame frame;
      if (!spare_.empty()) {
        frame.bytes = std::move(spare_.back());
        spare_.pop_back();
      }
      frame.bytes.resize(largest_frame);
      const ssize_t size = read(from_, frame.bytes.data(), frame.bytes.size());
      if (size <= 0) {
        spare_.push_back(std::move(frame.bytes));
        return;
      }
      frame.bytes.resize(static_cast<std::size_t>(size));
      left_ = std::max(left_, Clock::now()) + ticks(static_cast<double>(size) * 8 / rate_);
      frame.due = left_ + ticks(delay_);
      under_way_ += frame.bytes.size();
      frames_.push_back(std::move(frame));
    }
  }

  // Delivers the frames that have arrived.
  void give() {
    while (!frames_.empty() && frames_.front().due <= Clock::now()) {
      Frame& frame = frames_.front();
      if (write(to_, frame.bytes.data(), frame.bytes.size()) < 0 && errno == EAGAIN) return;
      under_way_ -= frame.bytes.size();
      spare_.push_back(std::move(frame.bytes));
      frames_.pop_front();
    }
  }

  std::optional<Clock::time_point> next() const {
    return frames_.empty() ? std::nullopt : std::optional(frames_.front().due);
  }
  int from() const { return from_; }

 private:
  static constexpr std::size_t largest_frame = 70'000;
  static Clock::duration ticks(double seconds) { return std::chrono::duration_cast<Clock::duration>(Seconds(seconds)); }

  int from_, to_;
  double rate_, delay_;
  Clock::time_point left_{};
  std::size_t under_way_ = 0;
  std::deque<Frame> frames_;
  std::vector<std::vector<char>> spare_;
};

// Waits until a frame can be read or delivered.
void wait(const std::array<Lane, 2>& lanes) {
  std::array<pollfd, 2> polled{pollfd{lanes[0].from(), POLLIN, 0}, pollfd{lanes[1].from(), POLLIN, 0}};
  std::optional<Clock::time_point> next;
  for (const Lane& lane : lanes)
    if (lane.next() && (!next || *lane.next() < *next)) next = lane.next();
  timespec pause{};
  if (next) pause.tv_nsec = std::clamp<long>((*next - Clock::now()) / std::chrono::nanoseconds(1), 0, 999'999'999);
  ppoll(polled.data(), polled.size(), next ? &pause : nullptr, nullptr);
}

}  // namespace

int main(int count, char** words) try {
  if (count != 6) throw std::runtime_error("slow_link SPACE SPACE DEVICE RATE DELAY");
  const int left = open_tap(words[1], words[3]), right = open_tap(words[2], words[3]);
  const double rate = std::atof(words[4]), delay = std::atof(words[5]);
  std::array<Lane, 2> lanes{Lane(left, right, rate, delay), Lane(right, left, rate, delay)};
  prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param before_others{1};
  checked(sched_setscheduler(0, SCHED_FIFO, &before_others), "SCHED_FIFO");
  std::puts("ready");
  std::fflush(stdout);
  for (;;) {
    for (Lane& lane : lanes) {
      lane.take();
      lane.give();
    }
    wait(lanes);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "slow_link: %s\n", error.what());
  return 1;
}
