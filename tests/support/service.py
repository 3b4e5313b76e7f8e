"""A service under test, in a thread of this process, and small clients."""

import http.client
import json
import threading
from contextlib import contextmanager

from opforest.apps.serve.app import make_app
from opforest.apps.serve.server import bind, make_server


@contextmanager
def running(learner, port=0, **more):
    """Serve a learner, and yield the port."""
    listener = bind("127.0.0.1", port)
    port = listener.getsockname()[1]
    server = make_server(make_app(learner, **more), "127.0.0.1", port)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield port
    finally:
        server.config.app.state.service.broker.close()
        server.should_exit = True
        thread.join(120)
        listener.close()
        assert not thread.is_alive()


class Client:
    """Asks on one connection that is kept."""

    def __init__(self, port, token=None, host=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if host is not None:
            self.headers["Host"] = host

    def __del__(self):
        self.connection.close()

    def ask(self, method, path, body=None, **headers):
        """Return status, headers and content."""
        given = {**self.headers, **{name.replace("_", "-"): v for name, v in headers.items()}}
        self.connection.request(method, path, body, given)
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()

    def get(self, path, code=200):
        status, _, content = self.ask("GET", path)
        assert status == code, content
        return json.loads(content)

    def post(self, path, body, code=200):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, headers, answer = self.ask("POST", path, content, Content_Type="application/json")
        assert status == code, answer
        if code >= 400:
            assert headers["content-type"] == "application/problem+json"
            problem = json.loads(answer)
            assert problem["status"] == code
            assert problem["detail"]
        return json.loads(answer)
