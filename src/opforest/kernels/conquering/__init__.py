"""Who conquers whom: costs and paths along a spanning tree, and conquerors of queries."""
