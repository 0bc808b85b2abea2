//! Titles of conversations. After its first turn a conversation gets its first words as title, then one from the model.
//! Titles never delay or fail a turn.

use super::{Agent, Engine, Titles, budgets::BudgetExhausted, turn_budget};
use crate::{
    attachments::markers,
    domain::{Attachment, Message, Role, Turn, TurnState},
    prompts::PromptError,
    providers::{Prompt, PromptMessage, ProviderError, fence::fenced},
    store::StoreError,
};
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::{debug, warn};

/// Length of a title from the first message.
const MAX_MESSAGE_CHARS: usize = 60;
/// Limits of a title from the model.
const MAX_MODEL_CHARS: usize = 80;
const MAX_MODEL_WORDS: usize = 12;
/// How much of each message the model sees.
const MAX_EXCERPT_CHARS: usize = 1000;
const MODEL_TIMEOUT: Duration = Duration::from_secs(60);
/// Requests for titles that run at the same time, in this process.
static TITLES_AT_ONCE: Semaphore = Semaphore::const_new(4);

/// Why the model gave no title. For the log.
#[derive(Debug, thiserror::Error)]
enum TitleError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Budget(#[from] BudgetExhausted),
    #[error("the model took too long")]
    TookTooLong(#[from] tokio::time::error::Elapsed),
    #[error("the model's answer is not a title")]
    Unusable,
}

/// Gives the session of a finished turn a title, if it has none yet.
pub async fn give_title(engine: &Engine, turn: &Turn, state: TurnState) {
    let beginning = match title_from_message(engine, turn).await {
        Ok(Some(beginning)) => beginning,
        Ok(None) => return,
        Err(error) => return warn!(%error, op = "give_title", "session stays without a title"),
    };
    let Some(agent) = engine.agent(&turn.agent_id) else { return };
    let asks_model = engine.titles == Titles::Model && agent.provider.name() != "offline";
    if !asks_model || state != TurnState::Done {
        return;
    }
    if let Err(error) = title_from_model(engine, agent, turn, &beginning).await {
        debug!(%error, op = "give_title", "no title from the model; the first words stay");
    }
}

/// How a conversation began.
struct Beginning {
    /// The person's text without markers.
    words: String,
    files: Vec<Attachment>,
    title: String,
}

/// None if the session has a title already, or no text and no files.
async fn title_from_message(engine: &Engine, turn: &Turn) -> Result<Option<Beginning>, StoreError> {
    let session = engine.store.session(turn.session_id).await?;
    if session.is_none_or(|session| session.title.is_some()) {
        return Ok(None);
    }
    let inputs = engine.store.inputs_of_turn(turn.turn_id).await?;
    let words =
        inputs.iter().map(markers::visible_text).map(|said| one_line(&said)).find(|said| !said.is_empty());
    let ids: Vec<_> = inputs.iter().flat_map(|message| message.attachments.clone()).collect();
    let files = engine.store.attachments(&turn.conversation, &ids).await?;
    let title = match &words {
        Some(words) => shorten(words, MAX_MESSAGE_CHARS),
        None => describe_files(&files),
    };
    let words = words.unwrap_or_default();
    let beginning = Beginning { words, files, title };
    let changed = !beginning.title.is_empty()
        && engine.store.replace_title(turn.session_id, None, &beginning.title).await?;
    Ok(changed.then_some(beginning))
}

async fn title_from_model(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    beginning: &Beginning,
) -> Result<(), TitleError> {
    let made = engine.store.messages_of_turn(turn.turn_id).await?;
    let answer = made.iter().rfind(|message| message.role == Role::Assistant);
    let prompt = Prompt {
        system: engine.prompts.title(turn.conversation.interface)?,
        messages: vec![PromptMessage::User {
            text: describe_beginning(beginning, answer),
            shown: Vec::new(),
        }],
        ..Prompt::default()
    };
    let ask = async {
        // Titles take no places of turns, so they have a bound of their own.
        let _place = TITLES_AT_ONCE.acquire().await;
        let reservation = turn_budget::reserve(engine, agent, turn, &prompt).await??;
        let completion = agent.provider.complete(&prompt, &|_| {}).await;
        turn_budget::record_request(engine, agent, turn, &completion).await;
        reservation.release().await;
        Ok::<_, TitleError>(completion?)
    };
    let completion = tokio::time::timeout(MODEL_TIMEOUT, ask).await??;
    let title = clean_title(&completion.text).ok_or(TitleError::Unusable)?;
    if !engine.store.replace_title(turn.session_id, Some(&beginning.title), &title).await? {
        debug!(op = "give_title", "title was changed meanwhile; the model's title is dropped");
    }
    Ok(())
}

fn describe_beginning(beginning: &Beginning, answer: Option<&Message>) -> String {
    let shortened = |text: &str| fenced(&shorten(text.trim(), MAX_EXCERPT_CHARS));
    let mut parts = Vec::new();
    if !beginning.words.is_empty() {
        parts.push(format!("They wrote:\n{}", shortened(&beginning.words)));
    }
    if !beginning.files.is_empty() {
        parts.push(format!("They sent:\n{}", shortened(&describe_files(&beginning.files))));
    }
    if let Some(answer) = answer.filter(|answer| !answer.content.trim().is_empty()) {
        parts.push(format!("They were answered:\n{}", shortened(&answer.content)));
    }
    parts.join("\n\n")
}

/// "Photo", "3 photos", "report.pdf", "4 files".
fn describe_files(files: &[Attachment]) -> String {
    let photos = files.iter().all(Attachment::is_image);
    match files {
        [] => String::new(),
        [_] if photos => "Photo".to_owned(),
        [file] => shorten(&one_line(&file.filename), MAX_MESSAGE_CHARS),
        all if photos => format!("{} photos", all.len()),
        all => format!("{} files", all.len()),
    }
}

fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_whitespace() || c.is_control();
    text.split(breaks).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Shortens a text to `max` characters, between words where possible.
fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max - 1).collect();
    // The next character shows whether the last word is complete.
    let complete = text.chars().nth(max - 1).is_some_and(char::is_whitespace);
    let at = if complete { None } else { kept.rfind(char::is_whitespace) };
    // One long word, or a language without spaces.
    let at = at.filter(|at| *at >= kept.len() / 2).unwrap_or(kept.len());
    format!("{}…", kept[..at].trim_end_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation()))
}

