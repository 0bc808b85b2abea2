//! Which agent a message is for: the one whose command it carries, else the one of the message it replies to, else
//! the first. How a message arrives is the interfaces' business.

use crate::domain::Message;

/// The agents as people can reach them.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    /// Never empty once configured; the first is the default.
    ways: Vec<Way>,
}

/// One agent, and the command that leads to it.
#[derive(Debug, Clone)]
pub struct Way {
    pub agent: String,
    /// Without the slash, in lower case.
    pub command: Option<String>,
}

/// What a person wrote after a command, and whose command it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commanded<'a> {
    pub agent: &'a str,
    pub words: &'a str,
}

impl Routes {
    pub fn new(ways: impl IntoIterator<Item = Way>) -> Self {
        Self { ways: ways.into_iter().collect() }
    }

    /// Every command with its agent, in the order they are configured.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ways.iter().filter_map(|way| Some((way.command.as_deref()?, way.agent.as_str())))
    }

    /// The agent of a message: by its command, by what it replies to, or the default. One that is no longer
    /// configured hands over to the default.
    pub fn agent(&self, commanded: Option<&str>, replied: Option<&Message>) -> String {
        let of_thread = replied.and_then(|message| message.agent_id.as_deref());
        let known = |name: &&str| self.ways.iter().any(|way| way.agent == *name);
        let default = self.ways.first().map(|way| way.agent.as_str());
        commanded.or(of_thread).filter(known).or(default).unwrap_or_default().to_owned()
    }

    /// Reads “/describe the second one”. In a group people may add whom they mean, “/describe@a_bot”: that must be
    /// `me`. A command that no agent has is ordinary text.
    pub fn commanded<'a>(&'a self, text: &'a str, me: &str) -> Option<Commanded<'a>> {
        let rest = text.trim_start().strip_prefix('/')?;
        let (command, mut rest) = word(rest);
        if let Some(addressed) = rest.strip_prefix('@') {
            let (name, after) = word(addressed);
            if !name.eq_ignore_ascii_case(me) {
                return None;
            }
            rest = after;
        }
        if !(rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, ',' | ':'))) {
            return None;
        }
        let (_, agent) = self.commands().find(|(name, _)| name.eq_ignore_ascii_case(command))?;
        let words = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
        Some(Commanded { agent, words })
    }
}

/// The letters that commands and names are made of, and what follows them.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, MessageId, NewMessage, Role, SessionId};

    fn routes() -> Routes {
        let way = |agent: &str, command: Option<&str>| Way {
            agent: agent.into(),
            command: command.map(str::to_owned),
        };
        Routes::new([way("editor", None), way("describer", Some("describe")), way("wit", Some("joke_2"))])
    }

    #[test]
    fn a_command_names_its_agent_and_is_not_part_of_the_words() {
        let routes = routes();
        let read = |text| routes.commanded(text, "PhotoBot").map(|found| (found.agent, found.words));
        for text in [
            "/describe what is this",
            "  /DESCRIBE   what is this",
            "/describe@photobot what is this",
            "/Describe@PhotoBot\nwhat is this",
            "/describe: what is this",
        ] {
            assert_eq!(read(text), Some(("describer", "what is this")), "{text}");
        }
        assert_eq!(read("/describe"), Some(("describer", "")));
        assert_eq!(read("/joke_2 please /describe"), Some(("wit", "please /describe")));
    }

    #[test]
    fn what_is_no_command_of_an_agent_is_ordinary_text() {
        for text in [
            "describe this",
            "please /describe this",
            "/described this",
            "/describe/this",
            "/describe@another_bot this",
            "/describe@photobots this",
            "/describe@",
            "/",
            "/ describe",
            "/help",
            "/décrire",
            "",
        ] {
            assert_eq!(routes().commanded(text, "photobot"), None, "{text}");
        }
    }

    #[test]
    fn a_command_wins_over_the_thread_and_an_agent_no_longer_there_hands_over_to_the_first() {
        let of = |agent: Option<&str>| Message {
            internal_id: MessageId(1),
            body: NewMessage {
                agent_id: agent.map(str::to_owned),
                ..NewMessage::new(Conversation::telegram(1), SessionId::new(), Role::User, "")
            },
        };
        let routes = routes();
        assert_eq!(routes.agent(None, None), "editor");
        assert_eq!(routes.agent(None, Some(&of(None))), "editor");
        assert_eq!(routes.agent(None, Some(&of(Some("wit")))), "wit");
        assert_eq!(routes.agent(Some("describer"), Some(&of(Some("wit")))), "describer");
        assert_eq!(routes.agent(None, Some(&of(Some("long_gone")))), "editor");
    }
}
