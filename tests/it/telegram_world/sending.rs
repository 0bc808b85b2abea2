//! Sends that Telegram accepts, and sends that it refuses.

use super::{bot, call, refusal};
use crate::harness::{MessageRef, RateLimits, World, jpeg, jpeg_of, png, user};
use serde_json::json;
use teloxide::{
    ApiError, RequestError,
    net::Download,
    prelude::*,
    types::{
        ChatAction, FileId, InputFile, InputMedia, InputMediaDocument, InputMediaPhoto, MessageId,
        ReplyParameters, UserId,
    },
};

const ANN: ChatId = ChatId(1001);

fn photo(bytes: Vec<u8>) -> InputMedia {
    InputMedia::Photo(InputMediaPhoto::new(InputFile::memory(bytes)))
}

fn api_error<T: std::fmt::Debug>(outcome: Result<T, RequestError>) -> ApiError {
    match outcome.unwrap_err() {
        RequestError::Api(error) => error,
        other => panic!("expected Telegram's refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn a_text_arrives_with_its_reply_and_takes_the_next_message_id() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let hello = ann.says("hello").await;
    let bot = bot(&world);
    let reply = ReplyParameters::new(MessageId(hello.message_id));
    let sent = bot.send_message(ANN, "hi Ann").reply_parameters(reply).await.unwrap();
    assert_eq!(sent.reply_to_message().unwrap().text(), Some("hello"));
    let read = ann.next_message().await;
    assert_eq!((read.message_id, read.text.as_str(), read.reply_to), (2, "hi Ann", Some(1)));
    assert_eq!(ann.says("and again").await.message_id, 3);
    ann.has_nothing_more();
}

#[tokio::test]
async fn a_photo_has_several_sizes_with_the_largest_last_and_can_be_downloaded() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let original = jpeg(640, 480);
    let sent = bot.send_photo(ANN, InputFile::memory(original.clone())).caption("turned").await.unwrap();
    let sizes = sent.photo().unwrap();
    let widths: Vec<u32> = sizes.iter().map(|size| size.width).collect();
    assert_eq!(widths, [90, 320, 640]);
    for (size, expected) in [(&sizes[0], None), (&sizes[2], Some(&original))] {
        let file = bot.get_file(size.file.id.clone()).await.unwrap();
        let mut bytes = Vec::new();
        bot.download_file(&file.path, &mut bytes).await.unwrap();
        assert_eq!(bytes.len(), file.size as usize);
        assert!(expected.is_none_or(|expected| *expected == bytes));
        let decoded = image::load_from_memory(&bytes).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (size.width, size.height));
    }
    let read = ann.next_message().await;
    assert_eq!((read.photo.as_deref(), read.caption.as_str()), (Some(&original[..]), "turned"));

    let again = InputFile::file_id(sizes[2].file.id.clone());
    bot.send_photo(ANN, again.clone()).await.unwrap();
    assert_eq!(ann.next_message().await.photo.as_deref(), Some(&original[..]));
    let other_kind = api_error(bot.send_document(ANN, again).await);
    assert_eq!(
        other_kind.to_string(),
        "Unknown error: \"Bad Request: can't use file of type Photo as Document\""
    );
}

#[tokio::test]
async fn an_album_is_one_send_of_several_messages() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let (red, blue) = (jpeg_of(60, 40, [200, 0, 0]), jpeg_of(60, 40, [0, 0, 200]));
    let first = InputMediaPhoto::new(InputFile::memory(red.clone()).file_name("red.jpg")).caption("both");
    let sent = bot.send_media_group(ANN, [InputMedia::Photo(first), photo(blue.clone())]).await.unwrap();
    assert_eq!(sent[0].media_group_id(), sent[1].media_group_id());
    let album = ann.next_album().await;
    let ids: Vec<i32> = album.iter().map(|piece| piece.message_id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!([&album[0].photo, &album[1].photo].map(|p| p.as_deref().unwrap()), [&red[..], &blue[..]]);
    assert_eq!((album[0].caption.as_str(), album[1].caption.as_str()), ("both", ""));
    assert!(album[0].media_group_id.is_some());
}

