"""Split model files, and rebuild them with a valid checksum."""

import hashlib
import json


def split(content):
    """Return the header of a file, and its arrays as one buffer."""
    length = int.from_bytes(content[8:16], "little")
    return json.loads(content[16 : 16 + length]), bytearray(content[16 + length : -32])


def sealed(header, body):
    """Return a file with this header, this body and a valid checksum."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = content_of(text, body)
    return content + hashlib.sha256(content).digest()


def content_of(text, body):
    return b"OPF\x89\r\n\x1a\n" + len(text).to_bytes(8, "little") + text + bytes(body)
