"""The service: HTTP endpoints of a learner."""

import asyncio
import itertools
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from opforest._utils import tuning
from opforest._utils.version import __version__
from opforest.apps.serve import bodies, openapi
from opforest.apps.serve.events import EventBroker
from opforest.apps.serve.examples import MAX_SUSPECTS, describe_suspects, search_examples
from opforest.apps.serve.headers import HEADERS
from opforest.apps.serve.metrics import RequestMetrics
from opforest.apps.serve.problems import ProblemError, on_error
from opforest.apps.serve.requests import MANY_CELLS, BodyRoute, Limits, offload, read_table
from opforest.apps.serve.security import SecurityMiddleware, Tokens
from opforest.apps.serve.view import Plane, describe_path, draw_forest, find_plane
from opforest.learner import Change, Learner
from opforest.learner.validation import label_array

STATIC = Path(__file__).parent / "static"

#: Answers that /openapi.json describes, by path.
ANSWERS: dict[str, type[BaseModel]] = {
    "/v1/suspects": bodies.Suspects,
    "/v1/search": bodies.SearchResult,
}

#: Rows times examples times features up to which a prediction runs in the event loop: a scan of
#: this size takes a millisecond or two.
QUICK = 2_000_000


def as_json(value: dict[str, Any]) -> Response:
    """Return an answer in ASCII, because a file name in it may not be valid Unicode."""
    return Response(json.dumps(value, allow_nan=False), media_type="application/json")


