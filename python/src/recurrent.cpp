#include "recurrent.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "openmp_threads.h"

namespace unfold::python {
namespace {

// ------------------------------------------------------------------------------------------------------- the team

/// The team of the process, on the threads of PyTorch if possible: after a region, PyTorch's threads poll for the next
/// one, and a team of other threads would compete with them. After a fork, the child has neither these threads nor
/// those of PyTorch, so its team starts new threads.
struct Workers {
  std::mutex mutex;
  std::unique_ptr<OpenMpThreads> pool = OpenMpThreads::of_pytorch();
  std::unique_ptr<Team> team;
  int generation = 0;  // counts the teams
};

Workers& workers() {
  static Workers* const all = [] {
    auto* made = new Workers;  // never destroyed: threads may still run when the process ends
    pthread_atfork([] { workers().mutex.lock(); }, [] { workers().mutex.unlock(); },
                   [] {
                     static_cast<void>(workers().team.release());  // its destructor would wait for lost threads
                     workers().pool.reset();
                     ++workers().generation;
                     workers().mutex.unlock();
                   });
    return made;
  }();
  return *all;
}

/// REQUIRES: the lock on the workers.
Team& team_of(int threads) {
  Workers& all = workers();
  if (all.team == nullptr || all.team->size() != threads) {
    all.team.reset();
    all.team = all.pool ? std::make_unique<Team>(threads, *all.pool) : std::make_unique<Team>(threads);
    ++all.generation;
  }
  return *all.team;
}

// ------------------------------------------------------------------------------------------------------- checksum

constexpr std::size_t kBlock = 1 << 16;  ///< bytes that a thread reads at a time

/// Checksum of a block of memory: eight chains of multiplications.
std::uint64_t checksum(const char* data, std::size_t bytes, std::uint64_t seed) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::array<std::uint64_t, 8> lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = (seed + i + 1) * kFactor;
  const auto take = [&](const char* from, std::size_t count) {
    std::array<std::uint64_t, 8> words = {};
    std::memcpy(words.data(), from, count);
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kFactor, 29);
  };
  std::size_t done = 0;
  for (; done + sizeof lanes <= bytes; done += sizeof lanes) take(data + done, sizeof lanes);
  if (done < bytes) take(data + done, bytes - done);
  std::uint64_t sum = bytes;
  for (const std::uint64_t lane : lanes) sum = std::rotl((sum ^ lane) * kFactor, 31);
  return sum;
}

/// Checksum of several tensors. Block checksums are added up, so the result does not depend on the division among
/// threads.
template <class T>
class WeightsChecksum {
 public:
  void add(const T* data, Index numbers) {
    const auto* bytes = reinterpret_cast<const char*>(data);
    for (std::size_t left = at(numbers) * sizeof(T); left > 0;) {
      const std::size_t taken = std::min(left, kBlock);
      blocks_.push_back({bytes, taken});
      bytes += taken, left -= taken;
    }
  }
  std::uint64_t of(Team& team) const {
    constexpr std::size_t kAlone = 8;  // a smaller number is read faster than a second thread starts
    std::vector<std::uint64_t> sums(blocks_.size());
    const auto sum = [&](Range mine) {
      for (Index b = mine.begin; b < mine.end; ++b)
        sums[at(b)] = checksum(blocks_[at(b)].data, blocks_[at(b)].bytes, at(b));
    };
    if (blocks_.size() <= kAlone)
      sum({0, static_cast<Index>(blocks_.size())});
    else
      team.run([&](Member& me) { sum(me.share(static_cast<Index>(blocks_.size()))); });
    std::uint64_t total = 0;
    for (const std::uint64_t part : sums) total += part;
    return total;
  }

