"""Hidden Markov models with the interface of hmmlearn: ``GaussianHMM``, ``GMMHMM``, ``CategoricalHMM``.

    p(s_1 = i) = startprob_[i],    p(s_t+1 = j | s_t = i) = transmat_[i, j],    p(x_t | s_t = j): the emissions

Models are fitted by expectation-maximization (Baum, Petrie, Soules & Weiss 1970). With the same initial parameters, the
fitted parameters, scores and paths are the same as those of hmmlearn. In addition:

- Observations may be missing (NaN).
- Transitions may be restricted (``allowed_transitions``).
- Parameters that are initialized at random are fitted from several random initializations (``n_init``), and the best
  fit is kept.
- Sequences may have weights (``sample_weight``).

Data is an array ``[positions, numbers]`` of concatenated sequences, whose lengths are in ``lengths``; by default, the
array is one sequence.
"""

from __future__ import annotations

from __future__ import annotations

from typing import Any

from ._categorical_hmm import CategoricalHMM
from ._chain import ConvergenceMonitor, logger
from ._gaussian_hmm import GaussianHMM
from ._gmm_hmm import GMMHMM
from ._observations import Floats  # for typing.get_type_hints

__all__ = ["CategoricalHMM", "ConvergenceMonitor", "GMMHMM", "GaussianHMM"]

#: Models of hmmlearn that this module does not have, and what to use instead.
_OTHER_MODELS = {
    "MultinomialHMM": "CategoricalHMM emits single symbols; for other counts, use GaussianHMM on their square roots",
    "PoissonHMM": "use GaussianHMM on the square roots of the counts",
    "VariationalCategoricalHMM": "use CategoricalHMM with transmat_prior, startprob_prior and emissionprob_prior",
    "VariationalGaussianHMM": "use GaussianHMM with transmat_prior, startprob_prior and covars_prior",
}


def __getattr__(name: str) -> Any:
    if name in _OTHER_MODELS:
        raise AttributeError(f"unfold.hmm has no {name}; {_OTHER_MODELS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
