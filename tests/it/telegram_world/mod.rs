//! The Telegram world keeps Telegram's rules, as seen by teloxide and by bare HTTP. The bot itself is not here.

mod faults;
mod sending;
mod updates;

use crate::harness::World;
use serde_json::Value;
use teloxide::Bot;

/// The client our bot uses, talking to this world.
fn bot(world: &World) -> Bot {
    rustls::crypto::ring::default_provider().install_default().ok();
    Bot::with_client(world.token(), telegram_http::Client::new())
        .set_api_url(world.api_url().parse().unwrap())
}

/// A method called without any library: its status and its whole answer.
async fn call(world: &World, method: &str, params: Value) -> (u16, Value) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = format!("{}/bot{}/{method}", world.api_url(), world.token());
    let answer = reqwest::Client::new().post(url).json(&params).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// What a refused call is told.
async fn refusal(world: &World, method: &str, params: Value) -> String {
    let (status, answer) = call(world, method, params).await;
    assert_eq!((answer["ok"].as_bool(), answer["error_code"].as_u64()), (Some(false), Some(status.into())));
    answer["description"].as_str().unwrap().to_owned()
}
