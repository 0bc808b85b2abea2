//! Reads the font files named in `images.fonts`. `imaging::Fonts` checks whether a file is a usable font.

use super::{ConfigError, ImageSettings};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

const EXTENSIONS: [&str; 4] = ["ttf", "otf", "ttc", "otc"];

impl ImageSettings {
    /// All font files named, and all in the directories named, each with its path. Sorted by the order in the
    /// setting, then by name, so that every start gives the same order.
    pub fn read_fonts(&self) -> Result<Vec<(String, Vec<u8>)>, ConfigError> {
        let mut files = Vec::new();
        for path in &self.fonts {
            let font_error = |why: String| ConfigError::Font { path: path.clone(), why };
            let found = find_fonts(path).map_err(|error| font_error(format!("cannot be read: {error}")))?;
            if found.is_empty() {
                return Err(font_error("has no font in it; fonts end in .ttf, .otf or .ttc".into()));
            }
            for file in found {
                let bytes =
                    fs::read(&file).map_err(|error| font_error(format!("cannot be read: {error}")))?;
                files.push((file.display().to_string(), bytes));
            }
        }
        Ok(files)
    }
}

/// The file itself, or all fonts in a directory and below.
fn find_fonts(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.into()]);
    }
    let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        let extension =
            path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
        // Do not follow links to directories: they may form a loop.
        if entry.file_type()?.is_dir() {
            found.extend(find_fonts(&path)?);
        } else if EXTENSIONS.contains(&extension.as_str()) {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_are_read_from_files_and_directories_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("more")).unwrap();
        for (name, bytes) in
            [("more/b.TTF", "b"), ("more/a.otf", "a"), ("more/readme.txt", "-"), ("z.ttc", "z")]
        {
            fs::write(at(name), bytes).unwrap();
        }
        let read = |fonts: Vec<PathBuf>| ImageSettings { fonts }.read_fonts();
        let files = read(vec![at("z.ttc"), at("more")]).unwrap();
        let bytes: Vec<_> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!(bytes, [b"z", b"a", b"b"]);
        assert!(files[2].0.ends_with("b.TTF"));
    }

    #[test]
    fn a_missing_font_is_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.ttf");
        for (path, why) in [(missing, "cannot be read"), (folder.path().to_owned(), "has no font in it")] {
            let error = ImageSettings { fonts: vec![path.clone()] }.read_fonts().unwrap_err().to_string();
            assert!(error.starts_with("images.fonts") && error.contains(why), "{error}");
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
}