 private:
  struct Block {
    const char* data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
};

// ------------------------------------------------------------------------------------------------------ the circuit

/// One direction of one layer.
struct Layer {
  std::vector<int> input_weights = {};  ///< parameters: one per signal that the layer reads
  int recurrent_weights = -1;
  std::vector<int> biases = {};     ///< parameters: none, one for the sum of both PyTorch biases, or (GRU) one for each
                                    ///< bias
  std::vector<Signal> links = {};   ///< h, and c of an LSTM
  std::vector<Signal> states = {};  ///< their sources
  bool reversed = false;
};

int parameter_named(const Circuit& c, const std::string& name) {
  const auto& all = c.parameters();
  const auto found = std::ranges::find_if(all, [&](const ParameterInfo& p) { return p.name == name; });
  return static_cast<int>(found - all.begin());
}

class StackBuilder {
 public:
  StackBuilder(Circuit& circuit, const RecurrentStack& stack) : c_(circuit), stack_(stack) {}

  /// Returns the layers in the order of PyTorch: both directions of the first layer, of the second, ...
  std::vector<Layer> build() {
    std::vector<Layer> layers;
    std::vector<Signal> below = {c_.input("x", stack_.input)};
    for (Index k = 0; k < stack_.layers; ++k) {
      std::vector<Signal> outputs;
      for (int direction = 0; direction < (stack_.bidirectional ? 2 : 1); ++direction) {
        layers.push_back(layer(below, "l" + std::to_string(k) + (direction > 0 ? "_reverse" : ""), direction > 0));
        outputs.push_back(layers.back().states.front());
      }
      const bool last = k + 1 == stack_.layers;
      for (Signal& y : outputs)
        if (!last && stack_.dropout > 0) y = c_.dropout(y, stack_.dropout);
      if (last)
        for (const Signal y : outputs) c_.output(y);
      below = outputs;
    }
    // The final states of reversed layers are at the first position; the final states of the other layers are in the
    // carried state.
    for (const Layer& l : layers)
      for (const Signal state : l.states)
        if (l.reversed && std::ranges::count(c_.outputs(), state.id) == 0) c_.output(state);
    return layers;
  }

 private:
  Layer layer(const std::vector<Signal>& below, const std::string& name, bool reversed) {
    const auto scope = c_.scope(name);
    Layer made{.reversed = reversed};
    if (reversed) {
      const auto turned = c_.reversed();
      add_cell(made, below);
    } else {
      add_cell(made, below);
    }
    for (std::size_t i = 0; i < made.links.size(); ++i) c_.feed(made.links[i], made.states[i]);
    const std::string w = name + (stack_.kind == RecurrentKind::gru ? "/w/" : "/z/");
    const std::string u = name + (stack_.kind == RecurrentKind::gru ? "/u/" : "/z/");
    for (std::size_t i = 0; i < below.size(); ++i)
      made.input_weights.push_back(parameter_named(c_, w + "W" + std::to_string(i + 1)));
    made.recurrent_weights = parameter_named(c_, u + "U");
    if (stack_.bias) made.biases.push_back(parameter_named(c_, w + "bias"));
    if (stack_.bias && w != u) made.biases.push_back(parameter_named(c_, u + "bias"));
    return made;
  }

  Signal affine(const char* name, Index blocks, const std::vector<Signal>& inputs, std::optional<Signal> state) {
    const std::array<const char*, 2> names = {"W1", "W2"};
    std::vector<Term> terms;
    for (std::size_t i = 0; i < inputs.size(); ++i) terms.push_back({names[i], inputs[i], Init::zero()});
    if (state) terms.push_back({"U", *state, Init::zero()});
    return c_.affine(name, blocks * stack_.hidden, terms, Init::zero(), stack_.bias);
  }

