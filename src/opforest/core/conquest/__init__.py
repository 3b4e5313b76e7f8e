"""Who conquers a query: by a scan, a k-d tree or matrix products."""
