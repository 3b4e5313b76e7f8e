"""The service: what is asked by HTTP, and who answers it."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from opforest._utils.version import __version__
from opforest.apps.serve import openapi
from opforest.apps.serve.events import EventBroker, RequestMetrics
from opforest.apps.serve.guard import HEADERS, SecurityMiddleware, Tokens
from opforest.apps.serve.limits import Limits
from opforest.apps.serve.play import Play, describe_path
from opforest.apps.serve.problems import ProblemError, as_problem
from opforest.apps.serve.requests import MANY_CELLS, aside, read_body, read_table, take
from opforest.apps.serve.view import Plane, draw_forest, find_plane
from opforest.learner import Change, Learner
from opforest.learner.validation import label_array

STATIC = Path(__file__).parent / "static"

#: Rows times examples times features up to which predicting needs no thread of its own: by a scan
#: that is a millisecond or two, in which nobody else is answered.
QUICK = 2_000_000

#: Planes that pages which are open now were given.
PLANES = 64

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Service:
    """A learner on the network: questions are answered at once, changes wait in one queue."""

    def __init__(self, learner: Learner, limits: Limits, play: Play | None) -> None:
        self.learner, self.limits, self.play = learner, limits, play
        self.hub, self.meter = EventBroker(limits.listeners), RequestMetrics()
        self.waiting = 0
        self._writer = ThreadPoolExecutor(1, "opforest-writer")
        self._planes: dict[int, Plane] = {}
        self._numbers, self._numbering = itertools.count(1), threading.Lock()

    async def change(self, do: Callable[[], Any]) -> Any:
        """Do something in the one thread that writes, after all changes before it."""
        if self.waiting >= self.limits.waiting:
            raise ProblemError(503, f"{self.waiting} changes are waiting. Send it again later.")
        self.waiting += 1
        try:
            # If the client leaves, what it has asked for is done all the same.
            loop = asyncio.get_running_loop()
            return await asyncio.shield(loop.run_in_executor(self._writer, do))
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Finish what is waiting, and close the store."""
        self._writer.shutdown(wait=True)
        self.learner.close()

    async def _rows(self, rows: list[Any]) -> list[list[Any]]:
        known = self.learner.settings
        is_prepared = known.preparation is not None
        cells = sum(len(row) for row in rows if isinstance(row, list | dict))
        table: list[list[Any]] = await aside(
            cells, MANY_CELLS, read_table,
            rows, known.feature_names, known.n_features, self.limits.rows, is_prepared,
        )  # fmt: skip
        return table

    def _told(self, kind: str, change: Change) -> dict[str, Any]:
        """Tell listeners of a change, and return the answer to the client who made it."""
        answer = {
            "learned": change.learned,
            "unchanged": change.unchanged,
            "replaced": change.replaced,
            "forgotten": change.forgotten,
            "labeled": change.labeled,
            "examples": len(self.learner),
        }
        report = {name: value for name, value in vars(change.report).items() if value}
        if change.forgotten:
            self.hub.forget(change.keys)
        if change.learned or change.replaced or change.forgotten or change.labeled:
            shown = [] if change.forgotten else list(change.keys[:3])
            self.hub.publish(kind, {**answer, "keys": shown, "report": report,
                                    "micros": round(1e6 * change.seconds)})  # fmt: skip
        return {**answer, "keys": list(change.keys), "report": report}

    # Changes.

    async def learn(self, body: dict[str, Any]) -> dict[str, Any]:
        """Learn examples; they are on disk when the answer comes."""
        rows, labels, keys, replace = take(
            body, rows=(list,), labels=(list,), keys=(list, NoneType), replace=(bool, NoneType)
        )
        if not rows and not labels:
            return self._told("learn", Change())
        table, known = await self._rows(rows), self.learner.settings
        names = known.feature_names
        if known.n_features is None and rows and isinstance(rows[0], dict):
            names = tuple(rows[0])
        change = await self.change(
            lambda: self.learner.learn_named(table, labels, keys, bool(replace), names)
        )
        return self._told("learn", change)

    async def forget(self, body: dict[str, Any]) -> dict[str, Any]:
        """Forget examples by their keys, in the model and in all files."""
        keys, missing_ok = take(body, keys=(list,), missing_ok=(bool, NoneType))
        change = await self.change(lambda: self.learner.forget(keys, missing_ok=bool(missing_ok)))
        return self._told("forget", change)

    async def correct(self, body: dict[str, Any]) -> dict[str, Any]:
        """Give an example another label."""
        key, label = take(body, key=(str,), label=(str, int, float, bool))
        change = await self.change(lambda: self.learner.correct(key, label))
        return self._told("correct", change)

    # Questions.

    async def predict(self, body: dict[str, Any]) -> dict[str, Any]:
        """Predict the label of each row, and the probability of each class if asked."""
        rows, proba = take(body, rows=(list,), proba=(bool, NoneType))
        table = await self._rows(rows)
        if not table:
            return {"labels": []}

        def ask() -> dict[str, Any]:
            if not proba:
                return {"labels": self.learner.predict(table).tolist()}
            memory, found = self.learner.session.prepare_queries(table)
            labels, classes, shares = memory.predict_proba(found)
            return {"labels": labels.tolist(), "classes": classes.tolist(),
                    "probabilities": shares.tolist()}  # fmt: skip

        cells = sum(map(len, table))
        is_quick = not proba and cells <= MANY_CELLS and cells * len(self.learner) <= QUICK
        return ask() if is_quick else await asyncio.to_thread(ask)

    async def explain(self, body: dict[str, Any]) -> dict[str, Any]:
        """Explain the label of one row: the path to it by keys and ids, and the nearest rival."""
        (row,) = take(body, row=(list, dict))
        (table,) = await self._rows([row])
        path = await asyncio.to_thread(self.learner.explain, table)
        return describe_path(path)

    def stats(self) -> dict[str, Any]:
        """Return what the page shows of a store."""
        stats, last = self.learner.stats(), self.learner.session.store.last(8)
        labels = label_array([row.y for row in last], stats["labels"]).tolist()
        return {
            **stats,
            "version": __version__,
            "waiting": self.waiting,
            "play": self.play is not None,
            "history": self.learner.session.store.scores(200),
            "last": [
                {"key": row.name, "label": label, "time": row.time}
                for row, label in zip(last, labels, strict=True)
            ],
            "events": list(self.hub.recent)[-8:],
        }

    def forest(self, plane: int | None) -> dict[str, Any]:
        """Return what is drawn of the forest, on the plane that the page has seen before."""
        memory = self.learner.session.refresh()
        model = memory.model
        if not memory.can_predict:
            return {"examples": 0, "points": [], "plane": None}
        found = None if plane is None else self._planes.get(plane)
        if found is None:
            points = model.forest_.points
            step = max(1, len(points) // 5000)
            found = find_plane(points[::step].astype(float))
            with self._numbering:  # pages are drawn in threads
                plane = next(self._numbers)
                self._planes[plane] = found
                self._planes.pop(plane - PLANES, None)
        drawn = draw_forest(model, found)
        ids = drawn.pop("ids")
        names = self.learner.session.store.names_of(ids)
        keys = [names.get(id) for id in ids]
        metric, known = model.forest_.metric, self.learner.settings
        is_plain = found.is_all and known.preparation is None and metric.keeps_points
        return {**drawn, "keys": keys, "plane": plane, "is_projected": not found.is_all,
                "is_plain": is_plain and known.n_features == 2}  # fmt: skip

    def path(self, plane: int, x: float, y: float) -> dict[str, Any]:
        """Explain a point of a plane that the page has seen before."""
        memory = self.learner.session.refresh()
        found = self._planes.get(plane)
        if found is None or not memory.can_predict:
            raise ProblemError(404, "this plane is not known any more: ask for the forest again.")
        forest = memory.model.forest_
        if not forest.metric.keeps_points:
            raise ProblemError(422, "with this metric, no point of the plane is an example.")
        with np.errstate(over="ignore"):
            point = found.lift(np.array([x, y])).astype(forest.dtype)
        if not np.isfinite(point).all():
            raise ProblemError(422, "'x' and 'y' must be finite numbers, and not too large.")
        path, rows = self.learner.session.explain(memory, point)
        answer = describe_path(path)
        for step in answer["steps"][:-1]:
            step["at"] = found.project(rows[step["id"]].astype(float)).tolist()
        return answer

    def metrics(self) -> str:
        """Return numbers for Prometheus."""
        stats = self.learner.stats()
        return self.meter.text({
            "examples": ("gauge", "Examples known.", stats["examples"]),
            "prototypes": ("gauge", "Prototypes among them.", stats["prototypes"]),
            "classes": ("gauge", "Classes that have examples.", len(stats["classes"])),
            "waiting": ("gauge", "Changes that wait for their turn.", self.waiting),
            "listeners": ("gauge", "Clients that follow events.", len(self.hub.queues)),
            "commits_total": ("counter", "Transactions on disk.", stats["commits"]),
            "commit_seconds_total": ("counter", "Time spent waiting for the disk.",
                                     stats["commit_seconds"]),
            "store_bytes": ("gauge", "Size of the files.", stats["bytes_on_disk"]),
            "memory_bytes": ("gauge", "Memory of the model.", stats["bytes_in_memory"]),
        })  # fmt: skip

    # Playing.

    async def start(self, body: dict[str, Any]) -> dict[str, Any]:
        """Begin a stream."""
        name, seed = take(body, set=(str,), seed=(int, NoneType))
        return await self._play(lambda play: play.start(name, abs(seed or 0) % 2**31))

    async def step(self, body: dict[str, Any]) -> dict[str, Any]:
        """Play a few examples of it."""
        (count,) = take(body, count=(int, NoneType))
        return await self._play(lambda play: play.step(max(0, 1 if count is None else count)))

    async def draw(self, body: dict[str, Any]) -> dict[str, Any]:
        """Learn an example that was clicked."""
        x, label = take(body, x=(list,), label=(int,))
        return await self._play(lambda play: play.add(x, label))

    async def drop(self, body: dict[str, Any]) -> dict[str, Any]:
        """Forget an example that was clicked."""
        (key,) = take(body, key=(str,))
        return await self._play(lambda play: play.forget(key))

    async def hover(self, body: dict[str, Any]) -> dict[str, Any]:
        """Explain the point under the cursor."""
        (x,) = take(body, x=(list,))
        return await self._play(lambda play: play.explain(x), answers=True)

    async def _play(self, do: Callable[[Play], Any], answers: bool = False) -> dict[str, Any]:
        play = self.play
        if play is None:
            raise ProblemError(
                404, "this is a store, and nothing to play with: see `opforest play`."
            )

        def turn() -> dict[str, Any]:
            found: dict[str, Any] = do(play)
            return found if answers else play.state()

        return await self.change(turn)  # type: ignore[no-any-return]


def make_app(
    learner: Learner,
    *,
    tokens: Tokens | None = None,
    hosts: tuple[str, ...] = (),
    limits: Limits | None = None,
    play: bool = False,
) -> FastAPI:
    """Return the service of a learner as an ASGI application, which closes the learner at its end.

    Parameters
    ----------
    learner : Learner
        What is asked.
    tokens : Tokens, default=None
        Who may ask; everybody who can reach it if None.
    hosts : tuple of str, default=()
        Names of this machine under which it is served.
    limits : Limits, default=None
        How much one may ask for.
    play : bool, default=False
        Whether the learner is one in memory to play with.
    """
    service = Service(learner, limits or Limits(), Play(learner) if play else None)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.hub.close()
        await asyncio.to_thread(service.close)

    app = FastAPI(title="opforest", version=__version__, lifespan=life, docs_url=None,
                  redoc_url=None, redirect_slashes=False,
                  description=openapi.DESCRIPTION)  # fmt: skip
    app.state.service = service
    _add_questions(app, service)
    changes: dict[str, Answer] = {
        "/v1/learn": service.learn, "/v1/forget": service.forget, "/v1/correct": service.correct,
    }  # fmt: skip
    if play:  # the three forests change together, or not at all
        changes = {
            "/v1/play/start": service.start, "/v1/play/step": service.step,
            "/v1/play/learn": service.draw, "/v1/play/forget": service.drop,
            "/v1/play/explain": service.hover,
        }  # fmt: skip
    posts = {**changes, "/v1/predict": service.predict, "/v1/explain": service.explain}
    for path, answer in posts.items():
        endpoint = _endpoint(service, path, answer)
        app.post(
            path,
            summary=answer.__doc__,
            openapi_extra=openapi.body_of(path),
            responses=openapi.problems_of(path, "POST"),
            include_in_schema="/play" not in path,
        )(endpoint)
    app.mount("/static", StaticFiles(directory=STATIC), "static")

    @app.exception_handler(HTTPException)
    async def say(_: Request, error: HTTPException) -> Response:
        response = ProblemError(error.status_code, str(error.detail)).response()
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "GET, HEAD")  # files say nothing
            response.headers["Allow"] = allowed
        return response

    @app.exception_handler(RequestValidationError)
    async def refuse(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return ProblemError(422, f"{first['loc'][-1]!r:.50}: {first['msg']}.").response()

    @app.exception_handler(MemoryError)
    async def regret(_: Request, error: MemoryError) -> Response:
        return as_problem(error).response()

    @app.exception_handler(Exception)
    async def confess(_: Request, error: Exception) -> Response:
        response = as_problem(error).response()
        response.headers.update(HEADERS)  # the guard does not see what is answered here
        return response

    app.add_middleware(SecurityMiddleware, tokens=tokens, hosts=hosts)
    app.openapi = partial(openapi.describe, app)  # type: ignore[method-assign]
    return app


def _endpoint(service: Service, path: str, answer: Answer) -> Callable[..., Any]:
    """Return an endpoint that reads a body, answers in JSON, and counts."""

    async def endpoint(request: Request) -> Response:
        begin = time.perf_counter()
        try:
            body = await read_body(request, service.limits)
            response = as_json(await answer(body))
        except (ProblemError, ValueError, MemoryError) as error:
            response = as_problem(error).response()
        service.meter.note(path, response.status_code, time.perf_counter() - begin)
        return response

    return endpoint


def as_json(value: dict[str, Any]) -> Response:
    """Return an answer in JSON."""
    return Response(json.dumps(value, allow_nan=False), media_type="application/json")


def _add_questions(app: FastAPI, service: Service) -> None:
    """Add what is asked by GET."""

    def ask(path: str, summary: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        problems = openapi.problems_of(path, "GET")
        return app.get(path, summary=summary, response_class=Response, responses=problems)

    @ask("/v1/stats", "What there is to say about the store.")
    async def stats() -> Response:
        return as_json(await asyncio.to_thread(service.stats))

    @ask("/v1/forest", "The forest on a plane, to be drawn.")
    async def forest(plane: int | None = None) -> Response:
        return as_json(await asyncio.to_thread(service.forest, plane))

    @ask("/v1/forest/path", "The path that explains a point of a plane that was drawn.")
    async def path(plane: int, x: float, y: float) -> Response:
        try:
            return as_json(await asyncio.to_thread(service.path, plane, x, y))
        except (ProblemError, ValueError) as error:
            return as_problem(error).response()

    @ask("/v1/events", "Changes as they happen, as server-sent events.")
    async def events() -> Response:
        if service.hub.is_full:
            return ProblemError(503, "too many clients are report_to.").response()
        return StreamingResponse(service.hub.listen(), media_type="text/event-stream")

    @ask("/health", "Whether the service is up.")
    async def health() -> Response:
        return as_json({"status": "ok", "version": __version__})

    @ask("/metrics", "Numbers for Prometheus.")
    async def metrics() -> Response:
        text = await asyncio.to_thread(service.metrics)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return HTMLResponse(openapi.page(app.openapi(), str(request.base_url)))

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/favicon.svg", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(STATIC / "icon.svg")

    if service.play is not None:
        play = service.play

        @app.get("/v1/play", include_in_schema=False)
        async def state() -> Response:
            return as_json(await service.change(play.state))
