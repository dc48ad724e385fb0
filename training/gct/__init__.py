"""Training code of the streaming Geometric Context Transformer; see training/README.md."""
