"""A store as an HTTP service with a page; needs the extra ``serve``."""