  void add_cell(Layer& made, const std::vector<Signal>& x) {
    const Signal h = c_.link(stack_.hidden);
    made.links = {h};
    switch (stack_.kind) {
      case RecurrentKind::rnn_tanh: made.states = {tanh(affine("z", 1, x, h))}; return;
      case RecurrentKind::rnn_relu: made.states = {relu(affine("z", 1, x, h))}; return;
      case RecurrentKind::lstm: {
        const Signal cell = c_.link(stack_.hidden);
        auto [i, f, g, o] = c_.split<4>(affine("z", 4, x, h));
        const Signal next = sigmoid(f) * cell + sigmoid(i) * tanh(g);
        made.links = {h, cell};
        made.states = {sigmoid(o) * tanh(next), next};
        return;
      }
      case RecurrentKind::gru: {
        auto [ur, uz, ug] = c_.split<3>(affine("u", 3, {}, h));
        auto [wr, wz, wg] = c_.split<3>(affine("w", 3, x, std::nullopt));
        const Signal g = tanh(wg + sigmoid(wr + ur) * ug);
        made.states = {g + sigmoid(wz + uz) * (h - g)};
        return;
      }
    }
  }

  Circuit& c_;
  const RecurrentStack& stack_;
};

}  // namespace

// ------------------------------------------------------------------------------------------------------- the passes

template <class T>
struct Recurrent<T>::Body {
  explicit Body(const RecurrentStack& given);

  void prepare(const RecurrentBatch& batch, int threads);
  void lay(const RecurrentBatch& batch);
  Structure structure_of(const RecurrentBatch& batch) const;
  void set_weights(const RecurrentTensors<T>& tensors, const RecurrentTensors<T>* gradients);
  void bind_values(const RecurrentTensors<T>& tensors, std::span<T> block);
  State<T> state_of(const T* h, const T* c, bool carried) const;
  void bind_ends(const RecurrentTensors<T>& values, const RecurrentTensors<T>* gradients,
                 const RecurrentTensors<T>* tangents);
  void read_state(const State<T>& state, T* h, T* c) const;
  template <class Row>
  void for_each_reversed_end(T* h, T* c, const Row& row) const;
  void seed(const RecurrentTensors<T>& gradients);
  void set_bias_gradients(const RecurrentTensors<T>& gradients) const;
  std::vector<T> direction_of(const RecurrentTensors<T>& tangents) const;

  Index directions() const { return stack.bidirectional ? 2 : 1; }
  std::size_t tensors_per_layer() const { return stack.bias ? 4 : 2; }
  Index gates() const { return circuit.parameters()[at(layers[0].recurrent_weights)].cols; }
  Index width_of(std::size_t layer) const {
    return layer < at(directions()) ? stack.input : directions() * stack.hidden;
  }
  Signal input() { return {&circuit, 0}; }
  /// Address of the state of a layer in a tensor [layers x sequences x hidden].
  template <class U>
  U* of_layer(U* tensor, std::size_t layer) const {
    return tensor == nullptr ? nullptr : tensor + static_cast<Index>(layer) * sequences * stack.hidden;
  }
  Matrix<T> state_rows(T* tensor, std::size_t layer) const {
    return {of_layer(tensor, layer), sequences, stack.hidden, stack.hidden};
  }
  Index offset_of(Signal state) const {
    const auto& carried = plan->carried();
    return std::ranges::find_if(carried, [&](const Plan::Carried& c) { return c.source == state.id; })->offset;
  }

  const RecurrentStack stack;
  Circuit circuit;
  std::vector<Layer> layers;
  std::shared_ptr<const Plan> plan;
  Parameters<T> parameters;
  std::vector<T> gradient;  // gradient of the biases; the other blocks are unused

  std::unique_ptr<Unfolding<T>> unfolding;
  int generation = -1;  // generation of the team
  std::vector<std::int64_t> batch_sizes;
  Index steps = 0, sequences = 0;
  std::optional<std::uint64_t> weights_sum;
};

namespace {

void check(const RecurrentStack& s) {
  if (s.input < 1 || s.hidden < 1 || s.layers < 1) throw UsageError("recurrent layer: sizes must be at least 1");
}

}  // namespace

