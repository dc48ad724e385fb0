"""Procedural rooms, camera paths, their rendering and the ground truth."""
