"""The papers' experiments, one file each, printed beside the papers' figures."""
