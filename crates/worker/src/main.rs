//! The program. All of it is in the library, which is compiled while the engines still are.

fn main() -> std::process::ExitCode {
    dbdyno_worker::main()
}
