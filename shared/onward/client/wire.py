"""One request, and the same request again when that is safe and may help.

Every call of the API may be repeated: reads by nature, submissions by their Idempotency-Key,
an upload because it only makes a place for bytes.
"""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from onward.client.errors import ClientError, OnwardProblem, ServiceUnreachable, Unsendable
from onward.client.sending import encoded
from onward.documents.runs import ProblemFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What the gateway itself answers when it is throttled or its function is not there for a moment.
_PASSING = frozenset({429, 502, 503, 504})
# A 500 in the gateway's own words is the same: it could not invoke the function, or lost it. One
# of ours is a problem document with a code, and says itself whether to try again.
_NOT_OURS = "http_500"
# The request may have arrived. A refused connection is not among them: nothing runs there.
_LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadTimeout)
_NO_ANSWER = 10.0
_SLOWEST_PAUSE = 5.0
T = TypeVar("T")
_LOOPBACK = re.compile(r"https?://(localhost|127\.|\[::1\])")


@dataclass
class BackOff:
    """Pauses that double up to 5 s, with full jitter; the clock and dice can be replaced."""

    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = field(default=random.random)

    def tries(self, seconds: float) -> Iterator[None]:
        """Yield at once, then after a pause each, until `seconds` have passed in failure."""
        for wait in self.pauses(seconds):
            if wait:
                self.sleep(wait)
            yield

    def pauses(self, seconds: float) -> Iterator[float]:
        """Yield what to wait before each try, in seconds; none before the first.

        They end `seconds` after the first try came to nothing, for it may have been held longer.
        """
        yield 0.0
        end, pause = self.clock() + seconds, 0.2
        while True:
            wait = pause * self.jitter()
            if self.clock() + wait > end:
                return
            yield wait
            pause = min(pause * 2, _SLOWEST_PAUSE)


