//! The bot's own account, as Telegram knows it.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotIdentity {
    pub user_id: u64,
    pub username: String,
}
