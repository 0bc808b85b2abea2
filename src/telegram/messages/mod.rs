//! Every sentence that the bot itself sends on Telegram, one constructor each. Answers come from the agent.

mod usage;

pub use usage::{Spending, usage};

use super::parse::TelegramFile;
use crate::{
    access::PageAccess,
    agent::Routes,
    attachments::{AttachmentError, format_size},
};

const EXAMPLE: &str = "Send me a photo, then reply to it, for example:\n\
    • “highlight the top left in red, call it eagle”\n\
    • “crop to a square, then make it black and white”\n\
    • “rotate left” or “undo”\n\
    An album works too: “make them sepia” answers with an album.";

pub fn welcome() -> String {
    format!(
        "Hi! I'm **Photothread**: send a photo, reply to edit it.\n\n{EXAMPLE}\n\n/help shows what else I can do."
    )
}

pub fn paired() -> String {
    format!("Welcome! This bot is yours now.\n\n{}", welcome())
}

pub fn help(routes: &Routes) -> String {
    let agents: String = routes.commands().map(|(command, agent)| agent_help_line(command, agent)).collect();
    format!(
        "{EXAMPLE}\n\nReply to any photo, mine or yours, however old: I'll know which one you mean.\n\n\
         /new starts a new conversation (your photos stay)\n\
         /cancel stops what I'm doing\n\
         /usage tells what models have cost\n\
         /web opens the page in your browser\n\
         /help shows this{agents}"
    )
}

/// The description of an agent's command in Telegram's menu.
pub fn agent_command(agent: &str) -> String {
    format!("ask {agent}")
}

/// The line of an agent's command in /help, as Markdown.
fn agent_help_line(command: &str, agent: &str) -> String {
    let [command, agent] = [command, agent].map(|name| name.replace('_', "\\_"));
    format!("\n/{command} asks {agent}; replies stay with it")
}

/// How the chat shows a message that a person wrote on the web.
pub fn from_the_web(words: &str) -> String {
    format!("🌐 From the web\n{words}").trim_end().to_owned()
}

pub fn new_conversation() -> String {
    "A fresh start. I won't bring up what we said before, but you can still reply to any old photo.".into()
}

/// The name of a topic that /new opens.
pub fn new_topic_name() -> &'static str {
    "New conversation"
}

/// The first message in a topic that /new opened.
pub fn new_topic() -> String {
    "A fresh start, in a topic of its own. I won't bring up what we said elsewhere.".into()
}

/// The answer to /web where no login link is needed: the address of the page, or that it is turned off.
pub fn page(access: &PageAccess) -> String {
    match access {
        PageAccess::Closed => "There is no page: whoever runs me has turned it off.".into(),
        PageAccess::Local(address) | PageAccess::Login(address) => format!(
            "The page is at {address}, on the machine I run on. Nobody needs to log in there, and nobody else can reach it."
        ),
    }
}

pub fn login_link(link: &str) -> String {
    format!(
        "This link logs you in on the page. It is for you alone, and works once within five minutes:\n\n{link}"
    )
}

pub fn link_only_in_private() -> String {
    "The link to the page is for one person, so I don't give it in a group. Send me /web in our private chat."
        .into()
}

/// The progress line of a draft while neither text nor a tool can be shown.
pub fn thinking() -> &'static str {
    "thinking…"
}

pub fn cancelled() -> String {
    "Stopped.".into()
}

pub fn nothing_to_cancel() -> String {
    "There is nothing running right now.".into()
}

/// For a person who may not use the bot.
pub fn stranger(user_id: &str) -> String {
    format!("Hello! This bot is private. If you know its owner, ask them to let in your user id: `{user_id}`")
}

/// The answer to a wrong pairing code.
pub fn wrong_code() -> String {
    "That code isn't right. It is printed on the terminal where the bot was started.".into()
}

/// The file is larger than a bot may download.
pub fn too_big_for_telegram(file: &TelegramFile) -> String {
    let name = file.name();
    let large = file.bytes.map_or("too large".into(), format_size);
    format!(
        "I couldn't fetch {name}: it is {large}, and Telegram lets bots download files up to 20 MB. \
         Send a picture as a photo instead of a file, or a smaller or compressed version."
    )
}

pub fn could_not_download(file: &TelegramFile) -> String {
    let name = file.name();
    format!("I couldn't fetch {name} from Telegram. Please send it again.")
}

/// Files of a batch were refused together.
pub fn files_not_kept(reason: &AttachmentError) -> String {
    format!("I couldn't keep what you sent: {reason}")
}

/// The file was refused; `reason` becomes a full sentence.
pub fn not_kept(file: &TelegramFile, reason: &str) -> String {
    let end = if reason.ends_with(['.', '!']) { "" } else { "." };
    if file.filename.as_ref().is_some_and(|name| reason.starts_with(name)) {
        return format!("{reason}{end}");
    }
    let mut reason = reason.chars();
    let first = reason.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}{end}", reason.as_str())
}

/// Telegram refused these files, by name, in every shape.
pub fn telegram_refused(names: &[&str]) -> String {
    format!(
        "I made {}, but Telegram wouldn't take it. Ask me to resize or crop it, and I'll try again.",
        names.join(", ")
    )
}
