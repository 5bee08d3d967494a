//! Assignments on disk: exact and leaf search, documents, add, delete, verify.
#![forbid(unsafe_code)]