#[tokio::test]
async fn albums_have_two_to_ten_items_of_compatible_kinds_and_are_sent_whole_or_not_at_all() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let document =
        || InputMedia::Document(InputMediaDocument::new(InputFile::memory("x").file_name("x.txt")));
    let small = jpeg(20, 20);
    let photos = |count| (0..count).map(|_| photo(small.clone())).collect::<Vec<_>>();
    let cases = [
        (vec![], "there are no messages to send"),
        (photos(1), "too few messages to send as an album"),
        (photos(11), "too many messages to send as an album"),
        (vec![photo(small.clone()), document()], "document can't be mixed with other media types"),
        (
            vec![photo(small.clone()), photo(png(2100, 100))],
            "failed to send message #2 with the error message \\\"PHOTO_INVALID_DIMENSIONS\\\"",
        ),
    ];
    for (media, why) in cases {
        let refused = api_error(bot.send_media_group(ANN, media).await).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(world.sends_to(1001).is_empty());
    bot.send_media_group(ANN, photos(10)).await.unwrap();
    assert_eq!(ann.next_album().await.len(), 10);
    bot.send_media_group(ANN, [document(), document()]).await.unwrap();
    assert_eq!(ann.next_album().await[1].document.as_ref().unwrap().0, "x.txt");
}

#[tokio::test]
async fn texts_and_captions_are_counted_in_utf16_units() {
    let world = World::start().await;
    world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    assert_eq!(api_error(bot.send_message(ANN, " \n ").await), ApiError::MessageTextIsEmpty);
    bot.send_message(ANN, "😀".repeat(2048)).await.unwrap();
    assert_eq!(api_error(bot.send_message(ANN, "😀".repeat(2048) + "!").await), ApiError::MessageIsTooLong);
    let small = InputFile::memory(jpeg(20, 20));
    bot.send_photo(ANN, small.clone()).caption("é".repeat(1024)).await.unwrap();
    let refused = api_error(bot.send_photo(ANN, small).caption("é".repeat(1025)).await).to_string();
    assert!(refused.contains("Bad Request: message caption is too long"), "{refused}");
    let tags =
        json!({ "chat_id": 1001, "parse_mode": "HTML", "text": format!("<b>{}</b>", "x".repeat(4096)) });
    assert_eq!(call(&world, "sendMessage", tags).await.0, 200);
}

#[tokio::test]
async fn entities_must_be_inside_the_text_and_not_split_a_surrogate_pair() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bold = |offset: i64, length: i64| json!({ "chat_id": 1001, "text": "a😀b", "entities": [{ "type": "bold", "offset": offset, "length": length }] });
    let cases = [
        (bold(0, 5), "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 5"),
        (bold(9, 1), "entity begins after the end of the text at UTF-16 offset 9"),
        (bold(2, 1), "entity begins in a middle of a UTF-16 symbol at byte offset 5"),
        (
            bold(1, 1),
            "entity beginning at UTF-16 offset 1 ends in a middle of a UTF-16 symbol at byte offset 5",
        ),
        (bold(-1, 1), "receive an entity with incorrect offset -1"),
    ];
    for (params, why) in cases {
        assert_eq!(refusal(&world, "sendMessage", params).await, format!("Bad Request: {why}"));
    }
    call(&world, "sendMessage", bold(1, 2)).await;
    assert_eq!(ann.next_message().await.entities, [json!({ "type": "bold", "offset": 1, "length": 2 })]);
}

#[tokio::test]
async fn malformed_markup_is_refused_and_valid_markup_becomes_entities() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let marked = |mode: &str, text: &str| json!({ "chat_id": 1001, "parse_mode": mode, "text": text });
    for (mode, text) in [
        ("HTML", "<b>open"),
        ("HTML", "<x>y</x>"),
        ("HTML", "a < b"),
        ("MarkdownV2", "1."),
        ("Markdown", "a_b"),
    ] {
        let refused = refusal(&world, "sendMessage", marked(mode, text)).await;
        assert!(refused.starts_with("Bad Request: can't parse entities: "), "{refused}");
    }
    for (mode, text) in [("HTML", "so <b>bold</b>"), ("MarkdownV2", "so *bold*"), ("Markdown", "so *bold*")] {
        assert_eq!(call(&world, "sendMessage", marked(mode, text)).await.0, 200);
        let read = ann.next_message().await;
        assert_eq!(read.text, "so bold");
        assert_eq!(read.entities, [json!({ "type": "bold", "offset": 3, "length": 4 })]);
    }
}

