//! Nothing: with it Cargo takes the build dependencies, and their features, into account.

fn main() {}
