//! Which tags and references are valid, and what the errors say.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn normalized(given: &[&str]) -> Vec<String> {
    parse_tags(&json!(given), &[]).unwrap()
}

/// The invalid fields, and the detail of the first.
fn wrong<T: std::fmt::Debug>(result: Result<T, Vec<FieldError>>) -> (Vec<String>, String) {
    let errors = result.unwrap_err();
    (errors.iter().map(|error| error.field.clone()).collect(), errors[0].detail.clone())
}

#[test]
fn tags_are_trimmed_lowercased_and_deduplicated_in_order() {
    assert_eq!(normalized(&[" Topic : Cats ", "b", "topic:cats", "A", "B "]), ["topic:cats", "b", "a"]);
    assert_eq!(normalized(&["time:10:30"]), ["time:10:30"], "the first colon ends the group");
    assert_eq!(parse_tags(&Value::Null, &[]).unwrap(), Vec::<String>::new());
}

#[test]
fn an_invalid_tag_is_named_with_its_index() {
    for bad in
        [json!(""), json!("  "), json!(":x"), json!("x: "), json!("a\nb"), json!(7), json!("x".repeat(101))]
    {
        let (fields, _) = wrong(parse_tags(&json!(["good", bad]), &[]));
        assert_eq!(fields, ["tags[1]"], "{bad}");
    }
    assert_eq!(wrong(parse_tags(&json!("x"), &[])).0, ["tags"]);
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    assert!(parse_tags(&json!(many[1..]), &[]).is_ok());
    assert_eq!(wrong(parse_tags(&json!(many), &[])).0, ["tags"]);
}

#[test]
fn an_exclusive_group_allows_one_tag() {
    let exclusive = ["Status ".to_owned()];
    let (fields, why) =
        wrong(parse_tags(&json!(["status:open", "other:a", "other:b", "Status: done"]), &exclusive));
    assert_eq!(fields, ["tags[3]"]);
    assert!(why.contains("status:open"), "{why}");
    assert!(
        parse_tags(&json!(["status:open", "STATUS:open", "status"]), &exclusive).is_ok(),
        "the same one is one"
    );
}

#[test]
fn references_point_to_web_pages_files_or_turns_only() {
    let id = AttachmentId::new();
    let loud = format!(" ATTACHMENT:{} ", id.to_string().to_uppercase());
    assert_eq!(
        ReferenceTarget::parse(&loud),
        Ok((format!("attachment:{id}"), ReferenceTarget::Attachment(id)))
    );
    for good in ["https://example.org/a?b#c", "HTTP://example.org", "http://[::1]:80/"] {
        assert_eq!(ReferenceTarget::parse(good), Ok((good.to_owned(), ReferenceTarget::Web)));
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
        assert!(ReferenceTarget::parse(bad).is_err(), "{bad}");
    }
    assert!(ReferenceTarget::parse(&format!("https://a/{}", "x".repeat(2048))).is_err());
}

#[test]
fn every_invalid_field_is_named() {
    let (fields, why) = wrong(parse_references(&json!([
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
    assert!(why.contains("keyExcerpt"), "lists the fields there are: {why}");
    let many = vec![json!({ "url": "https://a.example" }); 101];
    assert!(parse_references(&json!(many[1..])).is_ok());
    assert_eq!(wrong(parse_references(&json!(many))).0, ["refs"]);
}

proptest! {
    #[test]
    fn normalizing_tags_twice_changes_nothing(given in prop::collection::vec(any::<String>(), 0..8)) {
        if let Ok(once) = parse_tags(&json!(given), &[]) {
            prop_assert_eq!(parse_tags(&json!(once), &[]), Ok(once.clone()));
            let mut backwards = given;
            backwards.reverse();
            let other: BTreeSet<String> = parse_tags(&json!(backwards), &[]).unwrap().into_iter().collect();
            prop_assert_eq!(once.len(), other.len());
            prop_assert_eq!(once.into_iter().collect::<BTreeSet<_>>(), other);
        }
    }

    #[test]
    fn spaces_around_group_and_value_do_not_matter(group in "[a-zß-ÿ]{1,9}", value in "[a-zß-ÿ0-9 ]{0,9}[a-z]") {
        let plain = parse_tag(&format!("{group}:{value}")).unwrap();
        prop_assert_eq!(parse_tag(&format!("  {group} :  {value}\t")).unwrap(), plain.clone());
        prop_assert_eq!(parse_tag(&plain), Ok(plain));
    }

    #[test]
    fn normalizing_references_twice_changes_nothing(
        path in "[a-zA-Z0-9/._~-]{0,40}", title in prop::option::of("\\PC{0,40}"), bonus in any::<Option<bool>>(),
    ) {
        let given = json!([{ "url": format!(" https://example.org/{path} "), "title": title, "bonus": bonus }]);
        let once = parse_references(&given).unwrap();
        prop_assert_eq!(&once[0].title, &title);
        prop_assert_eq!(parse_references(&json!(once)), Ok(once.clone()));
    }

    #[test]
    fn no_input_makes_the_parser_panic(text in any::<String>(), number in any::<f64>()) {
        let odd = json!([text, number, { text.clone(): number, "url": text }, [], null]);
        prop_assert!(parse_references(&odd).is_err());
        let _ = (parse_tags(&odd, &[]), parse_tag(&text), ReferenceTarget::parse(&text));
    }
}
