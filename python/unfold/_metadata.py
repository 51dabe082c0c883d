"""Metadata routing of scikit-learn: how sample weights reach an estimator through pipelines and cross-validation."""

from __future__ import annotations

import copy
import inspect
from typing import Any, TypeVar, Union

from .errors import UsageError

Request = Union[bool, str, None]
R = TypeVar("R", bound="MetadataRouting")

#: The methods with metadata, and the arguments that are data.
_METHODS = ("fit", "partial_fit", "score")
_DATA = ("self", "X", "y")


class MetadataRouting:
    """The protocol of scikit-learn's metadata routing, which does not require scikit-learn.

    The metadata of a method are its arguments other than the data, such as ``sample_weight``. For each of them, a
    request is True (pass it), False (do not pass it), the name under which the caller passes it, or None (an error if
    the caller passes it).
    """

    _metadata_request: Any

    @classmethod
    def _metadata_of(cls, method: str) -> list[str]:
        """Return the names of the metadata of a method; empty if the method does not exist."""
        function = getattr(cls, method, None)
        parameters = inspect.signature(function).parameters.values() if function is not None else ()
        return [p.name for p in parameters if p.name not in _DATA and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]

    @classmethod
    def _get_default_requests(cls) -> Any:
        """Return the requests of a new estimator. scikit-learn calls this method for its scorers."""
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = MetadataRequest(owner=cls.__name__)
        for method in _METHODS:
            for name in cls._metadata_of(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    def get_metadata_routing(self) -> Any:
        """Return the requests as a ``sklearn.utils.metadata_routing.MetadataRequest``."""
        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        return self._get_default_requests()

    def set_fit_request(self: R, **requests: Request) -> R:
        """Set which metadata are passed to ``fit``, for example ``set_fit_request(sample_weight=True)``."""
        return self._request("fit", requests)

    def set_partial_fit_request(self: R, **requests: Request) -> R:
        """Set which metadata are passed to ``partial_fit``."""
        return self._request("partial_fit", requests)

    def set_score_request(self: R, **requests: Request) -> R:
        """Set which metadata are passed to ``score``."""
        return self._request("score", requests)

    def _request(self: R, method: str, requests: dict[str, Request]) -> R:
        known = self._metadata_of(method)
        for name in requests:
            if name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no metadata"
                raise UsageError(f"set_{method}_request: {type(self).__name__}.{method} {takes}, not {name}")
        from sklearn import get_config

        if not get_config().get("enable_metadata_routing", False):
            raise RuntimeError(f"set_{method}_request requires metadata routing; enable it with "
                               "sklearn.set_config(enable_metadata_routing=True)")
        updated = self.get_metadata_routing()
        for name, request in requests.items():
            getattr(updated, method).add_request(param=name, alias=request)
        self._metadata_request = updated
        return self
