//! Which attachments a request works on. Pure: reads the `Focus` of the prompt, calls no tool.

pub mod combine;
pub mod repeat;
pub mod selection;
