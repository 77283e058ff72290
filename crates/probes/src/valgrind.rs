//! Requests to valgrind, if the process runs under it; otherwise a handful of instructions without effect.
//!
//! The sequences and numbers are from valgrind.h and callgrind.h (valgrind 3.19): registers are rotated by amounts that
//! add up to a full rotation. No compiler emits this, and valgrind interprets it as a request.

/// `CALLGRIND_TOGGLE_COLLECT`: the tool's letters C and T, and its third request.
const TOGGLE_COLLECT: usize = ((b'C' as usize) << 24 | (b'T' as usize) << 16) + 2;

/// Starts or stops counting the calling thread's instructions under callgrind. Counting is initially off if callgrind
/// was run with `--collect-atstart=no`.
pub fn toggle_counting() {
    request([TOGGLE_COLLECT, 0, 0, 0, 0, 0]);
}

#[cfg(target_arch = "x86_64")]
fn request(arguments: [usize; 6]) {
    // SAFETY: the rotations leave rdi unchanged, the exchange has no effect, and rdx, which receives a result, is
    // declared. The arguments are only read.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(), inout("rdx") 0usize => _, inout("rdi") 0usize => _,
        );
    }
}

#[cfg(target_arch = "aarch64")]
fn request(arguments: [usize; 6]) {
    // SAFETY: the rotations leave x12 unchanged, the operation on x10 has no effect, and x3, which receives a result,
    // is declared. The arguments are only read.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") arguments.as_ptr(), inout("x3") 0usize => _, inout("x12") 0usize => _,
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn request(_arguments: [usize; 6]) {}