template <class T>
Recurrent<T>::Body::Body(const RecurrentStack& given) : stack(given) {
  check(stack);
  layers = StackBuilder(circuit, stack).build();
  plan = std::make_shared<const Plan>(circuit, PlanOptions{.input_derivatives = stack.input_gradient});
  parameters = Parameters<T>(circuit);
}

template <class T>
Structure Recurrent<T>::Body::structure_of(const RecurrentBatch& batch) const {
  if (batch.batch_sizes.empty()) return Structure::chains(batch.sequences, batch.steps);
  std::vector<Index> lengths(at(batch.sequences), 0);
  for (const std::int64_t active : batch.batch_sizes)
    for (Index s = 0; s < active; ++s) ++lengths[at(s)];
  return Structure::chains(lengths);
}

/// The first forward pass of an unfolding creates it on the current team.
template <class T>
void Recurrent<T>::Body::prepare(const RecurrentBatch& batch, int threads) {
  Team& team = team_of(threads);
  if (unfolding == nullptr || generation != workers().generation) {
    unfolding = std::make_unique<Unfolding<T>>(plan, team);
    generation = workers().generation;
    weights_sum.reset();
    steps = sequences = 0;
  }
  lay(batch);
}

template <class T>
void Recurrent<T>::Body::lay(const RecurrentBatch& batch) {
  const bool known =
      steps == batch.steps && sequences == batch.sequences &&
      std::equal(batch_sizes.begin(), batch_sizes.end(), batch.batch_sizes.begin(), batch.batch_sizes.end());
  if (known) return;
  unfolding->lay(structure_of(batch));
  steps = batch.steps, sequences = batch.sequences;
  batch_sizes.assign(batch.batch_sizes.begin(), batch.batch_sizes.end());
}

/// Binds the weights, sums the biases, and marks both as changed if they were changed.
template <class T>
void Recurrent<T>::Body::set_weights(const RecurrentTensors<T>& tensors, const RecurrentTensors<T>* gradients) {
  WeightsChecksum<T> sum;
  const Index rows = gates(), hidden = stack.hidden;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const Layer& l = layers[k];
    const std::size_t first = k * tensors_per_layer();
    const Index width = width_of(k), block = width / static_cast<Index>(l.input_weights.size());
    const auto bind = [&](int parameter, std::size_t tensor, Index column, Index cols, Index stride) {
      T* const g = gradients == nullptr ? nullptr : gradients->weights[tensor] + column;
      unfolding->bind_weights(parameter, {tensors.weights[tensor] + column, rows, cols, stride},
                              g == nullptr ? Matrix<T>{} : Matrix<T>{g, rows, cols, stride});
    };
    for (std::size_t i = 0; i < l.input_weights.size(); ++i)
      bind(l.input_weights[i], first, static_cast<Index>(i) * block, block, width);
    bind(l.recurrent_weights, first + 1, 0, hidden, hidden);
    sum.add(tensors.weights[first], rows * width);
    sum.add(tensors.weights[first + 1], rows * hidden);
    for (std::size_t b = 2; b < tensors_per_layer(); ++b) sum.add(tensors.weights[first + b], rows);
  }
  const std::uint64_t now = sum.of(team_of(workers().team->size()));
  if (weights_sum == now) return;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto& biases = layers[k].biases;
    const std::size_t first = k * tensors_per_layer() + 2;
    for (std::size_t b = 0; b < biases.size(); ++b) {
      T* const to = parameters[biases[b]].data;
      const T *x = tensors.weights[first + b], *y = biases.size() == 1 ? tensors.weights[first + 1] : nullptr;
      for (Index j = 0; j < rows; ++j) to[j] = y != nullptr ? x[j] + y[j] : x[j];
    }
  }
  unfolding->set_parameters(parameters);
  weights_sum = now;
}

