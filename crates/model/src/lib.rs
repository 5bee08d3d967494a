//! Split functions, propagation, loss and training of the tree.
#![forbid(unsafe_code)]
