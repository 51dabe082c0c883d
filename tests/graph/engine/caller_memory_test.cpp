/// An unfolding in memory of the caller: the same bits as in its own memory, and derivatives with respect to inputs and
/// states.

#include <gtest/gtest.h>

#include <array>

#include "tests/support/runner.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {
namespace {

constexpr Index kIn = 5, kWidth = 32;

/// An LSTM, and above it a tanh layer that runs from the end of the sequence. The output is that of the upper layer,
/// concatenated with the states of both layers.
struct TwoLayers {
  Circuit circuit;
  Signal x, lower, upper, upper_link;

  explicit TwoLayers(bool reversed = true) {
    x = circuit.input("x", kIn);
    {
      const auto scope = circuit.scope("lower");
      lower = lstm(circuit, x, kWidth, {});
    }
    const auto scope = circuit.scope("upper");
    const auto link = [&] { return circuit.link(kWidth); };
    if (reversed) {
      const auto turned = circuit.reversed();
      upper_link = link();
    } else {
      upper_link = link();
    }
    upper = tanh(circuit.affine("z", kWidth, {{"W", lower}, {"U", upper_link}}));
    circuit.feed(upper_link, upper);
    circuit.output(upper);
  }
};

template <class T>
std::vector<T> random_numbers(std::string_view what, Index count) {
  Random random(7, what);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random.normal());
  return numbers;
}

template <class T>
Matrix<T> rows_of(std::vector<T>& numbers, Index cols, Index stride = 0) {
  stride = stride == 0 ? cols : stride;
  return {numbers.data(), static_cast<Index>(numbers.size()) / stride, cols, stride};
}

template <class T>
std::vector<T> contiguous(Matrix<const T> rows) {
  std::vector<T> result;
  for (Index r = 0; r < rows.rows; ++r) result.insert(result.end(), rows.row(r), rows.row(r) + rows.cols);
  return result;
}

/// The weights of a parameter, one row per output.
template <class T>
std::vector<T> turned(Matrix<const T> w) {
  std::vector<T> result(static_cast<std::size_t>(w.rows * w.cols));
  for (Index r = 0; r < w.rows; ++r)
    for (Index c = 0; c < w.cols; ++c) result[static_cast<std::size_t>(c * w.rows + r)] = w(r, c);
  return result;
}

/// The results of a forward and a backward pass.
template <class T>
struct PassResults {
  std::vector<T> y, end, gradient, to_x, to_start, to_last;
  bool operator==(const PassResults&) const = default;
};

/// The numbers of one batch, the same for every way of computing it.
template <class T>
struct Given {
  Given(const TwoLayers& net, const Plan& plan, const Structure& structure, std::string_view name)
      : x(random_numbers<T>(std::string(name) + "x", structure.positions() * kIn)),
        seed(random_numbers<T>(std::string(name) + "seed", structure.positions() * kWidth)),
        last(random_numbers<T>(std::string(name) + "last", structure.sequences() * kWidth)),
        start(plan, structure.sequences()),
        end(plan, structure.sequences()),
        reversed(net.circuit.nodes()[static_cast<std::size_t>(net.upper_link.id)].link().delay == Delay::next()) {
    for (State<T>* state : {&start, &end}) {
      const auto numbers = random_numbers<T>(name, static_cast<Index>(state->values().size()));
      std::copy(numbers.begin(), numbers.end(), state->values().begin());
      for (Index s = 0; s < state->slots(); ++s) state->mark_carried(s);
    }
  }
  std::vector<T> x, seed, last;  ///< last: beyond the last position of the reversed layer
  State<T> start, end;
  bool reversed;
};

template <class T>
PassResults<T> on_own_memory(const TwoLayers& net, std::shared_ptr<const Plan> plan, const Structure& structure,
                             Given<T> given, int threads) {
  Team team(threads);
  Unfolding<T> u(std::move(plan), team);
  const Parameters<T> parameters = test::some_parameters<T>(net.circuit);
  u.lay(structure);
  u.set_parameters(parameters);
  PassResults<T> result;
  result.to_last.assign(given.last.size(), T{0});
  if (given.reversed) u.bind_end(net.upper_link, rows_of(given.last, kWidth), rows_of(result.to_last, kWidth), {});
  std::copy(given.x.begin(), given.x.end(), u.input(net.x).data);
  State<T> state = given.start;
  u.forward(&state);
  result.y = contiguous(u.value(net.upper));
  result.end.assign(state.values().begin(), state.values().end());
  std::copy(given.seed.begin(), given.seed.end(), u.adjoint(net.upper).data);
  result.gradient.resize(static_cast<std::size_t>(parameters.size()));
  u.backward(result.gradient, {}, &given.end, &state);
  result.to_x = contiguous(u.input_adjoint(net.x));
  result.to_start.assign(state.values().begin(), state.values().end());
  return result;
}

