"""Programs: the command line, the service, the paper's experiment, the demo."""
