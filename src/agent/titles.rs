//! A conversation gets a title after its first turn: its first words at once, and better ones from the model when
//! they come. Nobody waits for a title, and nothing fails for want of one.

use super::{Agent, Engine, bill};
use crate::{
    attachments::markers,
    domain::{Attachment, Message, Role, Turn, TurnState},
    prompts::PromptError,
    providers::{Prompt, PromptMessage, ProviderError, fence::fenced},
    store::StoreError,
};
use std::time::Duration;
use tracing::{debug, warn};

/// Where titles come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Titles {
    /// From the model, for agents that have one.
    Model,
    /// From the first message.
    Message,
}

/// What is cut from a message.
const MESSAGE_CHARS: usize = 60;
/// What a model may say at most.
const MODEL_CHARS: usize = 80;
const MODEL_WORDS: usize = 12;
/// As much of each side as a title can be made from.
const TOLD_CHARS: usize = 1000;
/// A title that takes longer than this is not worth it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why the title stays what it was. For the log.
#[derive(Debug, thiserror::Error)]
enum NoTitle {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("the model took too long")]
    TookTooLong(#[from] tokio::time::error::Elapsed),
    #[error("the model's answer is no title")]
    Unusable,
}

/// Names the session of a turn that has just ended, if it has no name yet.
pub async fn give(engine: &Engine, turn: &Turn, ended: TurnState) {
    let beginning = match name_after_message(engine, turn).await {
        Ok(Some(beginning)) => beginning,
        Ok(None) => return,
        Err(error) => return warn!(%error, "a conversation stays without a title"),
    };
    let Some(agent) = engine.agent(&turn.agent_id) else { return };
    let asks = engine.titles == Titles::Model && agent.provider.name() != "offline";
    if !asks || ended != TurnState::Done {
        return;
    }
    if let Err(error) = name_by_model(engine, agent, turn, &beginning).await {
        debug!(%error, "a conversation keeps its first words as its title");
    }
}

/// How a conversation began.
struct Beginning {
    /// What the person said, without markers.
    words: String,
    files: Vec<Attachment>,
    title: String,
}

/// None if it has a title already, or nothing to make one from.
async fn name_after_message(engine: &Engine, turn: &Turn) -> Result<Option<Beginning>, StoreError> {
    let session = engine.store.session(turn.session_id).await?;
    if session.is_none_or(|session| !session.title.is_empty()) {
        return Ok(None);
    }
    let inputs = engine.store.inputs_of_turn(turn.turn_id).await?;
    let words = inputs.iter().map(markers::said).map(|said| one_line(&said)).find(|said| !said.is_empty());
    let ids: Vec<_> = inputs.iter().flat_map(|message| message.attachments.clone()).collect();
    let files = engine.store.attachments(&turn.conversation, &ids).await?;
    let title = match &words {
        Some(words) => cut(words, MESSAGE_CHARS),
        None => named_after(&files),
    };
    let words = words.unwrap_or_default();
    let beginning = Beginning { words, files, title };
    let named = !beginning.title.is_empty()
        && engine.store.retitle_session(turn.session_id, "", &beginning.title).await?;
    Ok(named.then_some(beginning))
}

async fn name_by_model(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    beginning: &Beginning,
) -> Result<(), NoTitle> {
    if let Some(exhausted) = bill::exhausted(engine, agent, turn).await? {
        debug!(%exhausted, "no model is asked for a title");
        return Ok(());
    }
    let made = engine.store.messages_of_turn(turn.turn_id).await?;
    let answer = made.iter().rfind(|message| message.role == Role::Assistant);
    let prompt = Prompt {
        system: engine.prompts.title(turn.conversation.interface)?,
        messages: vec![PromptMessage::User { text: told(beginning, answer), shown: Vec::new() }],
        ..Prompt::default()
    };
    let asking = bill::noted(engine, agent, turn, agent.provider.complete(&prompt, &|_| {}));
    let completion = tokio::time::timeout(PATIENCE, asking).await??;
    let title = cleaned(&completion.text).ok_or(NoTitle::Unusable)?;
    if !engine.store.retitle_session(turn.session_id, &beginning.title, &title).await? {
        debug!("somebody named the conversation meanwhile");
    }
    Ok(())
}

fn told(beginning: &Beginning, answer: Option<&Message>) -> String {
    let shortened = |text: &str| fenced(&cut(text.trim(), TOLD_CHARS));
    let mut parts = Vec::new();
    if !beginning.words.is_empty() {
        parts.push(format!("They wrote:\n{}", shortened(&beginning.words)));
    }
    if !beginning.files.is_empty() {
        parts.push(format!("They sent:\n{}", shortened(&named_after(&beginning.files))));
    }
    if let Some(answer) = answer.filter(|answer| !answer.content.trim().is_empty()) {
        parts.push(format!("They were answered:\n{}", shortened(&answer.content)));
    }
    parts.join("\n\n")
}

