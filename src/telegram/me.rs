//! Who the bot is, as Telegram knows it.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    pub user_id: u64,
    pub username: String,
}
