//! The font files a person added, read from where they said. Whether a file is a font is found out by who uses it.

use super::{ConfigError, Images};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

const EXTENSIONS: [&str; 4] = ["ttf", "otf", "ttc", "otc"];

impl Images {
    /// Every font file named, and those in every directory named, each with its path. The order is that of the
    /// setting, then that of the names, so that it is the same on every start.
    pub fn read_fonts(&self) -> Result<Vec<(String, Vec<u8>)>, ConfigError> {
        let mut files = Vec::new();
        for path in &self.fonts {
            let refuse = |why: String| ConfigError::Font { path: path.clone(), why };
            let found = fonts_in(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
            if found.is_empty() {
                return Err(refuse("has no font in it; fonts end in .ttf, .otf or .ttc".into()));
            }
            for file in found {
                let bytes = fs::read(&file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
                files.push((file.display().to_string(), bytes));
            }
        }
        Ok(files)
    }
}

/// A file as it is; a directory gives the fonts in it and below.
fn fonts_in(path: &Path) -> io::Result<Vec<PathBuf>> {
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
        // Links to directories are not followed: they may lead round in a circle.
        if entry.file_type()?.is_dir() {
            found.extend(fonts_in(&path)?);
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
    fn fonts_are_found_in_files_and_directories_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("more")).unwrap();
        for (name, bytes) in
            [("more/b.TTF", "b"), ("more/a.otf", "a"), ("more/readme.txt", "-"), ("z.ttc", "z")]
        {
            fs::write(at(name), bytes).unwrap();
        }
        let read = |fonts: Vec<PathBuf>| Images { fonts }.read_fonts();
        let files = read(vec![at("z.ttc"), at("more")]).unwrap();
        let bytes: Vec<_> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!(bytes, [b"z", b"a", b"b"]);
        assert!(files[2].0.ends_with("b.TTF"));
    }

    #[test]
    fn a_font_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.ttf");
        for (path, why) in [(missing, "cannot be read"), (folder.path().to_owned(), "has no font in it")] {
            let error = Images { fonts: vec![path.clone()] }.read_fonts().unwrap_err().to_string();
            assert!(error.starts_with("images.fonts") && error.contains(why), "{error}");
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
}
