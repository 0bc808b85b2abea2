//! Model providers: a `Provider` turns a `Prompt` into a `Completion`. Providers know nothing of chats or the store.
//!
//! `prompt`, `completion`, `error` and `media` hold the types that every provider shares. `hosted` asks a vendor over `http`; the
//! JSON of each vendor is in `formats`; `image_selection` decides which files a request shows; `image_generation` asks
//! a vendor for pictures. `offline` answers without a model.

mod completion;
mod error;
pub mod fence;
pub mod formats;
pub mod hosted;
mod http;
pub mod image_generation;
mod image_request;
mod image_selection;
mod media;
pub mod offline;
mod prompt;
mod provider;
mod sse;

pub use completion::{Completion, Usage};
pub use error::{ProviderError, ProviderErrorKind};
pub use formats::Vendor;
pub use hosted::Hosted;
pub use http::http_client;
pub use image_generation::ImageGenerator;
pub use image_request::{EditArea, ImageEdit, ImageRequest, Shape};
pub use image_selection::MAX_LOOK_SIDE;
pub use media::{LoadedFile, MediaSource};
pub use prompt::{Focus, Prompt, PromptMessage, ShownFile, ToolSpec};
pub use provider::{Listener, ModelSettings, Provider};
