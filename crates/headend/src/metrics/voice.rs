//! Voice quality.
