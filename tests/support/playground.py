"""The playground under test, in a thread of this process."""

import threading
from contextlib import contextmanager

from opforest.apps.serve.play import PlayServer


@contextmanager
def playground():
    """Serve the playground, and yield its address."""
    with PlayServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join(60)
