//! Tests of the Telegram world itself: it keeps Telegram's rules, called by teloxide and by plain HTTP. The bot does not run
//! here.

mod faults;
mod sending;
mod topics;
mod updates;

use crate::harness::World;
use serde_json::Value;
use teloxide::Bot;

/// The bot's own client, connected to this world.
fn bot(world: &World) -> Bot {
    rustls::crypto::ring::default_provider().install_default().ok();
    Bot::with_client(world.token(), telegram_http::Client::new())
        .set_api_url(world.api_url().parse().unwrap())
}

/// Calls a method by plain HTTP. Returns the status and the whole response.
async fn call(world: &World, method: &str, params: Value) -> (u16, Value) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = format!("{}/bot{}/{method}", world.api_url(), world.token());
    let answer = reqwest::Client::new().post(url).json(&params).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// The description in the response to a refused call.
async fn refusal(world: &World, method: &str, params: Value) -> String {
    let (status, answer) = call(world, method, params).await;
    assert_eq!((answer["ok"].as_bool(), answer["error_code"].as_u64()), (Some(false), Some(status.into())));
    answer["description"].as_str().unwrap().to_owned()
}