class Wire:
    """A connection to one API with one key."""

    def __init__(
        self,
        api_url: str,
        api_key: str,
        transport: httpx.BaseTransport | None,
        back_off: BackOff,
    ) -> None:
        """Open no connection yet; `transport` replaces the network in tests."""
        self.back_off = back_off
        self._url = api_url.rstrip("/")
        self._http = httpx.Client(
            transport=transport,
            timeout=httpx.Timeout(_NO_ANSWER, connect=5.0),
            # The environment's proxy and certificates are for what is not on this machine.
            trust_env=not on_this_machine(self._url),
        )
        self._headers = {"Authorization": f"Bearer {api_key}"}

    def close(self) -> None:
        """Give the sockets back."""
        self._http.close()

    def once(
        self, method: str, path: str, *, patience: float = 0.0, **request: Any
    ) -> httpx.Response:
        """Make one request; the answer is a success or a redirect.

        `patience` is how long, in seconds, the service may hold the request before it answers.

        Raises:
            Unsendable: the request cannot be sent as it is.
            OnwardProblem: it answered with an error.
            ServiceUnreachable: it did not answer.
        """
        request = encoded(request)
        headers = self._headers | request.pop("headers", {})
        timeout = httpx.Timeout(_NO_ANSWER + patience, connect=5.0)
        try:
            answer = self._http.request(
                method, self._url + path, headers=headers, timeout=timeout, **request
            )
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise ServiceUnreachable(f"no answer from {self._url} ({reason(error)})") from error
        except ValueError as error:  # a path or a header that is no ASCII
            raise Unsendable(f"the request cannot be sent: {reason(error)}") from error
        if answer.is_error:
            raise problem_of(answer)
        return answer

    def ask(
        self, method: str, path: str, *, within: float = 5.0, absent: bool = False, **request: Any
    ) -> Any:
        """Make a request, again while that may help, and return its JSON.

        `within` is how many seconds in a row it may fail. `absent` also outlasts a service that
        is not there at all, as while it restarts.

        Raises:
            OnwardProblem: the last answer was an error.
            ServiceUnreachable: the last try had no answer, or it was not Onward that answered.
        """
        return self._again(lambda: self.ask_once(method, path, **request), within, absent=absent)

    def ask_once(self, method: str, path: str, **request: Any) -> Any:
        """Make one request and return its JSON; raises as `ask` does."""
        return read_json(self.once(method, path, **request))

    def location(self, path: str) -> str:
        """Return where a redirect leads; it is not followed, for it needs no key of ours."""

        def found() -> str:
            answer = self.once("GET", path)
            if "Location" not in answer.headers:
                raise another_server(answer)
            return answer.headers["Location"]

        return self._again(found)

    def send_bytes(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        """PUT to a presigned address, which carries its own authorisation."""
        self._again(lambda: self._store("PUT", url, content=body, headers=headers))

    def fetch_bytes(self, url: str) -> bytes:
        """GET from a presigned address."""
        return self._again(lambda: self._store("GET", url)).content

    def _again(self, call: Callable[[], T], within: float = 5.0, *, absent: bool = False) -> T:
        failure: ClientError | None = None
        for _ in self.back_off.tries(within):
            try:
                return call()
            except ClientError as error:
                if not may_help(error, absent=absent):
                    raise
                failure = error
        raise failure or ServiceUnreachable("not asked: no time was given")

    def _store(self, method: str, url: str, **request: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, url, timeout=60.0, **request)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise ServiceUnreachable(f"no answer from the store ({reason(error)})") from error
        if answer.is_error:
            raise OnwardProblem(
                "store_refused",
                answer.status_code,
                f"the store answered {answer.status_code}",
                retryable=answer.is_server_error,
            )
        return answer


def problem_of(answer: httpx.Response) -> OnwardProblem:
    """Read a problem document, or make one of what a gateway answered in its own words."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    return OnwardProblem(
        code=str(document.get("code", f"http_{answer.status_code}")),
        status=answer.status_code,
        detail=str(
            document.get("detail")
            or document.get("title")
            or document.get("message")
            or answer.reason_phrase
        ),
        errors=_faults(document.get("errors")),
        retryable=bool(document.get("retryable", False)),
        as_of_seq=_position(document.get("as_of_seq")),
    )


def _position(seq: Any) -> int | None:
    """Return the position of a log that an answer names, if it names one."""
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and seq >= 0 else None


def _faults(errors: Any) -> list[ProblemFault]:
    """Return the faults that are ones; a gateway may mean something else by `errors`."""
    return [
        ProblemFault(pointer=str(each["pointer"]), message=str(each["message"]))
        for each in (errors if isinstance(errors, list) else [])
        if isinstance(each, dict) and {"pointer", "message"} <= {*each}
    ]


def on_this_machine(url: str) -> bool:
    """Whether an address is one of the loopback's."""
    return _LOOPBACK.match(url) is not None


def may_help(error: ClientError, *, absent: bool) -> bool:
    """Whether the same request may be answered otherwise in a moment.

    The request may have arrived and only its answer be missing; `absent` also counts on a service
    that is not there at all.
    """
    if isinstance(error, Unsendable):
        return False
    if isinstance(error, OnwardProblem):
        return error.retryable or error.status in _PASSING or error.code == _NOT_OURS
    return absent or isinstance(error.__cause__, _LOST)


def read_json(answer: httpx.Response) -> Any:
    """Return an answer's JSON; raises ServiceUnreachable where that is no Onward."""
    try:
        return answer.json()
    except ValueError as error:
        raise another_server(answer) from error


def another_server(answer: httpx.Response) -> ServiceUnreachable:
    """Return the error that says who has answered in the service's place."""
    return ServiceUnreachable(f"{answer.request.url.host} answers, but not as Onward")


def reason(error: Exception) -> str:
    """Return what an error says, or its name where it says nothing."""
    return str(error) or type(error).__name__