/// Weights and their gradients, one row per output, for every product.
template <class T>
struct OutputMajor {
  OutputMajor(const Parameters<T>& parameters, const Plan& plan) {
    for (std::size_t p = 0; p < plan.parameters().size(); ++p) {
      const bool bias = plan.parameters()[p].rows == 1;
      weights.push_back(bias ? std::vector<T>{} : turned(parameters[static_cast<int>(p)]));
      gradients.emplace_back(weights.back().size(), T{99});
    }
  }
  void bind(Unfolding<T>& u) {
    for (std::size_t p = 0; p < weights.size(); ++p)
      if (const Index inputs = u.plan().parameters()[p].rows; !weights[p].empty())
        u.bind_weights(static_cast<int>(p), rows_of(weights[p], inputs), rows_of(gradients[p], inputs));
  }
  /// Copies the gradients into the vector of the plan.
  void give(const Parameters<T>& parameters, std::vector<T>& gradient) const {
    for (std::size_t p = 0; p < weights.size(); ++p) {
      const Matrix<T> g = parameters.view(gradient.data(), static_cast<int>(p));
      for (Index r = 0; r < g.rows && !weights[p].empty(); ++r)
        for (Index c = 0; c < g.cols; ++c) g(r, c) = gradients[p][static_cast<std::size_t>(c * g.rows + r)];
    }
  }
  std::vector<std::vector<T>> weights, gradients;
};

/// Two batches over one unfolding: both forward passes come before the backward passes. Outputs have a stride.
template <class T>
std::array<PassResults<T>, 2> on_memory_of_caller(const TwoLayers& net, const std::shared_ptr<const Plan>& plan,
                                                  const Structure& structure, std::array<Given<T>, 2> given,
                                                  int threads) {
  Team team(threads);
  Unfolding<T> u(plan, team);
  Parameters<T> parameters = test::some_parameters<T>(net.circuit);
  OutputMajor<T> outside(parameters, *plan);
  for (std::size_t p = 0; p < outside.weights.size(); ++p)
    if (!outside.weights[p].empty()) {  // must not be read
      const Matrix<T> w = parameters[static_cast<int>(p)];
      std::fill_n(w.data, w.rows * w.cols, T{1e6});
    }
  u.keep_values_outside(true);
  u.lay(structure);
  outside.bind(u);
  u.set_parameters(parameters);
  constexpr Index kStride = 2 * kWidth;
  std::array<std::vector<T>, 2> y, blocks;
  std::array<PassResults<T>, 2> result;
  const auto bind = [&](std::size_t k) {
    EXPECT_TRUE(u.bind_value(net.x, rows_of(given[k].x, kIn)));
    EXPECT_TRUE(u.bind_value(net.upper, rows_of(y[k], kWidth, kStride)));
    blocks[k].resize(static_cast<std::size_t>(u.outside_numbers()));
    u.bind_outside(blocks[k]);
    if (given[k].reversed)
      u.bind_end(net.upper_link, rows_of(given[k].last, kWidth), rows_of(result[k].to_last, kWidth), {});
  };
  for (std::size_t k = 0; k < 2; ++k) {
    y[k].resize(static_cast<std::size_t>(structure.positions() * kStride), T{7});
    result[k].to_last.assign(given[k].last.size(), T{0});
    bind(k);
    State<T> state = given[k].start;
    u.forward(&state);
    result[k].y = contiguous<T>(rows_of(y[k], kWidth, kStride));
    result[k].end.assign(state.values().begin(), state.values().end());
  }
  for (std::size_t k = 0; k < 2; ++k) {
    bind(k);
    State<T> state = given[k].start;
    u.resume(&state);
    if (!u.bind_adjoint(net.upper, rows_of(given[k].seed, kWidth)))
      std::copy(given[k].seed.begin(), given[k].seed.end(), u.adjoint(net.upper).data);
    result[k].to_x.resize(given[k].x.size());
    EXPECT_TRUE(u.bind_adjoint(net.x, rows_of(result[k].to_x, kIn)));
    result[k].gradient.resize(static_cast<std::size_t>(parameters.size()));
    u.backward(result[k].gradient, {}, &given[k].end, &state);
    outside.give(parameters, result[k].gradient);
    result[k].to_start.assign(state.values().begin(), state.values().end());
  }
  return result;
}

std::vector<Structure> structures() {
  return {Structure::chains(3, 6), Structure::chains(1, 9), Structure::chains({5, 12, 1, 7, 12, 3, 2}),
          Structure::chains(40, 20)};
}