template <class T>
void Recurrent<T>::Body::bind_values(const RecurrentTensors<T>& tensors, std::span<T> block) {
  Unfolding<T>& u = *unfolding;
  u.keep_values_outside(!block.empty());
  const Index rows = u.structure().positions(), hidden = stack.hidden;
  bool bound = u.bind_value(input(), {tensors.x, rows, stack.input, stack.input});
  for (Index d = 0; d < directions(); ++d)
    bound &= u.bind_value(layers[layers.size() - at(directions() - d)].states[0],
                          {tensors.y + d * hidden, rows, hidden, directions() * hidden});
  if (!bound)
    throw std::logic_error("recurrent layer: an input or output cannot be bound, because it shares its memory");
  if (!block.empty()) u.bind_outside(block);
}

/// Returns the state of all sequences. `carried`: returns it even if it is zero, because its adjoint is needed.
template <class T>
State<T> Recurrent<T>::Body::state_of(const T* h, const T* c, bool carried) const {
  State<T> state(*plan, sequences);
  if (h == nullptr && c == nullptr && !carried) return state;
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < layers[k].states.size() && !layers[k].reversed; ++i) {
      const T* from = of_layer(i == 0 ? h : c, k);
      const Index offset = offset_of(layers[k].states[i]);
      for (Index s = 0; s < sequences && from != nullptr; ++s, from += stack.hidden)
        std::copy_n(from, stack.hidden, state.row(s) + offset);
    }
  for (Index s = 0; s < sequences; ++s) state.mark_carried(s);
  return state;
}

/// Binds the states of reversed layers, which lie beyond the last position.
template <class T>
void Recurrent<T>::Body::bind_ends(const RecurrentTensors<T>& values, const RecurrentTensors<T>* gradients,
                                   const RecurrentTensors<T>* tangents) {
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < layers[k].links.size() && layers[k].reversed; ++i) {
      const auto rows = [&](const RecurrentTensors<T>* of) {
        return of == nullptr ? Matrix<T>{} : state_rows(i == 0 ? of->h_0 : of->c_0, k);
      };
      unfolding->bind_end(layers[k].links[i], rows(&values), rows(gradients), rows(tangents));
    }
}

/// Copies the carried state to tensors [layers x sequences x hidden].
template <class T>
void Recurrent<T>::Body::read_state(const State<T>& state, T* h, T* c) const {
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < layers[k].states.size() && !layers[k].reversed; ++i) {
      T* to = of_layer(i == 0 ? h : c, k);
      const Index offset = offset_of(layers[k].states[i]);
      for (Index s = 0; s < sequences && to != nullptr; ++s, to += stack.hidden)
        std::copy_n(state.row(s) + offset, stack.hidden, to);
    }
}

/// Calls row(signal, row of the first position, its place in the tensor) for the states of all reversed layers.
template <class T>
template <class Row>
void Recurrent<T>::Body::for_each_reversed_end(T* h, T* c, const Row& row) const {
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < layers[k].states.size() && layers[k].reversed; ++i) {
      T* tensor = of_layer(i == 0 ? h : c, k);
      for (Index s = 0; s < sequences && tensor != nullptr; ++s, tensor += stack.hidden)
        row(layers[k].states[i], unfolding->structure().row(s, 0), tensor);
    }
}

