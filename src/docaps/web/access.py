"""Access rules: for which host names the service answers, to which pages, and to whom (bearer token)."""

import hmac
import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import Headers

from docaps.errors import DocapsError
from docaps.web.dialects import OPEN, ApiDialect, dialect_of
from docaps.web.http_errors import HttpError

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
ANY_ORIGIN = "*"
AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]*)(?::(?P<port>[0-9]*))?", re.IGNORECASE)
"""A Host header: a name, an IPv4 address or an IPv6 address in brackets, then perhaps a port."""
ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#@\s]+)", re.IGNORECASE)
DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Access:
    """The bearer token, if any, the host names to answer for (None: all), and other pages that may call the API."""

    token: str | None = None
    hosts: Collection[str] | None = None
    origins: Collection[str] = ()

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Refuse a request with a bad Host (400, 421), of a foreign page (403) or without the token (401)."""
        dialect = dialect_of(path)
        self._check_host(headers.getlist("host"))
        self._check_page(headers, protected=dialect is not OPEN)
        given = headers.get("authorization")
        # Browsers send CORS preflight requests without the token. A key in the body is checked when that is read.
        later = method == "OPTIONS" or dialect is OPEN or (dialect.key_in_body and given is None)
        if not later and not self._has_token(given or "", dialect):
            needed = "the key is missing or wrong" if dialect.forms else "a bearer token is needed"
            raise HttpError(401, needed, headers={"WWW-Authenticate": "Bearer"})

    def check_key(self, headers: Headers, key: object) -> None:
        """Refuse a request with neither a header nor a field with the token; a header was checked before."""
        if "authorization" not in headers and not self._is_token(key if isinstance(key, str) else ""):
            raise HttpError(401, "the key is missing or wrong: send the token of this service as api_key")

    def _check_host(self, given: list[str]) -> None:
        """Refuse a host that is not this service's.

        DNS rebinding: a page of another site can reach a local server under its own name, but cannot set this header.
        """
        found = AUTHORITY.fullmatch("".join(given))
        if found is None or len(given) > 1:
            raise HttpError(400, "the Host header must be one host name with or without a port")
        if self.hosts is not None and found["name"].lower() not in self.hosts:
            raise HttpError(421, "this service does not answer for that host")

    def _check_page(self, headers: Headers, protected: bool) -> None:
        """Refuse a request that a page of a foreign origin sends: browsers send some of them without asking first."""
        origin = headers.get("origin")
        if origin is not None:
            foreign = not self._allows(origin) and not _is_own(origin, headers.get("host", ""))
        else:  # a link to the page itself is no attack
            foreign = protected and headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign:
            raise HttpError(403, "pages of other origins may not call this service: start it with --origin to allow it")

    def _allows(self, origin: str) -> bool:
        return ANY_ORIGIN in self.origins or origin in self.origins

    def _has_token(self, authorization: str, dialect: ApiDialect) -> bool:
        scheme, _, token = authorization.partition(" ")
        return self._is_token(token.strip()) and (self.token is None or scheme.lower() in dialect.schemes)

    def _is_token(self, given: str) -> bool:
        # In constant time, so that the time does not reveal how much of a guess was right.
        encoded = given.encode("utf-8", errors="surrogatepass")
        return self.token is None or hmac.compare_digest(encoded, self.token.encode("utf-8"))


def _is_own(origin: str, host: str) -> bool:
    """Return whether a page is of this service: its host is the one that the request is for.

    Behind a proxy the service cannot know whether the page came by TLS: either scheme will do.
    """
    found = ORIGIN.fullmatch(origin)
    if found is None:  # such as `null`, the origin of a sandboxed page
        return False
    scheme = found["scheme"].lower()
    return _without_port(found["authority"], scheme) == _without_port(host, scheme)


def _without_port(authority: str, scheme: str) -> str:
    """Return a host and port in lower case, without the scheme's default port."""
    return authority.lower().removesuffix(f":{DEFAULT_PORTS[scheme]}")


def check_origin(given: str) -> str:
    """Return an origin as browsers send it; refuse what no browser would send."""
    found = ORIGIN.fullmatch(given.rstrip("/"))
    if given == ANY_ORIGIN:
        return given
    if found is None or AUTHORITY.fullmatch(found["authority"]) is None:
        raise DocapsError(f"--origin must be like https://example.org, or {ANY_ORIGIN} for all pages: found {given!r}")
    scheme = found["scheme"].lower()
    return f"{scheme}://{_without_port(found['authority'], scheme)}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def local_hosts(host: str, origins: Collection[str] = ()) -> Collection[str] | None:
    """Return the host names of a service that only this machine can reach; None for a public address.

    Those of allowed origins are among them: a proxy passes on its own name, and its pages may call the service anyway.
    """
    own = f"[{host}]" if ":" in host else host.lower()
    found = [ORIGIN.fullmatch(origin) for origin in origins]
    names = [AUTHORITY.fullmatch(one["authority"]) for one in found if one]
    return LOCAL_HOSTS | {own, *(one["name"].lower() for one in names if one)} if is_loopback(host) else None
