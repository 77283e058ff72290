//! Nothing: the features of shared packages that Cargo.toml names are what this is for.
