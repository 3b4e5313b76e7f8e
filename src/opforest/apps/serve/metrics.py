"""Numbers for Prometheus."""

from collections import Counter


class RequestMetrics:
    """Counts requests and the time taken to answer them."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: Counter[str] = Counter()

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests[path, status] += 1
        self.seconds[path] += seconds  # type: ignore[assignment]

    def render(self, values: dict[str, tuple[str, str, float]]) -> str:
        """Return all counts and the values given, in the text format of Prometheus.

        Each value has its kind, its description and a number.
        """
        requests = {f'path="{path}",status="{status}"': count
                    for (path, status), count in sorted(self.requests.items())}  # fmt: skip
        seconds = {f'path="{path}"': total for path, total in sorted(self.seconds.items())}
        lines = _describe("requests_total", "counter", "Requests answered.")
        lines += [f"opforest_requests_total{{{tags}}} {n}" for tags, n in requests.items()]
        lines += _describe("request_seconds_total", "counter", "Time taken to answer requests.")
        lines += [f"opforest_request_seconds_total{{{tags}}} {total:.9g}"
                  for tags, total in seconds.items()]  # fmt: skip
        for name, (kind, text, value) in values.items():
            lines += [*_describe(name, kind, text), f"opforest_{name} {value:.9g}"]
        return "\n".join(lines) + "\n"


def _describe(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP opforest_{name} {text}", f"# TYPE opforest_{name} {kind}"]
