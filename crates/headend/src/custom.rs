//! Code that is not headend's own: control laws and congestion controls that the user of the engine
//! brings along, by the name of the code.
//!
//! A queue or a congestion control of the kind `custom` names its code. The engine opens no files
//! and executes nothing itself: whoever embeds it provides laws ([`crate::aqm::custom`]) and
//! controls ([`crate::congestion::custom`]) for the names that scenarios use.
//!
//! Such code can fail in the middle of a run. The traits of laws and controls have no way to say
//! so, since headend's own never fail. The code therefore reports a failure with [`fail`], and the
//! simulation ends the run after the event in which that happened.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

/// The kind of a queue or a congestion control whose code is not headend's.
pub const KIND: &str = "custom";

/// The code that a scenario names, its text, and the parameters for it.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// The name, such as `my_law.py:MyLaw`.
    pub name: &'a str,
    /// The text of the file that the name begins with; empty if the name is of no file.
    pub text: &'a str,
    /// The keys of the scenario's table that are the code's own.
    pub parameters: &'a BTreeMap<String, Value>,
}

thread_local! {
    /// What the first failure in the present event says.
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether such code was ever built in this program.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Notes that such code is built.
pub fn note_use() {
    IN_USE.store(true, Ordering::Relaxed);
}

/// Whether a run has to ask for failures: not in a program without such code.
pub fn is_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// Reports a failure of code that is not headend's. The run of this thread ends after the present
/// event. Of several failures, the first one counts.
pub fn fail(why: String) {
    FAILURE.with_borrow_mut(|failure| {
        failure.get_or_insert(why);
    });
}

/// The failure that was reported on this thread since the last call.
pub fn take_failure() -> Option<String> {
    FAILURE.take()
}

/// The file that the name of a code begins with: `my_law.py` of `my_law.py:MyLaw`. `None` for a
/// name that is of no file.
pub fn file_of(name: &str) -> Option<&str> {
    let (file, class) = name.rsplit_once(':')?;
    let is_identifier = class.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && class.chars().all(|one| one.is_alphanumeric() || one == '_');
    let stem = file.strip_suffix(".py")?;
    (is_identifier && !stem.is_empty()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_counts_and_is_taken_once() {
        assert_eq!(take_failure(), None);
        fail("first".to_owned());
        fail("second".to_owned());
        assert_eq!(take_failure().as_deref(), Some("first"));
        assert_eq!(take_failure(), None);
    }

    #[test]
    fn a_file_is_told_from_other_names() {
        assert_eq!(file_of("laws/my_law.py:MyLaw"), Some("laws/my_law.py"));
        assert_eq!(
            file_of("C:\\laws\\my_law.py:MyLaw"),
            Some("C:\\laws\\my_law.py")
        );
        for other in [
            "codel",
            "my_law.py",
            "my_law.py:",
            "my_law.py:1",
            ".py:Law",
            "a:b",
            "my:law",
        ] {
            assert_eq!(file_of(other), None, "{other}");
        }
    }
}
