//! What people can reply to: any message of theirs or the bot's, one photo of an album, a later chunk.

use super::*;
use photothread::{
    domain::{MessageId, TurnState},
    store::{FinishedTurn, FoundMessage},
};

async fn found(store: &Store, place: &Conversation, shown_id: &str) -> Option<FoundMessage> {
    store.find_message(place, shown_id).await.unwrap()
}

/// The bot answered in `place` with these pictures of its own and these sends, each shown under the given ids.
async fn bot_answers(
    store: &Store,
    place: &Conversation,
    pictures: &[Attachment],
    sends: &[(PlannedSend, &[&str])],
) -> MessageId {
    store.file(&filing(place, vec![note("1", "please")])).await.unwrap();
    let turn = store.claim_turn().await.unwrap().unwrap();
    let made = NewMessage {
        turn_id: Some(turn.turn_id),
        ..NewMessage::new(place.clone(), turn.session_id, Role::Tool, "made")
    };
    store.add_message(&made, pictures).await.unwrap();
    let message = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        attachments: sends.iter().flat_map(|(send, _)| send.attachments.clone()).collect(),
        ..answered(place, turn.session_id, "Here you are.")
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
        let send = store.next_send(place).await.unwrap().unwrap();
        assert!(store.claim_send(send.outbox_id).await.unwrap());
        store.mark_sent(&send, &shown.iter().map(|id| id.to_string()).collect::<Vec<_>>()).await.unwrap();
    }
    id
}

on_both! {
    async fn a_reply_to_ones_own_photo_finds_the_message_and_exactly_that_photo(store: Store) {
        let place = chat(1);
        let photos = vec![album_photo(&place, "1", "x"), album_photo(&place, "2", "x"), note("3", "both, please")];
        let ids: Vec<_> = photos[..2].iter().map(|p| p.files[0].id()).collect();
        let filed = store.file(&filing(&place, photos)).await.unwrap();
        for (n, shown_id) in ["1", "2"].into_iter().enumerate() {
            let found = found(&store, &place, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (filed.messages[n], Some(ids[n])));
            assert_eq!(found.message.attachments, [ids[n]]);
            assert_eq!(found.message.root(), filed.messages[0]);
        }
        let words = found(&store, &place, "3").await.unwrap();
        assert_eq!((words.message.internal_id, words.attachment), (filed.messages[2], None));
    }

    async fn a_reply_to_any_photo_of_the_bots_album_finds_that_photo(store: Store) {
        let place = chat(1);
        let pictures = [picture(&place), picture(&place), picture(&place)];
        let ids: Vec<_> = pictures.iter().map(|p| p.attachment_id).collect();
        let sends = [(album_send(&ids), ["11", "12", "13"].as_slice()), (text_send("Here you are."), &["14"])];
        let answer = bot_answers(&store, &place, &pictures, &sends).await;
        for (id, shown_id) in ids.iter().zip(["11", "12", "13"]) {
            let found = found(&store, &place, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (answer, Some(*id)), "photo {shown_id}");
        }
        let words = found(&store, &place, "14").await.unwrap();
        assert_eq!((words.message.internal_id, words.attachment), (answer, None));
    }

    async fn a_picture_sent_twice_in_one_answer_is_found_by_both_ids(store: Store) {
        let place = chat(1);
        let pictures = [picture(&place)];
        let id = pictures[0].attachment_id;
        bot_answers(&store, &place, &pictures, &[(album_send(&[id, id]), &["11", "12"])]).await;
        for shown_id in ["11", "12"] {
            let attachment = found(&store, &place, shown_id).await.map(|found| found.attachment);
            assert_eq!(attachment, Some(Some(id)), "photo {shown_id}");
        }
    }

    async fn whatever_else_a_send_showed_leads_to_the_answer_too(store: Store) {
        let place = chat(1);
        let pictures = [picture(&place)];
        let id = pictures[0].attachment_id;
        let answer = bot_answers(&store, &place, &pictures, &[(album_send(&[id]), &["11", "12"])]).await;
        let found = found(&store, &place, "12").await.unwrap();
        assert_eq!((found.message.internal_id, found.attachment), (answer, None));
    }

    async fn a_reply_to_a_later_chunk_finds_the_whole_answer(store: Store) {
        let place = chat(1);
        let sends = [(text_send("first half"), ["11"].as_slice()), (text_send("second half"), &["12"]), (text_send("end"), &["13"])];
        let answer = bot_answers(&store, &place, &[], &sends).await;
        for shown_id in ["11", "12", "13"] {
            let found = found(&store, &place, shown_id).await.unwrap();
            assert_eq!((found.message.internal_id, found.attachment), (answer, None), "chunk {shown_id}");
        }
        let row = store.message(answer).await.unwrap().unwrap();
        assert_eq!(row.interface_message_id.as_deref(), Some("11"), "the first id is the row's own");
    }

    async fn a_first_id_goes_to_the_message_and_later_ones_beside_it(store: Store) {
        let place = chat(1);
        // The last one is recorded twice, as after a crash between sending and recording.
        let id = bot_answers(&store, &place, &[], &[(text_send("long"), &["5", "6", "6"])]).await;
        assert_eq!(store.message(id).await.unwrap().unwrap().interface_message_id.as_deref(), Some("5"));
        for shown_id in ["5", "6"] {
            assert_eq!(found(&store, &place, shown_id).await.unwrap().message.internal_id, id);
        }
    }

    async fn an_id_that_is_taken_stays_where_it_is_and_the_send_still_ends(store: Store) {
        let place = chat(1);
        let session = store.start_session(&place, &ann()).await.unwrap();
        let early = NewMessage {
            interface_message_id: Some("11".into()),
            ..answered(&place, session, "replied to before we knew of it")
        };
        let early = store.add_message(&early, &[]).await.unwrap();
        bot_answers(&store, &place, &[], &[(text_send("the same message"), ["11"].as_slice())]).await;
        assert_eq!(found(&store, &place, "11").await.unwrap().message.internal_id, early);
        assert!(!store.is_sending(&place).await.unwrap());
    }

    async fn a_reply_never_crosses_chats_or_interfaces(store: Store) {
        let place = chat(1);
        let pictures = [picture(&place)];
        let sends = [(album_send(&[pictures[0].attachment_id]), ["11"].as_slice()), (text_send("a"), &["12"]), (text_send("b"), &["13"])];
        bot_answers(&store, &place, &pictures, &sends).await;
        for elsewhere in [chat(2), page("1")] {
            for shown_id in ["1", "11", "12", "13"] {
                assert!(found(&store, &place, shown_id).await.is_some(), "{shown_id} is here");
                assert_eq!(found(&store, &elsewhere, shown_id).await, None, "{shown_id} in {elsewhere}");
            }
        }
        assert_eq!(found(&store, &place, "99").await, None);
    }

    async fn the_same_id_in_two_chats_finds_each_its_own(store: Store) {
        for place in [chat(1), chat(2), page("1")] {
            store.file(&filing(&place, vec![album_photo(&place, "7", "x")])).await.unwrap();
        }
        for place in [chat(1), chat(2), page("1")] {
            let FoundMessage { message, attachment } = found(&store, &place, "7").await.unwrap();
            assert_eq!((&message.conversation, Some(message.attachments[0])), (&place, attachment));
        }
    }
}