template <class T>
void expect_same_bits(bool reversed) {
  const TwoLayers net(reversed);
  const auto plan = std::make_shared<const Plan>(net.circuit, PlanOptions{.input_derivatives = true});
  for (const Structure& structure : structures())
    for (const int threads : {1, 2}) {
      const std::array<Given<T>, 2> given = {Given<T>(net, *plan, structure, "a"),
                                             Given<T>(net, *plan, structure, "b")};
      const auto bound = on_memory_of_caller<T>(net, plan, structure, given, threads);
      for (std::size_t k = 0; k < 2; ++k) {
        const auto own = on_own_memory<T>(net, plan, structure, given[k], threads);
        EXPECT_EQ(own.y, bound[k].y);
        EXPECT_EQ(own.end, bound[k].end);
        EXPECT_EQ(own.gradient, bound[k].gradient);
        EXPECT_EQ(own.to_x, bound[k].to_x);
        EXPECT_EQ(own.to_start, bound[k].to_start);
        EXPECT_EQ(own.to_last, bound[k].to_last);
      }
    }
}

TEST(CallerMemory, GivesTheBitsOfOwnMemory) {
  expect_same_bits<float>(false);
  expect_same_bits<double>(false);
}

TEST(CallerMemory, GivesTheBitsOfOwnMemoryInReversedLayers) {
  expect_same_bits<float>(true);
  expect_same_bits<double>(true);
}

TEST(CallerMemory, DerivativesOfInputsLeaveThoseOfParametersUnchanged) {
  const TwoLayers net;
  const auto with = std::make_shared<const Plan>(net.circuit, PlanOptions{.input_derivatives = true});
  const auto without = std::make_shared<const Plan>(net.circuit);
  const Structure structure = Structure::chains({4, 9, 2});
  Team team(1);
  const Parameters<float> parameters = test::some_parameters<float>(net.circuit);
  std::vector<std::vector<float>> gradients;
  for (const auto& plan : {with, without}) {
    Unfolding<float> u(plan, team);
    u.lay(structure);
    u.set_parameters(parameters);
    const auto x = random_numbers<float>("x", structure.positions() * kIn);
    const auto seed = random_numbers<float>("seed", structure.positions() * kWidth);
    std::copy(x.begin(), x.end(), u.input(net.x).data);
    u.forward();
    std::copy(seed.begin(), seed.end(), u.adjoint(net.upper).data);
    gradients.emplace_back(static_cast<std::size_t>(parameters.size()));
    u.backward(gradients.back());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// <J d, s> = <d, J^T s>, where d moves the parameters, the inputs and the states at both ends.
TEST(CallerMemory, TangentsAndAdjointsOfInputsAndStatesAgree) {
  const TwoLayers net;
  const auto plan = std::make_shared<const Plan>(net.circuit, PlanOptions{.input_derivatives = true});
  const Parameters<double> parameters = test::some_parameters<double>(net.circuit);
  for (const Structure& structure : structures()) {
    Given<double> given(net, *plan, structure, "a"), moved(net, *plan, structure, "d");
    const auto direction = random_numbers<double>("direction", parameters.size());
    const PassResults<double> back = on_own_memory(net, plan, structure, given, 1);
    Team team(2);
    Unfolding<double> u(plan, team);
    u.lay(structure);
    u.set_parameters(parameters);
    u.bind_end(net.upper_link, rows_of(given.last, kWidth), {}, rows_of(moved.last, kWidth));
    std::copy(given.x.begin(), given.x.end(), u.input(net.x).data);
    State<double> state = given.start, end(*plan, structure.sequences());
    u.forward(&state);
    std::copy(moved.x.begin(), moved.x.end(), u.input_tangent(net.x).data);
    u.tangent(direction, &moved.start, &end);
    const double forward = dot(contiguous(u.tangent_of(net.upper)), given.seed) + dot(end.values(), given.end.values());
    const double backward = dot(direction, back.gradient) + dot(moved.x, back.to_x) +
                            dot(moved.start.values(), back.to_start) + dot(moved.last, back.to_last);
    EXPECT_NEAR(forward, backward, 1e-9 * std::abs(backward));
  }
}

TEST(CallerMemory, NamesWhatIsMissing) {
  const TwoLayers net;
  const auto plan = std::make_shared<const Plan>(net.circuit);
  Team team(1);
  Unfolding<float> u(plan, team);
  const Parameters<float> parameters = test::some_parameters<float>(net.circuit);
  u.keep_values_outside(true);
  u.lay(Structure::chains(2, 3));
  u.set_parameters(parameters);
  EXPECT_THROW(u.forward(), UsageError);  // no block
  std::vector<float> numbers(10);
  EXPECT_THROW(u.bind_outside(numbers), UsageError);
  EXPECT_THROW(u.bind_value(net.x, rows_of(numbers, kIn)), UsageError);
  EXPECT_THROW(u.input_tangent(net.x), UsageError);  // a plan without derivatives of inputs
  EXPECT_THROW(u.bind_weights(0, {numbers.data(), 1, 1, 1}, {}), UsageError);
  EXPECT_THROW(u.bind_end(net.lower, {}, {}, {}), UsageError);
}

}  // namespace
}  // namespace unfold