#[tokio::test]
async fn a_reply_to_an_unknown_message_is_refused_unless_sending_without_reply_is_allowed() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let reply = ReplyParameters::new(MessageId(77));
    let refused = bot.send_message(ANN, "to whom?").reply_parameters(reply.clone()).await;
    assert_eq!(api_error(refused), ApiError::MessageToReplyNotFound);
    ann.has_nothing_more();
    bot.send_message(ANN, "anyway").reply_parameters(reply.allow_sending_without_reply()).await.unwrap();
    assert_eq!(ann.next_message().await.reply_to, None);
}

#[tokio::test]
async fn photos_over_telegrams_limits_are_refused_and_accepted_as_documents() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let mut heavy = jpeg(20, 20);
    heavy.resize((10 << 20) + 1, 0);
    let cases = [
        (png(2100, 100), "PHOTO_INVALID_DIMENSIONS"),
        (png(9000, 1001), "PHOTO_INVALID_DIMENSIONS"),
        (b"not a picture".to_vec(), "IMAGE_PROCESS_FAILED"),
        (heavy, "is too big for a photo"),
        (vec![], "file must be non-empty"),
    ];
    for (bytes, why) in cases {
        api_error(bot.send_photo(ANN, InputFile::memory(bytes)).await);
        let (status, told) = world.refused_calls().pop().unwrap().answer.unwrap();
        assert!(status == 400 && told.contains(why), "{told}");
    }
    bot.send_photo(ANN, InputFile::memory(png(2000, 100))).await.unwrap();
    assert!(ann.next_message().await.photo.is_some());
    let strip = png(2100, 100);
    bot.send_document(ANN, InputFile::memory(strip.clone()).file_name("strip.png")).await.unwrap();
    let (name, bytes) = ann.next_message().await.document.unwrap();
    assert_eq!((name.as_str(), &bytes[..]), ("strip.png", &strip[..]));
    let huge = InputFile::memory(vec![1; (50 << 20) + 1]).file_name("huge.bin");
    assert!(api_error(bot.send_document(ANN, huge).await).to_string().contains("Request Entity Too Large"));
}

#[tokio::test]
async fn files_over_20_mb_and_unknown_file_ids_cannot_be_downloaded() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_huge_document("film.mov", 21 << 20, "").await;
    let (_, updates) = call(&world, "getUpdates", json!({})).await;
    let document = &updates["result"][0]["message"]["document"];
    assert_eq!(document["file_size"], 21 << 20);
    let why = refusal(&world, "getFile", json!({ "file_id": document["file_id"] })).await;
    assert_eq!(why, "Bad Request: file is too big");
    assert_eq!(
        refusal(&world, "getFile", json!({ "file_id": "nope" })).await,
        "Bad Request: invalid file_id"
    );
    let unknown = bot(&world).send_photo(ANN, InputFile::file_id(FileId("nope".into()))).await;
    assert_eq!(api_error(unknown), ApiError::WrongFileIdOrUrl);
}

#[tokio::test]
async fn closed_chats_unknown_chats_methods_and_tokens_are_refused() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    ann.blocks_bot();
    assert_eq!(api_error(bot.send_message(ANN, "hello?").await), ApiError::BotBlocked);
    ann.unblocks_bot();
    bot.send_message(ANN, "hello!").await.unwrap();
    assert_eq!(api_error(bot.send_message(ChatId(5), "hello?").await), ApiError::ChatNotFound);
    assert_eq!(call(&world, "sendPigeon", json!({})).await.0, 404);
    let stranger = Bot::with_client("1:wrong", telegram_http::Client::new())
        .set_api_url(world.api_url().parse().unwrap());
    assert_eq!(api_error(stranger.get_me().await), ApiError::InvalidToken);
    assert_eq!(world.refused_calls().len(), 3);
}

