#include "graph/device/device.h"

#include "tests/graph/device/every_device.h"

namespace unfold {
namespace {

INSTANTIATE_TEST_SUITE_P(On, EveryDevice, testing::Values("simulated", "cuda"),
                         [](const auto& on) { return std::string(on.param); });

constexpr const char* kTwice = R"(
KERNEL(twice) {
  float* x = (float*)a.pointer(0);
  const i64 n = a.integer(1);
  for (i64 i = block() * (i64)threads() + thread(); i < n; i += blocks() * (i64)threads()) x[i] *= 2;
}
KERNEL(add_number) {
  const float* from = a.pointer(0);
  double* to = a.pointer<double>(1);
  const double x = a.number(3);
  if (thread() < a.integer(2)) to[thread()] = from[thread()] + x;
}
)";

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_P(EveryDevice, device_reports_its_properties) {
  EXPECT_FALSE(device->name().empty());
  EXPECT_GE(device->processors(), 1);
  EXPECT_GE(device->shared_bytes(), 48 << 10);
}

TEST_P(EveryDevice, kernel_arguments_of_all_three_kinds_are_passed) {
  const int add_number = kernel(kTwice, "add_number");
  const Address from = uploaded<float>({1, 2, 3, 4}), to = device->allocate(4 * sizeof(double));
  device->launch(add_number, {.blocks = 1, .threads = 32}, Arguments().add(from).add(to).add(Index{3}).add(0.1));
  EXPECT_EQ(downloaded<double>(to, 4), (std::vector<double>{1.1, 2.1, 3.1, 0}));
}

TEST_P(EveryDevice, too_many_kernel_arguments_are_rejected) {
  Arguments arguments;
  for (std::size_t i = 0; i < Arguments::kMost; ++i) arguments.add(Index{1});
  EXPECT_THROW(arguments.add(1.0), RuntimeFailure);
}

TEST_P(EveryDevice, memory_is_copied) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{7} << 20}) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
    const std::vector<std::uint32_t> before = values;
    const std::size_t bytes = count * sizeof values[0];
    const Address first = device->allocate(bytes), second = device->allocate(bytes);
    EXPECT_EQ(device->allocated_bytes(), 2 * bytes);
    EXPECT_EQ(downloaded<std::uint32_t>(first, count), std::vector<std::uint32_t>(count)) << "memory begins as zeros";
    device->upload(first, values.data(), bytes);
    std::fill(values.begin(), values.end(), 7u);
    device->copy(second, first, bytes);
    device->clear(first, bytes);
    EXPECT_EQ(downloaded<std::uint32_t>(first, count), std::vector<std::uint32_t>(count));
    EXPECT_TRUE(downloaded<std::uint32_t>(second, count) == before);
    device->release(first);
    device->release(second);
    EXPECT_EQ(device->allocated_bytes(), 0u);
  }
}

TEST_P(EveryDevice, many_small_uploads_keep_their_order) {
  constexpr std::size_t kEach = 1000, kCount = 30000;  // 30 MB: the staging memory is reused
  std::vector<char> all(kEach * kCount);
  const Address memory = device->allocate(all.size());
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::vector<char> part(kEach, static_cast<char>(i * 31 % 127));
    device->upload(memory + i * kEach, part.data(), kEach);
    std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(i * kEach), kEach, part[0]);
  }
  EXPECT_TRUE(downloaded<char>(memory, all.size()) == all);
}

TEST_P(EveryDevice, kernels_run_in_order) {
  const int twice = kernel(kTwice, "twice");
  std::vector<float> values(5000, 1.0f);
  const Address x = uploaded(values);
  for (int i = 0; i < 10; ++i)
    device->launch(twice, {.blocks = 8, .threads = 256}, Arguments().add(x).add(Index{4999}));
  device->wait();
  std::vector<float> expected(5000, 1024.0f);
  expected[4999] = 1;
  EXPECT_EQ(downloaded<float>(x, values.size()), expected);
}

TEST_P(EveryDevice, each_source_is_compiled_once) {
  const auto first = device->compile(kTwice, {"twice", "add_number"});
  EXPECT_EQ(device->compile(kTwice, {"add_number", "twice"}), (std::vector<int>{first[1], first[0]}));
}

