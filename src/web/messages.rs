//! Texts about login, tokens and refused requests, for people and for programs.

pub const LOG_IN: &str = "Please log in";
pub const HOW_TO_LOG_IN: &str = "Send /web to the bot on Telegram, in your private chat with it. It answers with a link that logs you in.";
pub const WELCOME: &str = "Hello!";
pub const ONE_CLICK: &str = "One click, and this browser is logged in.";
pub const LOG_IN_HERE: &str = "Log in";
pub const LINK_IS_SPENT: &str = "This link has done its work";
pub const ASK_FOR_ANOTHER: &str =
    "Links work once, and for five minutes. Send /web to the bot on Telegram, and it gives you a new one.";
pub const SLOW_DOWN: &str = "One moment, please";

pub const LOG_IN_FIRST: &str = "Log in first, or send an API token: Authorization: Bearer pt_…";
pub const WRONG_TOKEN: &str = "This API token does not exist, has expired, or was revoked.";
pub const NOT_FROM_THE_PAGE: &str =
    "This must be sent from the page itself, or by a program with an API token.";
pub const TOKENS_MAKE_NO_TOKENS: &str =
    "A token cannot make another one. Log in to the page and make it there.";
pub const TOO_MANY_TOKENS: &str = "You have as many tokens as one can have. Revoke one that you do not use.";
pub const ONE_HOST: &str = "A request needs exactly one Host header.";
pub const BEHIND_A_PROXY: &str = "This came through a proxy, but nobody has to log in here: everyone who reaches the proxy \
     would see everything. Set web.auth to required, and web.public_url to the address of the proxy.";
pub const TOO_MANY_STREAMS: &str =
    "You are watching as many conversations as one can at a time. Close one that you do not need.";
pub const NOT_YOUR_MESSAGE: &str = "This message is somebody else's. In a group, only the person who wrote it or asked for it, or an admin, changes it.";
pub const NOT_YOUR_FILE: &str = "This file is somebody else's. In a group, only the person who sent it or asked for it, or an admin, deletes it.";
pub const ONLY_ADMINS_DELETE: &str =
    "This conversation belongs to everybody in the group. Only an admin can delete it.";
pub const ONLY_YOUR_WORDS: &str = "In a group you can change the words of your own messages. Only an admin adds, removes or \
     changes others.";
pub const TOO_SLOW: &str = "The request came too slowly. Please try again on a better connection.";
pub const UPLOAD_TOO_SLOW: &str = "This took longer than ten minutes to arrive. Please try again on a better connection, or with less at once.";
pub const TOO_MANY_VALUES: &str = "This JSON holds more values than any request here needs.";
pub const BROKEN_OFF: &str = "The request broke off before its end.";
pub const BROKEN: &str = "Something went wrong here. Please try again.";
pub const NOT_THIS_MACHINE: &str = "Open this page as http://127.0.0.1 or http://localhost.";

pub fn answers_to(host: &str) -> String {
    format!("This page is at {host}, and answers to no other name.")
}

pub fn too_often(seconds: u64) -> String {
    format!("That was wrong too often. Try again in {seconds} seconds.")
}
