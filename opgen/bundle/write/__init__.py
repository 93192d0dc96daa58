"""Writing a bundle: cases as tables, tensors as blocks, beside its place until it is whole."""
