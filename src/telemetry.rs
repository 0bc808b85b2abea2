//! The log: one line per event, to standard error, filtered by `PHOTOTHREAD_LOG`.
//!
//! Never logged, at any level: the bot token and API keys, what people write, file names, file bytes, and what
//! the model is sent or answers. Log ids instead: they find the rest in the database. Libraries do not know
//! this rule (an HTTP error prints its URL, and Telegram's URLs hold the token), so every line also passes
//! through a writer that hides known secrets.

use secrecy::{ExposeSecret, SecretString};
use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
};
use tracing_subscriber::EnvFilter;

const FILTER: &str = "PHOTOTHREAD_LOG";
const DEFAULT_FILTER: &str = "photothread=info,warn";

/// These end the start-up; the text is for the operator who set the variable.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("{FILTER} is {filter:?}, which is no log filter ({reason}); try photothread=debug,warn")]
    BadFilter { filter: String, reason: String },
    #[error("the log is already set up")]
    AlreadyStarted,
}

/// Starts the log. `secrets` are hidden in every line, also in lines of libraries.
pub fn start<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Result<(), TelemetryError> {
    let filter = filter(std::env::var(FILTER).ok())?;
    let hidden = Hidden::new(secrets);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(move || hidden.over(io::stderr()))
        .try_init()
        .map_err(|_| TelemetryError::AlreadyStarted)
}

fn filter(wanted: Option<String>) -> Result<EnvFilter, TelemetryError> {
    let filter = wanted.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| DEFAULT_FILTER.into());
    EnvFilter::try_new(&filter)
        .map_err(|error| TelemetryError::BadFilter { filter, reason: error.to_string() })
}

/// The secrets to replace in every line.
#[derive(Clone)]
struct Hidden(Arc<[SecretString]>);

impl Hidden {
    fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self(secrets.into_iter().filter(|secret| !secret.expose_secret().is_empty()).cloned().collect())
    }

    fn over<W: Write>(&self, inner: W) -> HidingWriter<W> {
        HidingWriter { hidden: self.clone(), inner }
    }
}

struct HidingWriter<W> {
    hidden: Hidden,
    inner: W,
}

impl<W: Write> Write for HidingWriter<W> {
    /// The subscriber hands over each event whole, so a secret is never split between two calls.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut text = String::from_utf8_lossy(event);
        for secret in self.hidden.0.iter().map(ExposeSecret::expose_secret) {
            if text.contains(secret) {
                text = text.replace(secret, "[hidden]").into();
            }
        }
        self.inner.write_all(text.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_token_in_the_error_of_a_library_is_hidden() {
        let captured = CapturedLog::default();
        let hidden = Hidden::new(&[SecretString::from("123456:AA-token_x")]);
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer({
                let captured = captured.clone();
                move || hidden.over(captured.clone())
            })
            .finish();
        tracing::subscriber::with_default(log, || {
            tracing::warn!(url = "https://api.telegram.org/bot123456:AA-token_x/getMe", "unreachable");
        });
        let written = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert!(written.contains("/bot[hidden]/getMe"), "{written}");
        assert!(!written.contains("AA-token_x"), "{written}");
    }

    #[test]
    fn the_default_filter_is_valid_and_replaces_an_empty_one() {
        assert_eq!(filter(None).unwrap().to_string(), filter(Some(" ".into())).unwrap().to_string());
    }

    #[test]
    fn a_bad_filter_is_named() {
        let message = filter(Some("photothread=loud".into())).unwrap_err().to_string();
        assert!(message.starts_with("PHOTOTHREAD_LOG is \"photothread=loud\""), "{message}");
    }
}
