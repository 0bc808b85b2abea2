//! Targets of replies: any message of a person or the bot, one photo of an album, a later chunk.

use super::*;
use photothread::{
    domain::{MessageId, TurnState},
    store::{FinishedTurn, FoundMessage},
};

async fn found(store: &Store, conversation: &Conversation, shown_id: &str) -> Option<FoundMessage> {
    store.find_message(conversation, shown_id).await.unwrap()
}

/// The bot answered with these pictures and these sends. Each send got the given message ids.
async fn bot_answers(
    store: &Store,
    conversation: &Conversation,
    pictures: &[Attachment],
    sends: &[(PlannedSend, &[&str])],
) -> MessageId {
    store.file(&filing(conversation, vec![note("1", "please")])).await.unwrap();
    let turn = store.claim_turn(MANY).await.unwrap().unwrap();
    let made = NewMessage {
        turn_id: Some(turn.turn_id),
        ..NewMessage::new(conversation.clone(), turn.session_id, Role::Tool, "made")
    };
    store.add_message(&made, pictures).await.unwrap();
    let message = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        attachments: sends.iter().flat_map(|(send, _)| send.attachments.clone()).collect(),
        ..answered(conversation, turn.session_id, "Here you are.")
    };
    let planned: Vec<_> = sends.iter().map(|(send, _)| send.clone()).collect();
    let finish = FinishedTurn {
        turn: &turn,
        state: TurnState::Done,
        message: &message,
        sends: &planned,
        reply_to: None,
    };
    let id = store.finish_turn(&finish).await.unwrap();
    for (_, shown) in sends {
        let send = store.next_send(conversation).await.unwrap().unwrap();
        assert!(store.claim_send(send.outbox_id).await.unwrap());
        store.mark_sent(&send, &shown.iter().map(|id| id.to_string()).collect::<Vec<_>>()).await.unwrap();
    }
    id
}

