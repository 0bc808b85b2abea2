//! Every request is accepted by its API, for any history: interrupted turns, duplicate and stray results, deleted files,
//! and thinking of other models.

use super::VENDORS;
use crate::harness::{Said, rules, whole_answer};
use bytes::Bytes;
use imaging::Region;
use photothread::{
    domain::{Attachment, AttachmentId, AttachmentSource, Content, Conversation, ToolCall},
    providers::{
        LoadedFile, ModelSettings, Prompt, PromptMessage, ShownFile, ToolSpec, Vendor, formats::LoadedFiles,
    },
    tools::Registry,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use uuid::Uuid;

const EVERYONE: [Vendor; 3] = [Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini];
const MODELS: [&str; 2] = ["gemini-3.8-flash", "another-model"];
const TEXTS: [&str; 6] =
    ["", " ", "\n", "hello", "Überall »Bäume«\n\n[Attachment ID: x]", "\u{0}\u{202e}<<<>>>"];
const IDS: [&str; 7] = ["call_1", "call_2", "toolu_3", "", "an odd id: é/?", "call_1 ", LONG];
const LONG: &str = "call_0123456789012345678901234567890123456789012345678901234567890123456789";
const NAMES: [&str; 5] = ["rotate_image", "crop_image", "", "no such tool, é!", LONG];
const ARGUMENTS: [&str; 8] =
    ["{}", "{\"degrees\":90}", "{\"degrees\": 90", "[]", "", "null", "\"text\"", "{\"a\":{\"b\":[null]}}"];
const FILES: [&str; 6] =
    ["image/jpeg", "image/png", "image/jpeg", "application/pdf", "audio/mpeg", "text/plain"];

/// A signature of this vendor. It must not be sent to another vendor.
fn signature(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Anthropic => "c2lnbmVkIGJ5IGFudGhyb3BpYw==",
        Vendor::OpenAi => "c2lnbmVkIGJ5IG9wZW5haQ==",
        Vendor::Gemini => "c2lnbmVkIGJ5IGdlbWluaQ==",
    }
}

fn file(number: usize) -> Attachment {
    Attachment {
        attachment_id: AttachmentId(Uuid::from_u128(number as u128)),
        conversation: Conversation::telegram(1),
        user_id: photothread::domain::UserId("100".into()),
        source: AttachmentSource::User,
        mime_type: FILES[number].into(),
        filename: format!("file {number}"),
        description: None,
        size: 1,
        width: Some(1),
        height: Some(1),
        content: Content::stored("none", "none"),
        created_at: chrono::DateTime::UNIX_EPOCH,
        parents: Vec::new(),
    }
}

fn shown() -> impl Strategy<Value = Vec<ShownFile>> {
    let one = (0..FILES.len(), any::<bool>(), any::<bool>()).prop_map(|(number, part, grid)| {
        let region = part.then(|| Region::new(0.0, 0.0, 500.0, 1000.0).expect("a region"));
        ShownFile { attachment: file(number), region, grid }
    });
    prop::collection::vec(one, 0..4)
}

/// A message with files always has text too: at least the markers.
fn user() -> impl Strategy<Value = PromptMessage> {
    (select(TEXTS.to_vec()), shown()).prop_map(|(text, shown)| {
        let text = if shown.is_empty() { text.to_owned() } else { format!("{text}\n[Attachment ID: …]") };
        PromptMessage::User { text, shown }
    })
}