TEST_P(EveryDevice, kernel_compile_errors_are_reported) {
  const std::string message = message_of([&] { kernel("\n\nKERNEL(bad) { nonsense(3); }\n", "bad"); });
  EXPECT_NE(message.find("kernel"), std::string::npos) << message;
  EXPECT_TRUE(message.find("kernel:3") != std::string::npos || message.find("kernel(3)") != std::string::npos)
      << message;
  EXPECT_NE(message.find("nonsense"), std::string::npos) << message;
  EXPECT_NE(message_of([&] { kernel(kTwice, "thrice"); }).find("thrice"), std::string::npos);
}

TEST_P(EveryDevice, out_of_memory_error_reports_the_missing_amount) {
  const std::string message = message_of([&] { device->allocate(std::size_t{1} << 45); });
  EXPECT_NE(message.find("requested"), std::string::npos) << message;
  EXPECT_NE(message.find("free"), std::string::npos) << message;
  EXPECT_EQ(device->allocated_bytes(), 0u);
}

TEST_P(EveryDevice, recorded_commands_are_replayed) {
  const int twice = kernel(kTwice, "twice");
  const Address x = uploaded<float>({1, 2, 3, 4}), y = device->allocate(16), z = device->allocate(16);
  device->record();
  device->launch(twice, {.blocks = 1, .threads = 32}, Arguments().add(x).add(Index{4}));
  device->copy(y, x, 16);
  device->multiply({.m = 2, .n = 2, .k = 2, .a = x, .b = x, .c = z, .lda = 2, .ldb = 2, .ldc = 2});
  EXPECT_THROW(device->allocate(8), RuntimeFailure);
  const int recording = device->recorded();
  EXPECT_EQ(downloaded<float>(x, 4), (std::vector<float>{1, 2, 3, 4})) << "nothing is done while it is recorded";
  for (int i = 0; i < 3; ++i) device->replay(recording);
  EXPECT_EQ(downloaded<float>(y, 4), (std::vector<float>{8, 16, 24, 32}));
  EXPECT_EQ(downloaded<float>(z, 4), (std::vector<float>{7 * 64, 10 * 64, 15 * 64, 22 * 64}));
  device->forget(recording);
  EXPECT_THROW(device->recorded(), RuntimeFailure);
}

TEST_P(EveryDevice, device_measures_time) {
  const int twice = kernel(kTwice, "twice");
  const Address x = device->allocate(400000);
  const int first = device->mark();
  device->launch(twice, {.blocks = 4, .threads = 256}, Arguments().add(x).add(Index{100000}));
  const int second = device->mark();
  const double seconds = device->seconds_between(first, second);
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 10);
}

template <class T>
void expect_products(Device& device, const DeviceProduct& kind, double tolerance) {
  const Index m = 5, n = 19, k = 33;
  const auto number = [](Index i) { return T(i * 7919 % 101 - 50) / T(32); };  // six bits: exact in bfloat16
  const Index a_rows = kind.transposed_a ? k : m, a_cols = kind.transposed_a ? m : k;
  const Index b_rows = kind.transposed_b ? n : k, b_cols = kind.transposed_b ? k : n;
  DeviceProduct p = kind;
  p.m = m, p.n = n, p.k = k;
  p.lda = a_cols + 3, p.ldb = b_cols + 2, p.ldc = n + 4;
  p.doubles = sizeof(T) == sizeof(double);
  std::vector<T> a(at(a_rows * p.lda)), b(at(b_rows * p.ldb)), c(at(m * p.ldc));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = number(static_cast<Index>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = number(static_cast<Index>(3 * i + 1));
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = number(static_cast<Index>(5 * i + 2));
  std::vector<T> expected = c;
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      T sum = kind.accumulate ? expected[at(i * p.ldc + j)] : T(0);
      for (Index l = 0; l < k; ++l)
        sum += (kind.transposed_a ? a[at(l * p.lda + i)] : a[at(i * p.lda + l)]) *
               (kind.transposed_b ? b[at(j * p.ldb + l)] : b[at(l * p.ldb + j)]);
      expected[at(i * p.ldc + j)] = sum;
    }
  const auto upload = [&](std::vector<T>& values) {
    const Address memory = device.allocate(values.size() * sizeof(T));
    device.upload(memory, values.data(), values.size() * sizeof(T));
    return memory;
  };
  p.a = upload(a), p.b = upload(b), p.c = upload(c);
  device.multiply(p);
  device.download(c.data(), p.c, c.size() * sizeof(T));
  for (const Address memory : {p.a, p.b, p.c}) device.release(memory);
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], tolerance) << "number " << i;
}