class Service:
    """Endpoints of a learner: queries are answered at once, changes wait in one queue."""

    def __init__(self, learner: Learner, limits: Limits) -> None:
        self.learner, self.limits = learner, limits
        self.broker, self.request_metrics = EventBroker(limits.listeners), RequestMetrics()
        self.waiting = 0
        self._writer = ThreadPoolExecutor(1, "opforest-writer")
        self._planes: dict[int, Plane] = {}
        self._plane_numbers, self._plane_lock = itertools.count(1), threading.Lock()

    async def change(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function in the writer thread, after all changes before it."""
        if self.waiting >= self.limits.waiting:
            raise ProblemError(503, f"{self.waiting} changes are waiting. Try again later.")
        self.waiting += 1
        try:
            # A change is made even if its client disconnects.
            do = partial(call, *arguments, **options)
            loop = asyncio.get_running_loop()
            return await asyncio.shield(loop.run_in_executor(self._writer, do))
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Finish waiting changes, and close the store."""
        self._writer.shutdown(wait=True)
        self.learner.close()

    async def _read_rows(self, rows: list[Any]) -> list[list[Any]]:
        n_cells = sum(len(row) for row in rows if isinstance(row, list | dict))
        table: list[list[Any]] = await offload(
            n_cells, MANY_CELLS, read_table, rows, self.learner.settings, self.limits.rows
        )
        return table

    def _publish(self, kind: str, change: Change) -> Response:
        """Send a change to all listeners, and return the answer to its client."""
        names = ("learned", "unchanged", "replaced", "forgotten", "labeled")
        counts = {name: getattr(change, name) for name in names} | {"examples": len(self.learner)}
        report = {name: value for name, value in vars(change.report).items() if value}
        if change.forgotten:
            self.broker.forget(change.keys)
        if change.learned or change.replaced or change.forgotten or change.labeled:
            keys = [] if change.forgotten else list(change.keys[:3])
            self.broker.publish(kind, {**counts, "keys": keys, "report": report,
                                       "micros": round(1e6 * change.seconds)})  # fmt: skip
        return as_json({**counts, "keys": list(change.keys), "report": report})

    async def learn(self, body: bodies.Learn) -> Response:
        """Learn examples; they are on disk when the answer arrives."""
        if not body.rows and not body.labels:
            return self._publish("learn", Change())
        table, known = await self._read_rows(body.rows), self.learner.settings
        names = known.feature_names
        if known.n_features is None and body.rows and isinstance(body.rows[0], dict):
            names = tuple(body.rows[0])
        replace = bool(body.replace)
        change = await self.change(
            self.learner.learn_named, table, body.labels, body.keys, replace, names
        )
        return self._publish("learn", change)

    async def forget(self, body: bodies.Forget) -> Response:
        """Forget examples by their keys, in the model and in all files."""
        change = await self.change(self.learner.forget, body.keys, missing_ok=bool(body.missing_ok))
        return self._publish("forget", change)

    async def correct(self, body: bodies.Correct) -> Response:
        """Change the label of an example."""
        change = await self.change(self.learner.correct, body.key, body.label)
        return self._publish("correct", change)

    async def predict(self, body: bodies.Predict) -> Response:
        """Predict the label of each row and, if proba is true, the class probabilities."""
        table = await self._read_rows(body.rows)
        if not table:
            return as_json({"labels": []})

        def ask() -> Response:
            if not body.proba:
                return as_json({"labels": self.learner.predict(table).tolist()})
            replica, found = self.learner.session.prepare_queries(table)
            labels, classes, probabilities = replica.predict_proba(found)
            return as_json({"labels": labels.tolist(), "classes": classes.tolist(),
                            "probabilities": probabilities.tolist()})  # fmt: skip

        n_cells = sum(map(len, table))
        is_quick = not body.proba and n_cells <= MANY_CELLS and n_cells * len(self.learner) <= QUICK
        return ask() if is_quick else await asyncio.to_thread(ask)

    async def explain(self, body: bodies.Explain) -> Response:
        """Explain the label of a row by its path in the forest and its nearest rival."""
        (row,) = await self._read_rows([body.row])
        return as_json(describe_path(await asyncio.to_thread(self.learner.explain, row)))

    async def search(self, body: bodies.Search) -> Response:
        """Find examples by the beginning of their keys."""
        # Not by GET: keys may name people, and addresses are written to logs.
        found = await asyncio.to_thread(search_examples, self.learner, body.key, body.n)
        return as_json({"examples": found})

    def stats(self) -> Response:
        """Return facts about the store."""
        stats, last = self.learner.stats(), self.learner.session.store.last(8)
        labels = label_array([row.y for row in last], stats["labels"]).tolist()
        return as_json({
            **stats,
            "store": os.path.basename(stats["store"]),  # not where it is on this machine
            "version": __version__,
            "waiting": self.waiting,
            "history": self.learner.session.store.scores(200),
            "last": [
                {"key": row.name, "label": label, "time": row.time}
                for row, label in zip(last, labels, strict=True)
            ],
            "events": list(self.broker.recent)[-8:],
        })  # fmt: skip

    def forest(self, plane: int | None = None) -> Response:
        """Return the forest projected onto a plane: a known one by its number, or a new one."""
        replica = self.learner.session.refresh()
        model = replica.model
        if not replica.can_predict:
            return as_json({"examples": 0, "points": [], "plane": None})
        found = None if plane is None else self._planes.get(plane)
        if found is None:
            points = model.forest_.points
            step = max(1, len(points) // 5000)
            found = find_plane(points[::step].astype(float))
            with self._plane_lock:
                plane = next(self._plane_numbers)
                self._planes[plane] = found
                self._planes.pop(plane - tuning.values.max_planes, None)
        drawn = draw_forest(model, found)
        ids = drawn.pop("ids")
        names = self.learner.session.store.names_of(ids)
        keys = [names.get(id) for id in ids]
        metric, known = model.forest_.metric, self.learner.settings
        is_plain = found.is_all and known.preparation is None and metric.keeps_points
        return as_json({**drawn, "keys": keys, "plane": plane, "is_projected": not found.is_all,
                        "is_plain": is_plain and known.n_features == 2})  # fmt: skip

    def path(self, plane: int, x: float, y: float) -> Response:
        """Explain a point of a plane that /v1/forest returned."""
        replica = self.learner.session.refresh()
        found = self._planes.get(plane)
        if found is None or not replica.can_predict:
            raise ProblemError(404, "this plane has expired; request the forest again.")
        forest = replica.model.forest_
        if not forest.metric.keeps_points:
            raise ProblemError(422, "with this metric, points of the plane are not examples.")
        with np.errstate(over="ignore"):
            point = found.lift(np.array([x, y])).astype(forest.dtype)
        if not np.isfinite(point).all():
            raise ProblemError(422, "'x' and 'y' must be finite and not too large.")
        path, rows = self.learner.session.explain(replica, point)
        answer = describe_path(replica.rows.show_units(path))
        for step in answer["steps"][:-1]:
            step["at"] = found.project(rows[step["id"]].astype(float)).tolist()
        return as_json(answer)

    def suspects(self, n: Annotated[int, Query(ge=1, le=MAX_SUSPECTS)] = 20) -> Response:
        """Return the examples whose labels are probably wrong, at most n, with suggestions."""
        return as_json({"suspects": describe_suspects(self.learner, n)})

    async def events(self) -> Response:
        """Stream changes as server-sent events."""
        if self.broker.is_full:
            raise ProblemError(503, "too many clients are listening.")
        return StreamingResponse(self.broker.listen(), media_type="text/event-stream")

    async def health(self) -> Response:
        """Report that the service is up."""
        return as_json({"status": "ok", "version": __version__})

    def metrics(self) -> Response:
        """Return numbers for Prometheus."""
        stats = self.learner.stats()
        text = self.request_metrics.render({
            "examples": ("gauge", "Examples in the store.", stats["examples"]),
            "prototypes": ("gauge", "Examples that are prototypes.", stats["prototypes"]),
            "classes": ("gauge", "Classes that have examples.", len(stats["classes"])),
            "waiting": ("gauge", "Changes in the queue.", self.waiting),
            "listeners": ("gauge", "Clients that follow events.", len(self.broker.queues)),
            "commits_total": ("counter", "Transactions on disk.", stats["commits"]),
            "commit_seconds_total": ("counter", "Time spent waiting for the disk.",
                                     stats["commit_seconds"]),
            "store_bytes": ("gauge", "Size of the files.", stats["bytes_on_disk"]),
            "memory_bytes": ("gauge", "Memory of the model.", stats["bytes_in_memory"]),
        })  # fmt: skip
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def make_app(
    learner: Learner,
    *,
    tokens: Tokens | None = None,
    hosts: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> FastAPI:
    """Return the service of a learner as an ASGI application, which closes the learner at its end.

    Without ``tokens``, every client that can reach the service may use it. ``hosts`` are further
    host names of this machine.
    """
    service = Service(learner, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.broker.close()
        await asyncio.to_thread(service.close)

    app = FastAPI(title="opforest", version=__version__, lifespan=lifespan, docs_url=None,
                  redoc_url=None, redirect_slashes=False,
                  description=openapi.DESCRIPTION)  # fmt: skip
    app.state.service = service
    app.include_router(make_router("POST", {
        "/v1/learn": service.learn, "/v1/forget": service.forget, "/v1/correct": service.correct,
        "/v1/search": service.search, "/v1/predict": service.predict,
        "/v1/explain": service.explain,
    }))  # fmt: skip
    app.include_router(make_router("GET", {
        "/v1/stats": service.stats, "/v1/forest": service.forest,
        "/v1/forest/path": service.path, "/v1/suspects": service.suspects,
        "/v1/events": service.events,
        "/health": service.health, "/metrics": service.metrics,
    }))  # fmt: skip
    app.add_route("/docs", show_docs)
    app.add_route("/", lambda _: FileResponse(STATIC / "index.html"))
    app.add_route("/favicon.svg", lambda _: FileResponse(STATIC / "icon.svg"))
    app.mount("/static", StaticFiles(directory=STATIC), "static")
    for kind in (HTTPException, RequestValidationError, ValueError, MemoryError):
        app.add_exception_handler(kind, on_error)
    app.add_exception_handler(Exception, on_bug)
    app.add_middleware(SecurityMiddleware, tokens=tokens, hosts=hosts)
    app.openapi()["components"]["schemas"]["Problem"] = openapi.PROBLEM
    return app


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected error, outside the middleware that adds headers."""
    response = await on_error(request, error)
    response.headers.update(HEADERS)
    return response


def make_router(method: str, endpoints: dict[str, Callable[..., Any]]) -> APIRouter:
    """Return the routes of endpoints by path; requests by POST have a body."""
    router = APIRouter(route_class=BodyRoute if method == "POST" else APIRoute)
    for path, endpoint in endpoints.items():
        responses = openapi.describe_errors(path, method)
        if path in ANSWERS:
            responses[200] = {"model": ANSWERS[path], "description": ANSWERS[path].__doc__}
        router.add_api_route(path, endpoint, methods=[method], responses=responses)
    return router


async def show_docs(request: Request) -> Response:
    """Return the API description as a page."""
    return HTMLResponse(openapi.render_page(request.app.openapi(), str(request.base_url)))
