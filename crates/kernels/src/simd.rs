//! One body, compiled for each instruction set, chosen at run time.
//!
//! [`simd!`] writes a safe function whose body the compiler turns into AVX-512, AVX2 and plain code. The plain
//! one is the scalar twin: the tests call both and compare.

/// Defines a function that runs its body with the widest vectors the machine has, and a module of the same
/// name whose `scalar` is the same body without them. What the body calls must be `#[inline(always)]`.
macro_rules! simd {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    $name::scalar($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $name::scalar($($arg),*)
                }
                if $crate::simd::has_avx512() {
                    // SAFETY: the machine has these instructions.
                    return unsafe { avx512($($arg),*) };
                }
                if $crate::simd::has_avx2() {
                    // SAFETY: the machine has these instructions.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $name::scalar($($arg),*)
        }
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[inline(always)]
            pub(super) fn scalar($($arg: $type),*) $(-> $out)? $body
        }
    };
}
pub(crate) use simd;

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}
