//! A bound on the memory that one piece of work may hold. The template engine's fuel does not see every allocation (adding lists
//! or replacing in strings can double sizes at no cost), and a failed allocation would end the process.
//!
//! The work runs on a thread of its own whose allocations are counted. A thread that goes beyond its budget is stopped for good
//! inside the allocator, where nothing can unwind; its memory, at most the budget, stays taken. Only a hostile template gets
//! there, and once is enough to refuse it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;

/// Deep enough for the engine's own recursion limit with its largest frames.
const STACK_BYTES: usize = 32 << 20;

const RUNNING: u8 = 0;
const DONE: u8 = 1;
const EXCEEDED: u8 = 2;

struct Watch {
    state: Arc<AtomicU8>,
    parent: Thread,
}

thread_local! {
    /// Bytes that this thread may still take; None while nothing is counted.
    static REMAINING: Cell<Option<i64>> = const { Cell::new(None) };
    static WATCH: OnceCell<Watch> = const { OnceCell::new() };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: i64) {
    let Ok(Some(remaining)) = REMAINING.try_with(Cell::get) else { return };
    let left = remaining - bytes;
    let _ = REMAINING.try_with(|cell| cell.set(Some(left)));
    if left < 0 && bytes > 0 {
        stop_here();
    }
}

fn stop_here() {
    let _ = REMAINING.try_with(|cell| cell.set(None));
    let _ = WATCH.try_with(|watch| {
        if let Some(watch) = watch.get() {
            watch.state.store(EXCEEDED, Ordering::Release);
            watch.parent.unpark();
        }
    });
    loop {
        std::thread::park();
    }
}

// SAFETY: every request goes to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        System.alloc_zeroed(layout)
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        System.realloc(pointer, layout, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        System.dealloc(pointer, layout)
    }
}

/// Runs `work` and returns its value; None when it wanted more than `bytes` at once. `work` must not panic.
pub fn within<T: Send + 'static>(bytes: u64, work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<Option<T>> {
    let state = Arc::new(AtomicU8::new(RUNNING));
    let slot = Arc::new(Mutex::new(None));
    let parent = std::thread::current();
    let (worker_state, worker_slot) = (state.clone(), slot.clone());
    let budget = i64::try_from(bytes).unwrap_or(i64::MAX);
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let _ = WATCH.with(|watch| watch.set(Watch { state: worker_state.clone(), parent: parent.clone() }));
        REMAINING.set(Some(budget));
        let value = work();
        REMAINING.set(None);
        *worker_slot.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(value);
        worker_state.store(DONE, Ordering::Release);
        parent.unpark();
    })?;
    while state.load(Ordering::Acquire) == RUNNING {
        std::thread::park();
    }
    let value = slot.lock().unwrap_or_else(|poison| poison.into_inner()).take();
    Ok(value)
}
