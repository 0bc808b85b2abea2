//! The two documents of an export, JSON and Markdown, written page by page.

use super::{Export, ExportError, ExportFile, ExportJson, ExportedFileJson, FilePaths, filenames, markdown};
use crate::{
    attachments::markers,
    domain::{Attachment, AttachmentId, Message, ReferenceTarget},
    store::Detail,
    transfer::{json, pages::HistoryPages},
};
use bytes::Bytes;
use std::collections::HashMap;

/// Files are listed in steps of this many.
const FILES_PER_CHUNK: usize = 100;

/// The files of an export, numbered in the order in which messages name them.
#[derive(Clone, Default)]
pub struct NumberedFiles {
    numbers: HashMap<AttachmentId, usize>,
    ids: Vec<AttachmentId>,
}

impl NumberedFiles {
    fn add(&mut self, attachment: Attachment) -> ExportFile {
        let number = *self.numbers.entry(attachment.attachment_id).or_insert_with(|| {
            self.ids.push(attachment.attachment_id);
            self.ids.len()
        });
        let path = filenames::archive_path(number, &attachment.filename);
        ExportFile { attachment, path }
    }

    /// The files after the first `done`, some at a time. Files that were deleted meanwhile are left out.
    pub async fn load(
        &mut self,
        export: &Export,
        done: usize,
    ) -> Result<(usize, Vec<ExportFile>), ExportError> {
        let ids: Vec<AttachmentId> = self.ids.iter().skip(done).take(FILES_PER_CHUNK).copied().collect();
        let files = export.store.attachments(&export.session.conversation, &ids).await?;
        Ok((done + ids.len(), files.into_iter().map(|file| self.add(file)).collect()))
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }
}

struct ExportPage {
    messages: Vec<Message>,
    files: Vec<ExportFile>,
}

async fn next_page(
    pages: &mut HistoryPages,
    files: &mut NumberedFiles,
) -> Result<Option<ExportPage>, ExportError> {
    let Some(page) = pages.next(files_named_by).await? else { return Ok(None) };
    let mut messages = page.messages;
    for reply in messages.iter_mut().filter_map(|message| message.body.reply.as_mut()) {
        // The file of a reply may be deleted; an import would refuse the unknown id.
        reply.attachment =
            reply.attachment.filter(|id| page.files.iter().any(|file| file.attachment_id == *id));
    }
    Ok(Some(ExportPage { messages, files: page.files.into_iter().map(|file| files.add(file)).collect() }))
}

/// The files that a message carries, refers to and replies to.
fn files_named_by(message: &Message) -> Vec<AttachmentId> {
    let referred = message.refs.iter().filter_map(|reference| match reference.target() {
        ReferenceTarget::Attachment(id) => Some(id),
        _ => None,
    });
    let replied = message.reply.as_ref().and_then(|reply| reply.attachment);
    message.attachments.iter().copied().chain(referred).chain(replied).collect()
}

pub struct JsonDocument {
    pages: HistoryPages,
    paths: FilePaths,
    pub files: NumberedFiles,
    /// Files that are listed already.
    listed: usize,
    next: JsonPart,
    /// The text before the history, between it and the files, and after them.
    frame: [String; 3],
    /// Whether the current list has an item.
    list_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonPart {
    Head,
    History,
    Files,
    Done,
}

impl JsonDocument {
    pub async fn new(export: &Export, paths: FilePaths) -> Result<Self, ExportError> {
        let said = |message: Option<&Message>| message.map(markers::visible_text).unwrap_or_default();
        let last = export.span.as_ref().map(|span| span.last);
        let (question, answer) = match last {
            Some(last) => export.store.question_and_answer(export.session.session_id, last).await?,
            None => (None, None),
        };
        let empty = serde_json::to_string(&ExportJson {
            question: said(question.as_ref()),
            answer: said(answer.as_ref()),
            session: export.session.clone().into(),
            history: Vec::new(),
            attachments: Vec::new(),
            exported_at: export.exported_at,
            version: 1,
        })?;
        let (head, rest) = json::split_at_list(&empty, "history");
        let (middle, tail) = json::split_at_list(rest, "attachments");
        Ok(Self {
            pages: export.pages(),
            paths,
            files: NumberedFiles::default(),
            listed: 0,
            next: JsonPart::Head,
            frame: [head, middle, tail].map(str::to_owned),
            list_begun: false,
        })
    }

    /// The next part of the text; none after the last.
    pub async fn next(&mut self, export: &Export) -> Result<Option<Bytes>, ExportError> {
        let mut out = Vec::new();
        match self.next {
            JsonPart::Head => {
                out.extend_from_slice(self.frame[0].as_bytes());
                self.next = JsonPart::History;
            }
            JsonPart::History => match next_page(&mut self.pages, &mut self.files).await? {
                Some(page) => {
                    let files: Vec<Attachment> = page.files.into_iter().map(|file| file.attachment).collect();
                    for message in &page.messages {
                        for entry in json::entries_of(message, &files, Detail::WithTools) {
                            json::push_item(&mut out, &mut self.list_begun, &entry)?;
                        }
                    }
                }
                None => {
                    out.extend_from_slice(self.frame[1].as_bytes());
                    (self.next, self.list_begun) = (JsonPart::Files, false);
                }
            },
            JsonPart::Files if self.listed < self.files.len() => {
                let (listed, files) = self.files.load(export, self.listed).await?;
                self.listed = listed;
                for file in files {
                    let item = ExportedFileJson {
                        attachment: (&file.attachment).into(),
                        file: (self.paths == FilePaths::Included).then_some(file.path),
                    };
                    json::push_item(&mut out, &mut self.list_begun, &item)?;
                }
            }
            JsonPart::Files => {
                out.extend_from_slice(self.frame[2].as_bytes());
                self.next = JsonPart::Done;
            }
            JsonPart::Done => return Ok(None),
        }
        Ok(Some(out.into()))
    }
}

pub struct MarkdownDocument {
    pages: HistoryPages,
    files: NumberedFiles,
    head: Option<String>,
}

impl MarkdownDocument {
    /// `files` are those that have their number already.
    pub fn new(export: &Export, files: NumberedFiles) -> Self {
        let head = markdown::head(&export.session, export.exported_at);
        Self { pages: export.pages(), files, head: Some(head) }
    }

    /// The next part of the text; none after the last.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ExportError> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head.into()));
        }
        let Some(page) = next_page(&mut self.pages, &mut self.files).await? else { return Ok(None) };
        let mut out = String::new();
        for message in &page.messages {
            markdown::write_entry(&mut out, &page.files, message);
        }
        Ok(Some(out.into()))
    }
}