#[tokio::test]
async fn an_edit_must_change_the_message_and_a_message_is_deleted_once() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let theirs = ann.says("mine").await;
    let bot = bot(&world);
    let sent = bot.send_message(ANN, "one moment").await.unwrap();
    assert_eq!(
        api_error(bot.edit_message_text(ANN, sent.id, "one moment").await),
        ApiError::MessageNotModified
    );
    bot.edit_message_text(ANN, sent.id, "done").await.unwrap();
    assert_eq!(ann.next_edit().await.text, "done");
    assert_eq!(world.message(1001, sent.id.0).unwrap().text, "done");
    let not_mine = bot.edit_message_text(ANN, MessageId(theirs.message_id), "yours").await;
    assert_eq!(api_error(not_mine), ApiError::MessageCantBeEdited);
    let unknown = bot.edit_message_text(ANN, MessageId(99), "whose?").await;
    assert_eq!(api_error(unknown), ApiError::MessageToEditNotFound);
    let long = bot.edit_message_text(ANN, sent.id, "x".repeat(4097)).await;
    assert_eq!(api_error(long), ApiError::EditedMessageIsTooLong);
    world.next("editMessageText").meets_flood(3);
    let flood = bot.edit_message_text(ANN, sent.id, "hurry").await;
    assert!(matches!(flood, Err(RequestError::RetryAfter(_))), "{flood:?}");
    assert_eq!(
        world.texts_of(MessageRef { chat_id: 1001, message_id: sent.id.0, update_id: None }),
        ["one moment", "done"]
    );
    bot.delete_message(ANN, sent.id).await.unwrap();
    let gone = bot.edit_message_text(ANN, sent.id, "back").await;
    assert_eq!(api_error(gone), ApiError::MessageToEditNotFound);
    assert_eq!(api_error(bot.delete_message(ANN, sent.id).await), ApiError::MessageToDeleteNotFound);
    assert_eq!(world.deleted_in(1001), [sent.id.0]);
}

#[tokio::test]
async fn the_other_methods_answer_what_teloxide_expects() {
    let world = World::start().await;
    world.private_chat(user(1001, "Ann"));
    let trip = world.group("Trip");
    trip.member(user(1002, "Bob"));
    let bot = bot(&world);
    assert_eq!(bot.get_me().await.unwrap().username(), world.bot_name());
    bot.delete_webhook().await.unwrap();
    assert_eq!(bot.get_webhook_info().await.unwrap().pending_update_count, 0);
    let commands = [teloxide::types::BotCommand::new("help", "What I can do")];
    bot.set_my_commands(commands.clone()).await.unwrap();
    assert_eq!(bot.get_my_commands().await.unwrap(), commands);
    assert_eq!(world.commands(), ["help"]);
    bot.send_chat_action(ANN, ChatAction::UploadPhoto).await.unwrap();
    assert_eq!(world.actions(1001), ["upload_photo"]);
    assert_eq!(bot.get_chat(ANN).await.unwrap().first_name(), Some("Ann"));
    assert_eq!(bot.get_chat(ChatId(trip.chat_id)).await.unwrap().title(), Some("Trip"));
    let bob = bot.get_chat_member(ChatId(trip.chat_id), UserId(1002)).await.unwrap();
    assert!(bob.is_present());
}

#[tokio::test]
async fn more_than_twenty_messages_a_minute_to_a_group_are_reported() {
    let world = World::start().await;
    let trip = ChatId(world.group("Trip").chat_id);
    let bot = bot(&world);
    let limits =
        RateLimits { chat_per_second: usize::MAX, overall_per_second: usize::MAX, ..RateLimits::default() };
    for _ in 0..2 {
        let album = (0..10).map(|_| photo(jpeg(20, 20)));
        bot.send_media_group(trip, album).await.unwrap();
    }
    assert!(world.rate_violations(limits).is_empty());
    bot.send_message(trip, "one too many").await.unwrap();
    assert_eq!(world.rate_violations(limits).len(), 1);
}