on_both! {
    async fn a_reply_to_a_photo_of_a_user_finds_its_message_and_attachment(store: Store) {
        let conversation = chat(1);
        let photos = vec![album_photo(&conversation, "1", "x"), album_photo(&conversation, "2", "x"), note("3", "both, please")];
        let ids: Vec<_> = photos[..2].iter().map(|p| p.files[0].id()).collect();
        let filed = store.file(&filing(&conversation, photos)).await.unwrap();
        for (n, shown_id) in ["1", "2"].into_iter().enumerate() {
            let found = found(&store, &conversation, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (filed.messages[n], Some(ids[n])));
            assert_eq!(found.message.attachments, [ids[n]]);
            assert_eq!(found.message.root(), filed.messages[0]);
        }
        let words = found(&store, &conversation, "3").await.unwrap();
        assert_eq!((words.message.internal_id, words.attachment), (filed.messages[2], None));
    }

    async fn a_reply_to_a_photo_of_the_bots_album_finds_its_attachment(store: Store) {
        let conversation = chat(1);
        let pictures = [picture(&conversation), picture(&conversation), picture(&conversation)];
        let ids: Vec<_> = pictures.iter().map(|p| p.attachment_id).collect();
        let sends = [(album_send(&ids), ["11", "12", "13"].as_slice()), (text_send("Here you are."), &["14"])];
        let answer = bot_answers(&store, &conversation, &pictures, &sends).await;
        for (id, shown_id) in ids.iter().zip(["11", "12", "13"]) {
            let found = found(&store, &conversation, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (answer, Some(*id)), "photo {shown_id}");
        }
        let words = found(&store, &conversation, "14").await.unwrap();
        assert_eq!((words.message.internal_id, words.attachment), (answer, None));
    }

    async fn a_picture_sent_twice_in_one_answer_is_found_by_both_ids(store: Store) {
        let conversation = chat(1);
        let pictures = [picture(&conversation)];
        let id = pictures[0].attachment_id;
        bot_answers(&store, &conversation, &pictures, &[(album_send(&[id, id]), &["11", "12"])]).await;
        for shown_id in ["11", "12"] {
            let attachment = found(&store, &conversation, shown_id).await.map(|found| found.attachment);
            assert_eq!(attachment, Some(Some(id)), "photo {shown_id}");
        }
    }

    async fn an_additional_message_of_a_send_belongs_to_the_answer(store: Store) {
        let conversation = chat(1);
        let pictures = [picture(&conversation)];
        let id = pictures[0].attachment_id;
        let answer = bot_answers(&store, &conversation, &pictures, &[(album_send(&[id]), &["11", "12"])]).await;
        let found = found(&store, &conversation, "12").await.unwrap();
        assert_eq!((found.message.internal_id, found.attachment), (answer, None));
    }

    async fn a_reply_to_a_later_chunk_finds_the_answer(store: Store) {
        let conversation = chat(1);
        let sends = [(text_send("first half"), ["11"].as_slice()), (text_send("second half"), &["12"]), (text_send("end"), &["13"])];
        let answer = bot_answers(&store, &conversation, &[], &sends).await;
        for shown_id in ["11", "12", "13"] {
            let found = found(&store, &conversation, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (answer, None), "chunk {shown_id}");
        }
        let row = store.message(answer).await.unwrap().unwrap();
        assert_eq!(row.interface_message_id.as_deref(), Some("11"), "the first id is the row's own");
    }

    async fn the_first_id_is_the_messages_and_later_ones_are_chunks(store: Store) {
        let conversation = chat(1);
        // The last one is recorded twice, as after a crash between sending and recording.
        let id = bot_answers(&store, &conversation, &[], &[(text_send("long"), &["5", "6", "6"])]).await;
        assert_eq!(store.message(id).await.unwrap().unwrap().interface_message_id.as_deref(), Some("5"));
        for shown_id in ["5", "6"] {
            assert_eq!(found(&store, &conversation, shown_id).await.unwrap().message.internal_id, id);
        }
    }

    async fn an_id_that_another_message_has_stays_there_and_the_send_ends(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let early = NewMessage {
            interface_message_id: Some("11".into()),
            ..answered(&conversation, session, "replied to before we knew of it")
        };
        let early = store.add_message(&early, &[]).await.unwrap();
        bot_answers(&store, &conversation, &[], &[(text_send("the same message"), ["11"].as_slice())]).await;
        assert_eq!(found(&store, &conversation, "11").await.unwrap().message.internal_id, early);
        assert!(!store.is_sending(&conversation).await.unwrap());
    }

    async fn ids_are_found_only_in_their_chat_and_interface(store: Store) {
        let conversation = chat(1);
        let pictures = [picture(&conversation)];
        let sends = [(album_send(&[pictures[0].attachment_id]), ["11"].as_slice()), (text_send("a"), &["12"]), (text_send("b"), &["13"])];
        bot_answers(&store, &conversation, &pictures, &sends).await;
        for elsewhere in [chat(2), page("1")] {
            for shown_id in ["1", "11", "12", "13"] {
                assert!(found(&store, &conversation, shown_id).await.is_some(), "{shown_id} is here");
                assert_eq!(found(&store, &elsewhere, shown_id).await, None, "{shown_id} in {elsewhere}");
            }
        }
        assert_eq!(found(&store, &conversation, "99").await, None);
    }

    async fn the_same_id_in_two_chats_is_two_messages(store: Store) {
        for conversation in [chat(1), chat(2), page("1")] {
            store.file(&filing(&conversation, vec![album_photo(&conversation, "7", "x")])).await.unwrap();
        }
        for conversation in [chat(1), chat(2), page("1")] {
            let FoundMessage { message, attachment } = found(&store, &conversation, "7").await.unwrap();
            assert_eq!((&message.conversation, Some(message.attachments[0])), (&conversation, attachment));
        }
    }
}
