"""The network (docs/architecture.md of the project describes it), under the public checkpoint's tensor names."""
