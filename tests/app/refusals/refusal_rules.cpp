#include "tests/app/refusals/refusal_rules.h"

namespace unfold::refusals {

const std::vector<Rule>& refusal_rules() {
  static const std::vector<Rule> rules = {
      // Optimizers
      {"Path norms need homogeneous units",
       "--optimizer path.* needs ReLU units|path pass: .* is not positively homogeneous.*; use",
       "--optimizer path needs ReLU units; lstm uses tanh, sigmoid; try --model rnn:…,activation=relu,init=identity, "
       "or --optimizer adam",
       "A path norm sums squared products of weights over paths. It is invariant to the scale of a unit only if s(c x) "
       "= c s(x) for c > 0. tanh, sigmoid and softplus are not homogeneous, so gated cells and summaries with tanh "
       "have "
       "no path norm, and the product of two states is homogeneous of degree two.",
       "Use ReLU or linear units (`rnn`, `indrnn`, `mrnn`, `clockwork`, `tdnn`, `bag`, `recursive`, `grid-rnn` with "
       "`activation=relu`; with a source also `summary=relu`), or another optimizer."},
      {"Path norms need weights on paths",
       "path pass: the parameters .* are not weights on paths; use|path does not support losses with parameters.*use",
       "path pass: the parameters layer1/z/U of a unitary map are not weights on paths; use sgd or adam",
       "Phases, gains, learned leaks, attention, quadratic forms and the parameters of a loss do not multiply a unit "
       "on "
       "a path from an input to an output, so a sum over paths does not contain them.",
       "Use another optimizer, or a loss without parameters."},
      {"The second term of the path metric", "path pass: the second term of the metric supports only .*; use",
       "path pass: the second term of the metric supports only dense matrices, and layer1/V is sparse; use only the "
       "first term (kappa=1)",
       "The second term counts paths that use a weight twice. The sum over pairs of uses is computed "
       "from powers of a recurrent matrix along one sequence, so each recurrent connection must be a dense matrix that "
       "reads earlier positions, without factors that depend on the position or the input.",
       "Use `kappa=1`."},
      {"Squared Jacobians need entries", "rbpm squares the Jacobian entry by entry.*; use",
       "rbpm squares the Jacobian entry by entry, but the Jacobian of the unitary map layer1/z/U is not made of "
       "entries (docs/riemannian.md); use ruop, sgd or adam",
       "The modulus of the backpropagated metric sums squared derivatives over edges between units. A unitary or "
       "complex map, a quadratic form and attention change all units at once, and the entries of their Jacobians "
       "depend on how the units are parameterized. The leak h + a (s - h) has two paths from h, whose squares sum to 1 "
       "+ a^2, not to the square of the derivative, (1 - a)^2.",
       "`ruop` supports these maps."},
      {"The backpropagated metric needs a curvature of the loss",
       "rbpm: the loss .* has no curvature.*; use|draws requires a curvature, which .*leave draws out",
       "rbpm: the loss ctc has no curvature, from which the backpropagated metric starts; use ruop, sgd or adam",
       "The metric starts from the Fisher matrix of the loss at its signal, and `draws` draws errors with this "
       "covariance. For labels without an alignment, hidden states and segments, this matrix is a sum over pairs of "
       "paths that is not computed.",
       "`ruop` without `draws` uses the gradient of the loss."},
      {"Curvature of the loss", "the optimizer requires a curvature, which the loss .*; use",
       "hf or natural: the optimizer requires a curvature, which the loss ctc does not support; use --optimizer adam "
       "or lbfgs",
       "Products with the Gauss-Newton matrix need the Hessian of the loss or its Fisher matrix (see the rule above).",
       "Use a first-order optimizer, `lbfgs` or `ruop`."},
      {"Parameters that symbols select from a list",
       "the parameters .* are selected by the symbols that a position reads; use",
       "Riemannian training: the parameters output/features of a listed map are selected by the symbols that a "
       "position reads; use sgd or adam",
       "Features of columns have one weight for each string and label. Their outer product metric would have the "
       "square of this number of entries, of which almost all are 0.",
       "The loss is convex in these weights: `lbfgs` finds the minimum."},
      {"The full matrix of output weights", "writing=full (requires an output|needs a matrix) .*leave writing=? out",
       "Riemannian training: writing=full requires an output that is an affine map of units, with a loss of single "
       "positions, which the head of tag is not; leave writing= out",
       "The matrix is a sum over positions of the Fisher matrix of the loss, times the products of the activations "
       "that "
       "the output weights read. Losses of whole sequences have no Fisher matrix by position, and parameters of a loss "
       "are not weights of units.",
       "Leave it out: the parameters of such losses have the outer product metric over whole observations."},
      {"Sequences that the model generates", "own= samples .*; leave it out",
       "Riemannian training: own= samples one position after another, but layer1/backward/link2 reads along next(1); "
       "leave it out",
       "The metric of whole sequences is a mean over sequences that are sampled from the model, one position after "
       "another. Networks that read later positions, sources, trees or grids have no such order. Labels that are "
       "predicted jointly, and vectors whose numbers are predicted one after another, are not sampled from the signal "
       "of one position alone.",
       "Leave `own` out; `draws` samples errors instead."},
      {"Trees that are found", "--trees found|with --trees found",
       "ruop compares losses and cannot be used with --trees found, which draws random trees; train with sgd, asgd, "
       "rmsprop or adam",
       "The trees are drawn at random at every step, and their scores learn from rewards. Two losses of the same batch "
       "are therefore not comparable, and the gradient is not that of the loss alone.",
       "Use a first-order optimizer without further objectives, or fixed trees (`--trees balanced`)."},
      // Gradients and passes
      {"Forward-mode gradients need a chain of earlier positions",
       "--gradient .* (runs along|belongs to a separate chain).*; train it with --gradient bptt",
       "--gradient rtrl: layer1/backward/link2 runs along next(1), not to earlier positions; train it with --gradient "
       "bptt",
       "The influence of a parameter on the state is computed by a recursion from one position to the next. Later "
       "positions, trees, "
       "grids and sources have no such order.",
       "Use backpropagation."},
      {"Losses of whole sequences",
       "requires independent rows, but the loss .* depends on whole sequences; (leave it out|train with)",
       "a memory limit requires independent rows, but the loss crf depends on whole sequences; leave it out, and read "
       "whole sequences (--whole-sequences)",
       "The loss of a conditional random field, of hidden states or of labels without an alignment is one number for a "
       "whole sequence. It is not a sum of terms of its segments or positions.",
       "Leave the option out; sequences are then read as a whole."},
      {"Networks that read later positions",
       "divides sequences into pieces, which networks that read later positions.*disable it|reads? (whole "
       "sequences|rows, or sequences), .*leave out --window|(is|are) read as a whole[:;] leave out --window",
       "a memory limit divides sequences into pieces, which networks that read later positions or the ends of a "
       "sequence do not support; disable it",
       "A piece of a sequence can be computed from the state before it only if no position reads a later one.",
       "Leave the option out, or use a unidirectional network."},
      {"Several passes over stored data",
       "needs several passes over the data, which --gradient .* does not store; train with|needs the stored window, "
       "which --gradient .* does not keep; train with",
       "lbfgs needs several passes over the data, which --gradient rtrl does not store; train with sgd, rmsprop or "
       "adam, or with --gradient bptt",
       "Forward-mode gradients read every position once. Line searches, curvature products and comparisons of losses "
       "need to read the same positions again.",
       "Use `sgd`, `rmsprop` or `adam`, or backpropagation."},
      {"Options that cannot be combined",
       "^(?!--trees found).*cannot be combined with .*(leave one of them out|use only one of them)",
       "--precision double cannot be combined with --activations bf16; leave one of them out",
       "Both options replace the same part of a step, or one of them needs exact values that the other rounds, drops "
       "or samples.",
       "Use only one of them."},
      {"Options of a step with curvature or a metric",
       "does not support dropped or tied weights; train with|stores the activations of its batches .*; train without a "
       "memory limit|computes curvature, for which bfloat16 is not precise enough; train in float|uses losses and "
       "curvature of the network, which --objective .*; train with|does not support networks that read their own "
       "outputs; train with|needs exact losses; .*; leave",
       "hf does not support dropped or tied weights; train with sgd, asgd, rmsprop or adam, or remove wdrop, dropoute "
       "and tied from the model",
       "`hf`, `natural`, `path`, `ruop`, `rbpm` and `lbfgs` compare losses or multiply by a matrix of one function of "
       "the parameters. Dropped weights, sampled outputs and rounded products change this function from pass to pass, "
       "searches and own outputs replace the loss, and recomputed activations would be computed again in every "
       "product.",
       "Use a first-order optimizer, or leave the option out.", true},
      // Losses
      {"Label smoothing needs symbols", "label smoothing requires a loss over symbols, but .*; disable label smoothing",
       "label smoothing requires a loss over symbols, but load has the loss gaussian; disable label smoothing",
       "The smoothed target is a mixture of the true symbol and the uniform distribution, which exists only for a "
       "finite set of symbols with independent positions.",
       "Leave it out; `normal` and `mixture` learn a spread of numbers."},
      {"Sampled softmax of small vocabularies", "a sampled softmax over .* saves no time, .*; use",
       "a sampled softmax over … of … symbols saves no time, because … of them may be predicted in one window; use the "
       "full softmax, or a smaller window or batch",
       "The sampled softmax computes only the symbols of a window and some others. It is faster only if it computes "
       "fewer symbols than the vocabulary has.",
       "Use the full softmax."},
      {"Flow penalty", "flow penalty: .*; leave --flow-penalty out",
       "flow penalty: layer1/mul3: the layer also carries layer1/add2; it supports only rnn and mrnn without delays "
       "and leak; leave --flow-penalty out",
       "The penalty of Pascanu, Mikolov and Bengio compares the norm of a gradient before and after one recurrent "
       "matrix. Gates, leaks, several delays and unitary maps carry the gradient along more than one way.",
       "Gated cells and unitary maps preserve the gradient by construction; leave the option out."},
      {"Objectives other than the likelihood",
       "--objective .* requires jointly predicted labels, .*; use|--objective .* searches for sequences with their "
       "ends.*; train|does not support --constraint, .*; (leave|use)|require states=1 and a label at every position; "
       "use|finding targets requires logits of symbols, .*; leave",
       "--objective margin requires jointly predicted labels, or sequences whose end is predicted; use --predict F=crf "
       "for the field F, or train on pairs or with --ends",
       "Margin, perceptron and risk compare the true sequence of symbols with others that a search finds. The model "
       "must score sequences of symbols together with their ends.",
       "Use `crf`, pairs, or `--ends symbol`."},
      {"Own outputs as inputs",
       "scheduled sampling (needs|requires) .*; (leave out|remove) --teacher-forcing|feedback requires (the mean|a "
       "network) .*(use|leave)|feedback: the weights .*; use|feedback always: .*(use|leave)|outputs are read at later "
       "positions.*leave",
       "scheduled sampling needs a network that reads its predictions as \"previous F\"; leave out --teacher-forcing",
       "The output of a position replaces the input of the next one. The network must read what it predicts, and "
       "feedback with gradients needs an expected output that is a differentiable function of the signal of one "
       "position. For labels that are predicted jointly it depends on all positions, and for NADE and related "
       "densities "
       "it is a sum over all vectors.",
       "`--feedback` supports `softmax`, `gaussian`, `normal`, `student-t`, `mixture`, `bernoulli`, `poisson` and "
       "`negative-binomial`; `--teacher-forcing` reads samples instead."},
      {"Prefixes of sequences",
       "read as a whole; leave out --curriculum|shorter prefixes do not contain; leave out --curriculum",
       "class is predicted once per sequence, at its end, which shorter prefixes do not contain; leave out "
       "--curriculum",
       "A curriculum of lengths reads prefixes of sequences. A prefix of a tree, a grid or a sentence of a pair is not "
       "an example, and a label for a whole sequence is not a label of its prefixes.",
       "Leave the option out."},
      {"Selection by labels", "(select the best model|select it) by|--best-by .* has no effect with",
       "the best model cannot be selected by labels or sequences, because no predicted field has labels; select it by "
       "nats",
       "An error rate counts wrong labels. Numbers and vectors have no labels, and labels without an alignment have no "
       "positions.",
       "Use the default, the loss."},
      {"Restarts and curricula of tasks",
       "--restarts has no effect with --task|its examples have a fixed length, so it does not support a curriculum; "
       "leave",
       "--restarts has no effect with --task adding:6: only one network is trained; leave it out",
       "Examples of a task are generated without limit, so there is no training set on which restarts could be "
       "compared. Series such as NARMA have one length.",
       "Train with several `--seed`, or with `unfold sweep`."},
      // Models
      {"Options for another kind of data",
       "^--[a-z-]+ applies to .*: omit --[a-z-]+$|looks like running text, which has no fields; specify",
       "--restarts applies to text and tasks; this data has fields: omit --restarts",
       "The option acts on something that this data does not have: fields, symbols of a text, or generated examples.",
       "Leave it out; the message names the data that it applies to."},
      {"Options of another cell", "has no option \".*\"(; did you mean \".*\"\\?)? \\(|: invalid option .*; [a-z-]+: ",
       "lstm has no option \"leak\" (options: forget-bias, chrono, …)",
       "An option of a cell is a part of its equation. The gates of `lstm` and `gru` are leaks that are computed at "
       "every step; the activation of a gate cannot be chosen; norms, time scales and delays exist only where the "
       "equation has the products that they act on. Densities of vectors have no layers and no time.",
       "The message lists the options of the cell, or the values of the option."},
      {"One prediction, or one for every position",
       "pool= applies to one prediction per sequence, .*leave it out|direct= applies to predictions at every position, "
       ".*leave it out|gaussians= requires one label per sequence, .*leave it out|trees do not support pool=, .*leave "
       "it "
       "out",
       "model rnn:3,pool=last: pool= applies to one prediction per sequence, but every position is predicted; leave it "
       "out",
       "A pool combines all positions of a sequence into one value. A direct connection gives one value for every "
       "position. The root of a tree already represents the whole tree.",
       "Leave the option out."},
      {"Options of sources and embeddings",
       "(condition|attention|summary)= requires a source .*leave it out|dropouti=? applies to numbers, .*add "
       "embedding|dropoute=? "
       "applies to an embedding, .*add|tied weights require .*(set embedding|leave out tied)|direct= is not supported "
       "with .*leave it out|with a source and a target, dropout also applies .*leave out|requires embeddings with the "
       "width of the bag; leave",
       "model lstm:3: condition= requires a source (--format pairs); leave it out",
       "The option acts on a source, on an embedding, or on an output that has the size of the embedding; this network "
       "has none of these.",
       "Add `embedding=`, or leave the option out."},
      {"Options of layers",
       "residual=? requires a layer whose .*use|dropouth=? applies between layers, .*use|wdrop= applies to recurrent "
       "matrices, .*leave|have different sizes; leave out residual|the linear model has no layers; it supports only|a "
       "sum of probabilities is not a probability; leave",
       "model rnn:3: residual requires a layer whose input and output have the same size; use more layers, or "
       "embedding=3",
       "x + f(x) needs equal sizes; dropout between layers needs two of them; dropped recurrent weights need a "
       "recurrent matrix.",
       "Use more layers, or `dropout`."},
      {"States and outputs of special cells",
       "has no initial state; leave out|always has a trained initial state; leave out|do not support trained-initial=; "
       "leave|supports only one layer of symbols; leave|outputs probabilities; leave out|reads only symbols, not "
       "vectors .*use|does not support gates=hard, "
       ".*use",
       "model tdnn:3: a time-delay network has no initial state; leave out trained-initial",
       "A network without recurrence has no state, and there is no state before the leaves of a tree or beyond the "
       "border of a grid. The outputs of `linear-gnn` are probabilities, which dropout and direct connections would "
       "not preserve.",
       "Leave the option out."},
  };
  return rules;
}

}  // namespace unfold::refusals
