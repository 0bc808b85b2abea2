//! Tests of the request rules in `harness::rules`: the stand-ins refuse what the vendors' APIs refuse, and nothing else.

mod anthropic;
mod gemini;