/// Sets the seeds: the gradient of y, and of the states at the first position of reversed layers. The loop of a
/// reversed layer adds to the seed of its output, which is therefore copied.
template <class T>
void Recurrent<T>::Body::seed(const RecurrentTensors<T>& gradients) {
  Unfolding<T>& u = *unfolding;
  const Index rows = u.structure().positions(), hidden = stack.hidden, stride = directions() * hidden;
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < layers[k].states.size(); ++i) {
      const Signal state = layers[k].states[i];
      const bool is_output = i == 0 && k + at(directions()) >= layers.size();
      const Index d = static_cast<Index>(k) % directions();
      const Matrix<T> given = {gradients.y + d * hidden, is_output ? rows : 0, hidden, stride};
      if (!(is_output || layers[k].reversed) || (is_output && u.bind_adjoint(state, given))) continue;
      const Matrix<T> own = u.adjoint(state);
      for (Index r = 0; r < rows; ++r)
        is_output ? std::copy_n(given.row(r), hidden, own.row(r)) : std::fill_n(own.row(r), hidden, T{0});
    }
  for_each_reversed_end(gradients.h_n, gradients.c_n, [&](Signal state, Index row, const T* from) {
    T* const to = u.adjoint(state).row(row);
    for (Index j = 0; j < hidden; ++j) to[j] += from[j];
  });
}

template <class T>
void Recurrent<T>::Body::set_bias_gradients(const RecurrentTensors<T>& gradients) const {
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t b = 0; b + 2 < tensors_per_layer(); ++b) {
      const auto& biases = layers[k].biases;
      const Matrix<const T> from = parameters.view(gradient.data(), biases[std::min(b, biases.size() - 1)]);
      std::copy_n(from.data, gates(), gradients.weights[k * tensors_per_layer() + 2 + b]);
    }
}

/// Returns the direction of the parameters as the engine reads it, with input-major weights.
template <class T>
std::vector<T> Recurrent<T>::Body::direction_of(const RecurrentTensors<T>& tangents) const {
  std::vector<T> direction(at(parameters.size()), T{0});
  const auto transpose = [&](const T* from, Index stride, int parameter) {
    const Matrix<T> to = parameters.view(direction.data(), parameter);
    for (Index r = 0; r < to.rows && from != nullptr; ++r)
      for (Index c = 0; c < to.cols; ++c) to(r, c) = from[c * stride + r];
  };
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const Layer& l = layers[k];
    T* const* const mine = tangents.weights.data() + k * tensors_per_layer();
    const Index width = width_of(k), block = width / static_cast<Index>(l.input_weights.size());
    for (std::size_t i = 0; i < l.input_weights.size() && mine[0] != nullptr; ++i)
      transpose(mine[0] + static_cast<Index>(i) * block, width, l.input_weights[i]);
    transpose(mine[1], stack.hidden, l.recurrent_weights);
    for (std::size_t b = 0; b + 2 < tensors_per_layer() && !l.biases.empty(); ++b) {
      T* const to = parameters.view(direction.data(), l.biases[std::min(b, l.biases.size() - 1)]).data;
      for (Index j = 0; j < gates() && mine[2 + b] != nullptr; ++j) to[j] += mine[2 + b][j];
    }
  }
  return direction;
}

template <class T>
Recurrent<T>::Recurrent(const RecurrentStack& stack) : body_(std::make_unique<Body>(stack)) {}
template <class T>
Recurrent<T>::~Recurrent() = default;

template <class T>
typename Recurrent<T>::BlockSize Recurrent<T>::block_size() const {
  const Body& b = *body_;
  BlockSize size = {};
  const auto last = b.layers.end() - b.directions();
  for (int root = 0; root < static_cast<int>(b.plan->nodes().size()); ++root) {
    if (!b.plan->live(root) || b.plan->value_place(root).root != root) continue;
    const Index width = b.plan->nodes()[at(root)].size;
    const bool is_output = std::any_of(last, b.layers.end(), [&](const Layer& l) {
      return b.plan->value_place(b.plan->outside(l.states[0].id)).root == root;
    });
    const Index stride = is_output ? b.directions() * width : width;
    if (!is_output && b.plan->nodes()[at(root)].kind() != Node::Kind::input) size.position += width;
    size.sequence += b.plan->history(root) * stride;
    size.constant += 16;  // alignment
  }
  return size;
}