/// "Photo", "3 photos", "report.pdf", "4 files".
fn named_after(files: &[Attachment]) -> String {
    let photos = files.iter().all(Attachment::is_image);
    match files {
        [] => String::new(),
        [_] if photos => "Photo".to_owned(),
        [file] => cut(&one_line(&file.filename), MESSAGE_CHARS),
        all if photos => format!("{} photos", all.len()),
        all => format!("{} files", all.len()),
    }
}

fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_whitespace() || c.is_control();
    text.split(breaks).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// At most this long, cut between words where there are any.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    // The next character tells whether the last word is whole.
    let whole = text.chars().nth(most - 1).is_some_and(char::is_whitespace);
    let at = if whole { None } else { kept.rfind(char::is_whitespace) };
    // One long word, or a language that writes without spaces.
    let at = at.filter(|at| *at >= kept.len() / 2).unwrap_or(kept.len());
    format!("{}…", kept[..at].trim_end_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation()))
}

/// What the model said as a title: one line of plain words, or nothing if it is something else.
fn cleaned(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    let plain: String = without_links(line).chars().filter(|c| !matches!(c, '*' | '`' | '~')).collect();
    let plain = one_line(&plain);
    let plain = ["Title:", "title:"].iter().find_map(|label| plain.strip_prefix(label)).unwrap_or(&plain);
    let edge = |c: char| c.is_whitespace() || "#>_\"'“”„‟«»‹›‘’‚「」『』.。…:-–—".contains(c);
    let title = plain.trim_matches(edge);
    let words = title.split_whitespace().count();
    // A marker is no word, and many words are no title.
    let unfit = title.is_empty() || words > MODEL_WORDS || title.contains("[Attachment ID");
    (!unfit).then(|| cut(title, MODEL_CHARS))
}

/// `[words](address)` as its words.
fn without_links(line: &str) -> String {
    let mut text = line.to_owned();
    while let Some(middle) = text.find("](") {
        let Some(end) = text[middle..].find(')').map(|at| middle + at) else { break };
        text.replace_range(middle..=end, "");
        if let Some(start) = text[..middle].rfind('[') {
            text.remove(start);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_title_of_the_model_is_one_line_of_plain_words() {
        for (said, title) in [
            ("A cat in the garden", "A cat in the garden"),
            ("\n\"A cat in the garden.\"\n\nHope that helps!", "A cat in the garden"),
            ("**Title: Die Katze im Garten**", "Die Katze im Garten"),
            ("# `Crop` of a [pelican](https://example.com/a)", "Crop of a pelican"),
            ("«Un chat au jardin»", "Un chat au jardin"),
            ("花园里的猫。", "花园里的猫"),
            ("- Ann's photos & 2.5 MB limit", "Ann's photos & 2.5 MB limit"),
        ] {
            assert_eq!(cleaned(said).as_deref(), Some(title), "{said}");
        }
    }

    #[test]
    fn what_is_no_title_is_refused() {
        let essay = "I would be glad to help you to find a title for this nice conversation of yours";
        for said in ["", "  \n", "\"...\"", essay, "[Attachment ID: 1]"] {
            assert_eq!(cleaned(said), None, "{said}");
        }
    }

    #[test]
    fn words_are_cut_between_words_and_marked_only_if_cut() {
        assert_eq!(cut("make it brighter", 60), "make it brighter");
        assert_eq!(cut("make it brighter", 16), "make it brighter");
        assert_eq!(cut("make it brighter", 15), "make it…");
        assert_eq!(cut("make it, brighter", 9), "make it…");
        assert_eq!(cut("make it brighter", 8), "make it…");
        assert_eq!(cut(&"é".repeat(70), 60), format!("{}…", "é".repeat(59)));
    }

    proptest! {
        #[test]
        fn no_title_is_longer_than_it_may_be_or_more_than_a_line(said in "\\PC{0,200}|[\\[\\]()a \n]{0,60}") {
            if let Some(title) = cleaned(&said) {
                prop_assert!(title.chars().count() <= MODEL_CHARS && title.lines().count() == 1, "{title:?}");
            }
            let short = cut(&one_line(&said), MESSAGE_CHARS);
            prop_assert!(short.chars().count() <= MESSAGE_CHARS && short.lines().count() <= 1, "{short:?}");
        }
    }
}
