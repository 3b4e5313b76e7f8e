"""What tests share: data, strategies, comparisons, servers."""
