//! Slash commands: /start, /help, /new, /cancel, /usage and /web. Agents have commands of their own, which belong to the
//! messages they stand in.

use crate::{
    access::{Admission, PageAccess, Pairing},
    agent::budgets::Budgets,
    domain::{Conversation, PlannedSend, UserId},
    store::{Spender, StoreError},
    telegram::{
        Telegram,
        error_text::describe,
        file, messages,
        place::Place,
        plan::{SendRequest, plan_for_one, plan_message},
    },
};
use chrono::TimeDelta;
use teloxide::{
    requests::Requester as _,
    types::{BotCommand, Message},
    utils::command::BotCommands,
};
use tracing::warn;

/// /usage reports today and this many days before it.
const USAGE_DAYS_BEFORE_TODAY: i64 = 29;

#[derive(BotCommands, Debug, Clone, PartialEq, Eq)]
#[command(rename_rule = "lowercase")]
pub enum SlashCommand {
    #[command(description = "what I can do, with an example")]
    Start(String),
    #[command(description = "what I can do")]
    Help,
    #[command(description = "start a new conversation")]
    New,
    #[command(description = "stop what I'm doing")]
    Cancel,
    #[command(description = "what models have cost")]
    Usage,
    #[command(description = "open the page in your browser")]
    Web,
}

/// Registers the commands for Telegram's menu. A failure is only logged.
pub async fn register_commands(telegram: &Telegram) {
    // teloxide writes the slash, which Telegram's documentation does not allow.
    let without_slash = |c: BotCommand| BotCommand::new(c.command.trim_start_matches('/'), c.description);
    let of_agents = telegram.routes.commands();
    let of_agents =
        of_agents.map(|(command, agent)| BotCommand::new(command, messages::agent_command(agent)));
    let commands = SlashCommand::bot_commands().into_iter().map(without_slash).chain(of_agents);
    if let Err(error) = telegram.bot.set_my_commands(commands).await {
        warn!(error = describe(&error), op = "set_my_commands", "the commands are not registered");
    }
}

/// Closes the update and plans its answer in one transaction.
pub async fn answer(
    telegram: &Telegram,
    inbox_id: i64,
    message: &Message,
    command: &SlashCommand,
) -> Result<(), StoreError> {
    let conversation = Place::of_message(message).conversation();
    let Some(user) = message.from.as_ref().map(|user| UserId(user.id.0.to_string())) else {
        return telegram.store.close_update(inbox_id).await;
    };
    let pairing = match command {
        SlashCommand::Start(code) if !code.trim().is_empty() => telegram.access.pair(&user, code).await?,
        _ => Pairing::Closed,
    };
    let sends = match pairing {
        Pairing::Paired => plan_message(&messages::paired()),
        Pairing::WrongCode => plan_message(&messages::wrong_code()),
        Pairing::Ignored => return telegram.store.close_update(inbox_id).await,
        // The bot has an owner already: an ordinary command.
        Pairing::Closed => match telegram.access.admit(&conversation, &user).await? {
            Admission::Stranger if telegram.access.should_notify(&user).await? => {
                plan_for_one(&conversation, &user, &messages::stranger(&user.0))
            }
            Admission::Stranger => return telegram.store.close_update(inbox_id).await,
            Admission::Welcome(_) => run_command(telegram, &conversation, &user, command).await?,
        },
    };
    telegram.store.answer_update(&[inbox_id], &conversation, None, &sends).await?;
    telegram.send_wake.notify_one();
    Ok(())
}

async fn run_command(
    telegram: &Telegram,
    conversation: &Conversation,
    user: &UserId,
    command: &SlashCommand,
) -> Result<Vec<PlannedSend>, StoreError> {
    let text = match command {
        SlashCommand::Start(_) => messages::welcome(),
        SlashCommand::Help => messages::help(&telegram.routes),
        SlashCommand::New if telegram.features.new_opens_topic && is_private(conversation, user) => {
            return Ok(vec![SendRequest::OpenTopic { user: user.clone() }.into_planned()]);
        }
        SlashCommand::New => {
            telegram.store.start_session(conversation, user).await?;
            messages::new_conversation()
        }
        SlashCommand::Cancel => {
            let cancelled_waiting = file::cancel_waiting(telegram, conversation, user).await?;
            if telegram.turns.cancel(conversation).await? || cancelled_waiting {
                messages::cancelled()
            } else {
                messages::nothing_to_cancel()
            }
        }
        SlashCommand::Usage => usage(telegram, conversation, user).await?,
        SlashCommand::Web => match telegram.logins.page_access() {
            // A link logs in one person, and every member of a group could follow it.
            PageAccess::Login(_) if !is_private(conversation, user) => messages::link_only_in_private(),
            PageAccess::Login(_) => return Ok(vec![SendRequest::LoginLink {}.into_planned()]),
            access => messages::page(access),
        },
    };
    Ok(plan_message(&text))
}

/// A private chat has the id of its person.
fn is_private(conversation: &Conversation, user: &UserId) -> bool {
    conversation.chat_id() == user.0
}

async fn usage(
    telegram: &Telegram,
    conversation: &Conversation,
    user: &UserId,
) -> Result<String, StoreError> {
    let today = Budgets::today();
    let since = today - TimeDelta::days(USAGE_DAYS_BEFORE_TODAY);
    let chat = match is_private(conversation, user) {
        true => None,
        false => Some(telegram.store.usage_of_conversation(conversation, since).await?),
    };
    let spender = Spender {
        conversation: conversation.clone(),
        user_id: user.clone(),
        agent_id: telegram.routes.agent(None, None),
    };
    Ok(messages::usage(&messages::Spending {
        today,
        own: telegram.store.usage_of_user(user, since).await?,
        chat,
        left: telegram.budgets.left(&spender).await?,
        models: telegram.budgets.rules().models,
    }))
}