fn call() -> impl Strategy<Value = ToolCall> {
    let parts = (select(IDS.to_vec()), select(NAMES.to_vec()), select(ARGUMENTS.to_vec()));
    parts.prop_map(|(id, name, arguments)| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

fn result() -> impl Strategy<Value = PromptMessage> {
    let parts = (select(IDS.to_vec()), select(NAMES.to_vec()), select(TEXTS.to_vec()), shown());
    parts.prop_map(|(id, name, text, shown)| PromptMessage::Tool {
        call_id: id.into(),
        name: name.into(),
        text: text.into(),
        shown,
    })
}

/// Metadata of an answer, as this or another version of the program stores it.
fn odd_metadata() -> impl Strategy<Value = Option<Value>> {
    let odd = |vendor: Vendor| {
        let (name, signature) = (vendor.as_str(), signature(vendor));
        let details = json!([{ "type": "reasoning.text", "signature": signature }]);
        select(vec![
            None,
            Some(Value::Null),
            Some(json!([signature])),
            Some(json!({ "provider": name })),
            Some(json!({ "provider": name, "model": MODELS[0], "reasoning_details": details })),
            Some(json!({ "provider": name, "model": MODELS[0], "content": signature, "parts": signature })),
            Some(json!({ "provider": name, "model": MODELS[0], "content": [], "parts": [] })),
            Some(json!({ "provider": name, "model": MODELS[0], "content": [3], "parts": [3] })),
        ])
    };
    select(EVERYONE.to_vec()).prop_flat_map(odd)
}

/// An answer with odd calls and metadata that may not match it.
fn odd_answer() -> impl Strategy<Value = PromptMessage> {
    let parts = (select(TEXTS.to_vec()), prop::collection::vec(call(), 0..4), odd_metadata());
    parts.prop_map(|(text, tool_calls, provider_metadata)| PromptMessage::Assistant {
        text: text.into(),
        tool_calls,
        provider_metadata,
    })
}

/// A valid answer of a model, read by its format. The stored message may have lost a call or its text.
fn real_answer() -> impl Strategy<Value = PromptMessage> {
    let parts = (
        select(EVERYONE.to_vec()),
        select(MODELS.to_vec()),
        select(TEXTS.to_vec()),
        prop::collection::vec((select(NAMES.to_vec()), select(ARGUMENTS.to_vec())), 0..4),
        any::<bool>(),
        0..8u8,
    );
    parts.prop_map(|(vendor, model, text, calls, thinks, lost)| {
        let mut said =
            calls.iter().fold(Said::text(text), |said, (tool, arguments)| said.and_call(tool, arguments));
        for (index, call) in said.calls.iter_mut().enumerate() {
            call.number = index + 1;
        }
        if thinks {
            said = said.after_thinking("thinking", signature(vendor));
        }
        let response = whole_answer(vendor, model, &said);
        let completion = vendor.completion(model, &response).unwrap_or_default();
        let mut tool_calls = completion.tool_calls;
        if lost == 0 {
            tool_calls.pop();
        }
        let text = if lost == 1 { String::new() } else { completion.text };
        PromptMessage::Assistant { text, tool_calls, provider_metadata: completion.provider_metadata }
    })
}

/// An answer and the results of its calls: complete, reordered, missing or duplicated.
fn step() -> impl Strategy<Value = Vec<PromptMessage>> {
    let answer = prop_oneof![odd_answer(), real_answer()];
    (answer, any::<u64>(), prop::collection::vec(shown(), 4)).prop_map(|(answer, fate, shown)| {
        let calls = match &answer {
            PromptMessage::Assistant { tool_calls, .. } => tool_calls.clone(),
            _ => Vec::new(),
        };
        let mut results = Vec::new();
        for (index, (call, shown)) in calls.iter().zip(shown).enumerate() {
            let fate = fate >> (index * 8);
            let text = TEXTS[fate as usize % TEXTS.len()].to_owned();
            let (call_id, name) = (call.id.clone(), call.name.clone());
            let result = PromptMessage::Tool { call_id, name, text, shown };
            let times = match fate % 8 {
                0 => 0,
                1 => 2,
                _ => 1,
            };
            results.extend(std::iter::repeat_n(result, times));
        }
        if fate % 3 == 0 {
            results.reverse();
        }
        [vec![answer], results].concat()
    })
}

fn history() -> impl Strategy<Value = Vec<PromptMessage>> {
    let stretch = prop_oneof![
        3 => user().prop_map(|message| vec![message]),
        4 => step(),
        1 => result().prop_map(|message| vec![message]),
    ];
    prop::collection::vec(stretch, 0..10).prop_map(|stretches| stretches.concat())
}

/// The history, the current message, and the steps of the running turn.
fn prompt() -> impl Strategy<Value = Prompt> {
    let now = shown().prop_map(|shown| PromptMessage::User { text: "and now?".into(), shown });
    let steps = prop::collection::vec(step(), 0..3).prop_map(|steps| steps.concat());
    (history(), now, steps, any::<bool>(), any::<bool>()).prop_map(|(before, now, steps, system, tools)| {
        Prompt {
            system: if system { "You are Photothread.".into() } else { String::new() },
            messages: [before, vec![now], steps].concat(),
            tools: if tools { offered() } else { Vec::new() },
            ..Prompt::default()
        }
    })
}

fn offered() -> Vec<ToolSpec> {
    Registry::new().specs()
}

/// The files that this vendor's models accept and that still exist.
fn loaded_files(vendor: Vendor, prompt: &Prompt, there: u8) -> LoadedFiles {
    let takes = |mime: &str| match vendor {
        Vendor::Anthropic => mime.starts_with("image/") || mime == "application/pdf",
        Vendor::OpenAi | Vendor::Gemini => mime != "text/plain",
    };
    let mut files = LoadedFiles::default();
    for message in &prompt.messages {
        let (PromptMessage::User { shown, .. } | PromptMessage::Tool { shown, .. }) = message else {
            continue;
        };
        for shown in shown {
            let number = shown.attachment.attachment_id.0.as_u128();
            let mime = &shown.attachment.mime_type;
            if takes(mime) && there & (1 << number) != 0 && !files.contains(shown) {
                files.add(shown, LoadedFile { mime: mime.clone(), bytes: Bytes::from_static(b"pixels") });
            }
        }
    }
    files
}

proptest! {
    #[test]
    fn every_request_is_accepted_by_its_api(
        prompt in prompt(),
        there in any::<u8>(),
        model in select(MODELS.to_vec()),
        stream in any::<bool>(),
        temperature in prop::option::of(0.0..2.0),
    ) {
        let settings = ModelSettings { model: model.into(), temperature, options: Default::default(), stream };
        for vendor in VENDORS {
            let request = vendor.request(&settings, &prompt, &loaded_files(*vendor, &prompt, there));
            let complaint = rules::complaint(*vendor, &request);
            prop_assert_eq!(&complaint, &None, "{}: {:#}", vendor, request);
            let text = request.to_string();
            prop_assert!(text.contains("and now?"), "{}", text);
            for other in EVERYONE.into_iter().filter(|other| other != vendor) {
                prop_assert!(!text.contains(signature(other)), "{} is sent what {} signed: {}", vendor, other, text);
            }
        }
    }
}
