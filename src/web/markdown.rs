//! Renders the Markdown of the agent as safe HTML: raw HTML becomes text, and links lead only to http(s).

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

/// The result is safe to insert into the page without escaping.
pub fn to_html(source: &str) -> String {
    let events = Parser::new_ext(source, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    let mut out = String::with_capacity(source.len() * 2);
    html::push_html(&mut out, events.map(sanitize));
    out
}

fn sanitize(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        // As in a chat, a written line break is shown.
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_web_address(&dest_url) { dest_url } else { CowStr::Borrowed("#") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        // The page shows only its own pictures.
        Event::Start(Tag::Image { link_type, title, id, .. }) => {
            Event::Start(Tag::Link { link_type, dest_url: CowStr::Borrowed("#"), title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    }
}

fn is_web_address(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn lists_emphasis_and_line_breaks_are_rendered() {
        assert_eq!(to_html("Got **it**, a\\_b.\nNext"), "<p>Got <strong>it</strong>, a_b.<br />\nNext</p>\n");
        assert_eq!(to_html("- crop\n- flip"), "<ul>\n<li>crop</li>\n<li>flip</li>\n</ul>\n");
    }

    #[test]
    fn answers_cannot_run_scripts_or_load_files() {
        for hostile in [
            "<script>alert(1)</script>",
            "hi <img src=x onerror=alert(1)>",
            "<div>\n<iframe src='https://x'></iframe>\n</div>",
        ] {
            let shown = to_html(hostile);
            assert!(!["<script", "<img", "<iframe", "<div"].iter().any(|tag| shown.contains(tag)), "{shown}");
        }
        assert_eq!(to_html("[a](javascript:x)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(to_html("![a](https://x/y.png)"), "<p><a href=\"#\">a</a></p>\n");
        assert_eq!(to_html("[a](HTTPS://x)"), "<p><a href=\"HTTPS://x\">a</a></p>\n");
    }
}