template <class T>
void Recurrent<T>::forward(const RecurrentBatch& batch, const RecurrentTensors<T>& tensors, std::span<T> block,
                           std::optional<std::uint64_t> seed, int threads) {
  const std::lock_guard lock(workers().mutex);
  Body& b = *body_;
  b.prepare(batch, threads);
  b.set_weights(tensors, nullptr);
  b.bind_values(tensors, block);
  b.bind_ends(tensors, nullptr, nullptr);
  seed ? b.unfolding->set_dropout_seed(*seed) : b.unfolding->disable_dropout();
  State<T> state = b.state_of(tensors.h_0, tensors.c_0, false);
  b.unfolding->forward(&state);
  b.read_state(state, tensors.h_n, tensors.c_n);
  b.for_each_reversed_end(tensors.h_n, tensors.c_n, [&](Signal signal, Index row, T* to) {
    std::copy_n(b.unfolding->value(signal).row(row), b.stack.hidden, to);
  });
}

template <class T>
void Recurrent<T>::backward(const RecurrentBatch& batch, const RecurrentTensors<T>& values, std::span<T> block,
                            const RecurrentTensors<T>& gradients, int threads) {
  const std::lock_guard lock(workers().mutex);
  Body& b = *body_;
  b.prepare(batch, threads);
  b.set_weights(values, &gradients);
  b.bind_values(values, block);
  b.bind_ends(values, &gradients, nullptr);
  State<T> start = b.state_of(nullptr, nullptr, gradients.h_0 != nullptr || gradients.c_0 != nullptr);
  b.unfolding->resume(&start);
  b.seed(gradients);
  if (gradients.x != nullptr &&
      !b.unfolding->bind_adjoint(b.input(),
                                 {gradients.x, b.unfolding->structure().positions(), b.stack.input, b.stack.input}))
    throw std::logic_error("recurrent layer: the gradient of the input cannot be bound, because it shares its memory");
  const State<T> end = b.state_of(gradients.h_n, gradients.c_n, true);
  b.gradient.resize(at(b.parameters.size()));
  b.unfolding->backward(b.gradient, {}, &end, &start);
  b.read_state(start, gradients.h_0, gradients.c_0);
  b.set_bias_gradients(gradients);
}

template <class T>
void Recurrent<T>::tangent(const RecurrentBatch& batch, const RecurrentTensors<T>& values, std::span<T> block,
                           const RecurrentTensors<T>& tangents, int threads) {
  const std::lock_guard lock(workers().mutex);
  Body& b = *body_;
  b.prepare(batch, threads);
  b.set_weights(values, nullptr);
  b.bind_values(values, block);
  b.bind_ends(values, nullptr, &tangents);
  State<T> state = b.state_of(tangents.h_0, tangents.c_0, true);
  b.unfolding->resume(&state);
  const Matrix<T> x = b.unfolding->input_tangent(b.input());
  for (Index r = 0; r < x.rows; ++r)
    tangents.x != nullptr ? std::copy_n(tangents.x + r * x.cols, x.cols, x.row(r))
                          : std::fill_n(x.row(r), x.cols, T{0});
  State<T> end(*b.plan, b.sequences);
  b.unfolding->tangent(b.direction_of(tangents), &state, &end);
  for (Index d = 0; d < b.directions(); ++d) {
    const Matrix<const T> moved = b.unfolding->tangent_of(b.layers[b.layers.size() - at(b.directions() - d)].states[0]);
    for (Index r = 0; r < moved.rows; ++r)
      std::copy_n(moved.row(r), moved.cols, tangents.y + (r * b.directions() + d) * moved.cols);
  }
  b.read_state(end, tangents.h_n, tangents.c_n);
  b.for_each_reversed_end(tangents.h_n, tangents.c_n, [&](Signal signal, Index row, T* to) {
    std::copy_n(b.unfolding->tangent_of(signal).row(row), b.stack.hidden, to);
  });
}

template class Recurrent<float>;
template class Recurrent<double>;

}  // namespace unfold::python
