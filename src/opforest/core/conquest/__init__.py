"""Find the vertex that conquers a query: by a scan, a k-d tree, or matrix products."""
