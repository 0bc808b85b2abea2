//! What may be noted on a message, and what is said of what may not.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn kept(given: &[&str]) -> Vec<String> {
    tags(&json!(given), &[]).unwrap()
}

/// The fields of what is wrong, and what is said of the first.
fn wrong<T: std::fmt::Debug>(result: Result<T, Vec<Flaw>>) -> (Vec<String>, String) {
    let flaws = result.unwrap_err();
    (flaws.iter().map(|flaw| flaw.field.clone()).collect(), flaws[0].detail.clone())
}

#[test]
fn tags_are_trimmed_lowered_and_kept_once_in_their_order() {
    assert_eq!(kept(&[" Topic : Cats ", "b", "topic:cats", "A", "B "]), ["topic:cats", "b", "a"]);
    assert_eq!(kept(&["time:10:30"]), ["time:10:30"], "the first colon ends the group");
    assert_eq!(tags(&Value::Null, &[]).unwrap(), Vec::<String>::new());
}

#[test]
fn a_tag_that_cannot_be_kept_is_named_with_its_place() {
    for bad in
        [json!(""), json!("  "), json!(":x"), json!("x: "), json!("a\nb"), json!(7), json!("x".repeat(101))]
    {
        let (fields, _) = wrong(tags(&json!(["good", bad]), &[]));
        assert_eq!(fields, ["tags[1]"], "{bad}");
    }
    assert_eq!(wrong(tags(&json!("x"), &[])).0, ["tags"]);
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    assert!(tags(&json!(many[1..]), &[]).is_ok());
    assert_eq!(wrong(tags(&json!(many), &[])).0, ["tags"]);
}

#[test]
fn of_an_exclusive_group_a_message_has_one_tag() {
    let exclusive = ["Status ".to_owned()];
    let (fields, why) =
        wrong(tags(&json!(["status:open", "other:a", "other:b", "Status: done"]), &exclusive));
    assert_eq!(fields, ["tags[3]"]);
    assert!(why.contains("status:open"), "{why}");
    assert!(
        tags(&json!(["status:open", "STATUS:open", "status"]), &exclusive).is_ok(),
        "the same one is one"
    );
}

#[test]
fn references_lead_to_the_web_to_files_and_to_turns_and_nowhere_else() {
    let id = AttachmentId::new();
    let loud = format!(" ATTACHMENT:{} ", id.to_string().to_uppercase());
    assert_eq!(Target::read(&loud), Ok((format!("attachment:{id}"), Target::Attachment(id))));
    for good in ["https://example.org/a?b#c", "HTTP://example.org", "http://[::1]:80/"] {
        assert_eq!(Target::read(good), Ok((good.to_owned(), Target::Web)));
    }
    let bad = [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://a",
        "//a",
        "a",
        "",
        "http:a",
        "https://",
        "attachment:1",
    ];
    for bad in bad.into_iter().chain(["turn:", "http://a b", "java\nscript:x"]) {
        assert!(Target::read(bad).is_err(), "{bad}");
    }
    assert!(Target::read(&format!("https://a/{}", "x".repeat(2048))).is_err());
}

#[test]
fn every_field_that_is_wrong_is_named() {
    let (fields, why) = wrong(refs(&json!([
        { "url": "https://a.example", "title": "fine", "bonus": true, "content": null },
        { "url": "javascript:1", "titel": "x", "bonus": "yes", "type": "x".repeat(51) },
        "https://a.example",
        { "title": 1 },
    ])));
    assert_eq!(
        fields,
        [
            "refs[1].titel",
            "refs[1].url",
            "refs[1].type",
            "refs[1].bonus",
            "refs[2]",
            "refs[3].url",
            "refs[3].title"
        ]
    );
    assert!(why.contains("keyExcerpt"), "says what there is: {why}");
    let many = vec![json!({ "url": "https://a.example" }); 101];
    assert!(refs(&json!(many[1..])).is_ok());
    assert_eq!(wrong(refs(&json!(many))).0, ["refs"]);
}

proptest! {
    #[test]
    fn what_is_kept_of_tags_is_kept_as_it_is(given in prop::collection::vec(any::<String>(), 0..8)) {
        if let Ok(once) = tags(&json!(given), &[]) {
            prop_assert_eq!(tags(&json!(once), &[]), Ok(once.clone()));
            let mut backwards = given;
            backwards.reverse();
            let other: BTreeSet<String> = tags(&json!(backwards), &[]).unwrap().into_iter().collect();
            prop_assert_eq!(once.len(), other.len());
            prop_assert_eq!(once.into_iter().collect::<BTreeSet<_>>(), other);
        }
    }

    #[test]
    fn a_tag_is_the_same_however_it_is_written(group in "[a-zß-ÿ]{1,9}", value in "[a-zß-ÿ0-9 ]{0,9}[a-z]") {
        let plain = tag(&format!("{group}:{value}")).unwrap();
        prop_assert_eq!(tag(&format!("  {group} :  {value}\t")).unwrap(), plain.clone());
        prop_assert_eq!(tag(&plain), Ok(plain));
    }

    #[test]
    fn what_is_kept_of_references_is_kept_as_it_is(
        path in "[a-zA-Z0-9/._~-]{0,40}", title in prop::option::of("\\PC{0,40}"), bonus in any::<Option<bool>>(),
    ) {
        let given = json!([{ "url": format!(" https://example.org/{path} "), "title": title, "bonus": bonus }]);
        let once = refs(&given).unwrap();
        prop_assert_eq!(&once[0].title, &title);
        prop_assert_eq!(refs(&json!(once)), Ok(once.clone()));
    }

    #[test]
    fn whatever_is_sent_is_answered(text in any::<String>(), number in any::<f64>()) {
        let odd = json!([text, number, { text.clone(): number, "url": text }, [], null]);
        prop_assert!(refs(&odd).is_err());
        let _ = (tags(&odd, &[]), tag(&text), Target::read(&text));
    }
}
