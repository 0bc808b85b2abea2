-- What the on-device models found in a file, by the kind of thing that was looked for. A model looks once: a row of
-- another version is replaced. Deleted with the file.
CREATE TABLE findings (
    attachment_id TEXT NOT NULL REFERENCES attachment_metadata (attachment_id) ON DELETE CASCADE,
    kind          TEXT NOT NULL,
    model         TEXT NOT NULL,
    version       INTEGER NOT NULL,
    found         TEXT NOT NULL,
    -- Labels and text in lower case, which the search reads.
    words         TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    PRIMARY KEY (attachment_id, kind)
);