TEST_P(EveryDevice, device_multiplies_matrices) {
  for (const bool transposed_a : {false, true})
    for (const bool transposed_b : {false, true})
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(testing::Message() << transposed_a << transposed_b << accumulate);
        DeviceProduct kind{.transposed_a = transposed_a, .transposed_b = transposed_b, .accumulate = accumulate};
        expect_products<double>(*device, kind, 1e-12);
        for (const auto precision : {DevicePrecision::exact, DevicePrecision::tf32, DevicePrecision::bf16}) {
          kind.precision = precision;
          expect_products<float>(*device, kind, 1e-4);
        }
      }
}

TEST_P(EveryDevice, product_operands_are_rounded_on_request) {
  const float x = 1 + 0x1p-9f, y = 1 + 0x1p-12f;  // neither is a bfloat16, and y is not a tf32
  const Address a = uploaded<float>({x}), b = uploaded<float>({y}), c = device->allocate(4);
  const auto product = [&](DevicePrecision precision) {
    device->multiply(
        {.m = 1, .n = 1, .k = 1, .a = a, .b = b, .c = c, .lda = 1, .ldb = 1, .ldc = 1, .precision = precision});
    return downloaded<float>(c, 1)[0];
  };
  EXPECT_EQ(product(DevicePrecision::exact), x * y);
  EXPECT_NEAR(product(DevicePrecision::tf32), x, 0x1p-10);  // rounding is allowed, not required
  EXPECT_NEAR(product(DevicePrecision::bf16), 1, 0x1p-7);
}

TEST(Device, unknown_device_is_named_in_the_error) {
  for (const char* name : {"gpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda0", "cuda:12345678901"}) {
    SCOPED_TRACE(name);
    EXPECT_THROW(open_device(name), UsageError);
    EXPECT_NE(message_of([&] { open_device(name); }).find("cuda:N"), std::string::npos);
  }
}

TEST(Device, unavailable_device_is_explained) {
  const std::string message = message_of([] { open_device("cuda:99999"); });
  if (!has_device_support()) {
    EXPECT_NE(message.find("--preset cuda"), std::string::npos) << message;
  } else {
    EXPECT_TRUE(message.find("no NVIDIA") != std::string::npos || message.find("numbered from 0") != std::string::npos)
        << message;
  }
}

TEST(SimulatedDevice, simulated_device_detects_faults) {
  const auto device = simulated_device(4, 1000);
  const char* source = R"(
KERNEL(beside) { a.pointer<char>(0)[a.integer(1)] = 1; }
KERNEL(stuck) { if (thread() == 0) await(a.pointer<u32>(0), 1); sync_block(); }
)";
  const auto kernels = device->compile(source, {"beside", "stuck"});
  const Address memory = device->allocate(64);
  EXPECT_NE(
      message_of([&] { device->launch(kernels[1], {}, Arguments().add(memory)); }).find("stuck: its threads wait"),
      std::string::npos);
  EXPECT_THROW(device->launch(kernels[0], {.blocks = 5, .together = true}, Arguments()), RuntimeFailure);
  EXPECT_THROW(device->launch(kernels[0], {.shared_bytes = 1 << 20}, Arguments()), RuntimeFailure);
  EXPECT_THROW(device->clear(memory + 8, 64), RuntimeFailure);
  EXPECT_THROW(device->allocate(1000), RuntimeFailure);
  device->launch(kernels[0], {.threads = 1}, Arguments().add(memory).add(Index{64}));
  EXPECT_THROW(device->wait(), RuntimeFailure);
  const char right = static_cast<char>(0xd7);
  device->launch(kernels[0], {.threads = 1}, Arguments().add(memory).add(Index{0}));
  *reinterpret_cast<char*>(memory + 64) = right;  // otherwise releasing it would abort the program
  device->wait();
}

}  // namespace
}  // namespace unfold
