// Burns CPU in Rust: main -> rsspin::main -> rsspin::outer -> rsspin::inner -> rsspin::leaf. inner
// is generic over a closure, and the chain passes through catch_unwind. rsspin [--chain] SECONDS
use std::arch::asm;
use std::panic;
use std::time::{Duration, Instant};

// A value opaque to the compiler; std::hint::black_box() is not in the rustc 1.63 of Debian 12.
macro_rules! opaque {
    ($value:expr) => {{
        let mut v: u64 = $value;
        unsafe { asm!("/* {0} */", inout(reg) v, options(nomem, nostack, preserves_flags)) };
        v
    }};
}

#[inline(never)]
fn leaf(n: u64) -> u64 {
    let mut x = n | 1;
    for _ in 0..400000 {
        x = opaque!(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    }
    x
}

#[inline(never)]
fn inner(f: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    let r = leaf(f(n));
    opaque!(r) ^ n
}

#[inline(never)]
fn outer(end: Instant) -> u64 {
    let mut sum = 0u64;
    while Instant::now() < end {
        let salt = sum;
        sum = sum.wrapping_add(inner(&|n| n ^ salt, sum));
        let caught = panic::catch_unwind(|| {
            if opaque!(salt) % 2 == 0 {
                panic::resume_unwind(Box::new(7u64));
            }
            1u64
        });
        sum = sum.wrapping_add(caught.unwrap_or(7));
    }
    sum
}

fn main() {
    let arg = std::env::args().nth(1).unwrap_or_default();
    if arg == "--chain" {
        println!("rsspin::main;rsspin::outer;rsspin::inner;rsspin::leaf");
        return;
    }
    let seconds: f64 = arg.parse().unwrap_or(1.0);
    let r = outer(Instant::now() + Duration::from_secs_f64(seconds));
    opaque!(r);
}