/// The model's answer as a title: one line of plain text. None if it is not a title.
fn clean_title(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    let plain: String = remove_links(line).chars().filter(|c| !matches!(c, '*' | '`' | '~')).collect();
    let plain = one_line(&plain);
    let plain = ["Title:", "title:"].iter().find_map(|label| plain.strip_prefix(label)).unwrap_or(&plain);
    let edge = |c: char| c.is_whitespace() || "#>_\"'“”„‟«»‹›‘’‚「」『』.。…:-–—".contains(c);
    let title = plain.trim_matches(edge);
    let words = title.split_whitespace().count();
    // An answer with a marker or many words is not a title.
    let unfit = title.is_empty() || words > MAX_MODEL_WORDS || title.contains("[Attachment ID");
    (!unfit).then(|| shorten(title, MAX_MODEL_CHARS))
}

/// Replaces `[text](url)` by its text.
fn remove_links(line: &str) -> String {
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
    fn a_title_from_the_model_is_one_line_of_plain_text() {
        for (said, title) in [
            ("A cat in the garden", "A cat in the garden"),
            ("\n\"A cat in the garden.\"\n\nHope that helps!", "A cat in the garden"),
            ("**Title: Die Katze im Garten**", "Die Katze im Garten"),
            ("# `Crop` of a [pelican](https://example.com/a)", "Crop of a pelican"),
            ("«Un chat au jardin»", "Un chat au jardin"),
            ("花园里的猫。", "花园里的猫"),
            ("- Ann's photos & 2.5 MB limit", "Ann's photos & 2.5 MB limit"),
        ] {
            assert_eq!(clean_title(said).as_deref(), Some(title), "{said}");
        }
    }

    #[test]
    fn other_answers_are_not_titles() {
        let essay = "I would be glad to help you to find a title for this nice conversation of yours";
        for said in ["", "  \n", "\"...\"", essay, "[Attachment ID: 1]"] {
            assert_eq!(clean_title(said), None, "{said}");
        }
    }

    #[test]
    fn text_is_shortened_between_words() {
        assert_eq!(shorten("make it brighter", 60), "make it brighter");
        assert_eq!(shorten("make it brighter", 16), "make it brighter");
        assert_eq!(shorten("make it brighter", 15), "make it…");
        assert_eq!(shorten("make it, brighter", 9), "make it…");
        assert_eq!(shorten("make it brighter", 8), "make it…");
        assert_eq!(shorten(&"é".repeat(70), 60), format!("{}…", "é".repeat(59)));
    }

    proptest! {
        #[test]
        fn titles_are_short_and_one_line(said in "\\PC{0,200}|[\\[\\]()a \n]{0,60}") {
            if let Some(title) = clean_title(&said) {
                prop_assert!(title.chars().count() <= MAX_MODEL_CHARS && title.lines().count() == 1, "{title:?}");
            }
            let short = shorten(&one_line(&said), MAX_MESSAGE_CHARS);
            prop_assert!(short.chars().count() <= MAX_MESSAGE_CHARS && short.lines().count() <= 1, "{short:?}");
        }
    }
}
