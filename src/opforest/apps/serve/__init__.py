"""Layer 4: a store as a service on the network, with a page; needs the extra ``serve``."""
