//! What the agent writes → HTML that can do nothing but be read: its markup is shown as text, and links lead only
//! to the web.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

/// The answer as HTML, safe to put into the page as it is.
pub fn html(source: &str) -> String {
    let events = Parser::new_ext(source, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    let mut out = String::with_capacity(source.len() * 2);
    html::push_html(&mut out, events.map(harmless));
    out
}

fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        // A line break that was written is meant, as in a chat.
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if leads_to_the_web(&dest_url) { dest_url } else { CowStr::Borrowed("#") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        // The page shows only pictures of its own.
        Event::Start(Tag::Image { link_type, title, id, .. }) => {
            Event::Start(Tag::Link { link_type, dest_url: CowStr::Borrowed("#"), title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    }
}

fn leads_to_the_web(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn lists_emphasis_and_escapes_read_as_in_a_chat() {
        assert_eq!(html("Got **it**, a\\_b.\nNext"), "<p>Got <strong>it</strong>, a_b.<br />\nNext</p>\n");
        assert_eq!(html("- crop\n- flip"), "<ul>\n<li>crop</li>\n<li>flip</li>\n</ul>\n");
    }

    #[test]
    fn nothing_in_an_answer_can_run_or_load() {
        for hostile in [
            "<script>alert(1)</script>",
            "hi <img src=x onerror=alert(1)>",
            "<div>\n<iframe src='https://x'></iframe>\n</div>",
        ] {
            let shown = html(hostile);
            assert!(!["<script", "<img", "<iframe", "<div"].iter().any(|tag| shown.contains(tag)), "{shown}");
        }
        assert_eq!(html("[a](javascript:x)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(html("![a](https://x/y.png)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(html("[a](HTTPS://x)"), "<p><a href=\"HTTPS://x\">a</a></p>\n");
    }
}
