//! Which agent a message goes to: the one of its command, else the one of the message it replies to, else the default.

use crate::domain::Message;

/// The agents and their commands.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    /// Never empty once configured; the first is the default.
    routes: Vec<Route>,
}

/// One agent and its command.
#[derive(Debug, Clone)]
pub struct Route {
    pub agent: String,
    /// Without the slash, in lower case.
    pub command: Option<String>,
}

/// A message that begins with the command of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand<'a> {
    pub agent: &'a str,
    /// The text after the command.
    pub words: &'a str,
}

impl Routes {
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        Self { routes: routes.into_iter().collect() }
    }

    /// Every command with its agent, in the order of the configuration.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        self.routes.iter().filter_map(|route| Some((route.command.as_deref()?, route.agent.as_str())))
    }

    /// The agent of a message: by its command, by the replied-to message, or the default. The default also replaces an
    /// agent that is no longer configured.
    pub fn agent(&self, commanded: Option<&str>, replied: Option<&Message>) -> String {
        let of_thread = replied.and_then(|message| message.agent_id.as_deref());
        let known = |name: &&str| self.routes.iter().any(|route| route.agent == *name);
        let default = self.routes.first().map(|route| route.agent.as_str());
        commanded.or(of_thread).filter(known).or(default).unwrap_or_default().to_owned()
    }

    /// Parses “/describe the second one”. In a group a command may name its bot, “/describe@a_bot”: it must be `me`. A
    /// command that no agent has is ordinary text.
    pub fn parse_command<'a>(&'a self, text: &'a str, me: &str) -> Option<AgentCommand<'a>> {
        let rest = text.trim_start().strip_prefix('/')?;
        let (command, mut rest) = split_word(rest);
        if let Some(addressed) = rest.strip_prefix('@') {
            let (name, after) = split_word(addressed);
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
        Some(AgentCommand { agent, words })
    }
}

/// The leading characters that commands and user names may have, and the rest.
fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, MessageId, NewMessage, Role, SessionId};

    fn routes() -> Routes {
        let route = |agent: &str, command: Option<&str>| Route {
            agent: agent.into(),
            command: command.map(str::to_owned),
        };
        Routes::new([
            route("editor", None),
            route("describer", Some("describe")),
            route("wit", Some("joke_2")),
        ])
    }

    #[test]
    fn a_command_selects_its_agent_and_is_removed_from_the_text() {
        let routes = routes();
        let read = |text| routes.parse_command(text, "PhotoBot").map(|found| (found.agent, found.words));
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
    fn other_commands_are_ordinary_text() {
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
            assert_eq!(routes().parse_command(text, "photobot"), None, "{text}");
        }
    }

    #[test]
    fn a_command_overrides_the_thread_and_the_default_replaces_a_missing_agent() {
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
