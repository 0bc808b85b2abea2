//! The source images of an operation that combines several. They stay encoded until needed, so only one of them is
//! decoded at a time.

use bytes::Bytes;

use crate::{EditContext, Format, ImagingError, Picture, Probe, TooLarge, decode, probe};

#[derive(Debug, Clone)]
pub struct Sources(Vec<Bytes>);

/// Why pictures could not be combined. `index` names the source at fault, if it is a single one.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceError {
    pub index: Option<usize>,
    pub error: ImagingError,
}

impl SourceError {
    /// Blames the source at `index`. A stop blames no source.
    pub(crate) fn at(index: usize) -> impl Fn(ImagingError) -> Self {
        move |error| match error {
            ImagingError::Stopped => Self { index: None, error },
            error => Self { index: Some(index), error },
        }
    }
}

impl From<ImagingError> for SourceError {
    fn from(error: ImagingError) -> Self {
        Self { index: None, error }
    }
}

impl From<TooLarge> for SourceError {
    fn from(error: TooLarge) -> Self {
        ImagingError::from(error).into()
    }
}

impl Sources {
    pub fn new(files: Vec<Bytes>) -> Self {
        Self(files)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The upright size, from the header alone.
    pub fn size(&self, index: usize) -> Result<(u32, u32), SourceError> {
        let probe = self.header(index)?;
        Ok((probe.width, probe.height))
    }

    pub(super) fn sizes(&self) -> Result<Vec<(u32, u32)>, SourceError> {
        (0..self.len()).map(|index| self.size(index)).collect()
    }

    pub fn open(&self, index: usize, context: &EditContext) -> Result<Picture, SourceError> {
        self.file(index).and_then(|bytes| decode(bytes, context)).map_err(SourceError::at(index))
    }

    /// Every source from `first` on that cannot be decoded. Each failure costs a new arrangement of the rest, so it
    /// pays to find all of them first.
    pub fn damaged(
        &self,
        first: usize,
        context: &EditContext,
    ) -> Result<Vec<(usize, ImagingError)>, ImagingError> {
        let mut damaged = Vec::new();
        for index in first..self.len() {
            match self.open(index, context) {
                Ok(_) => {}
                Err(SourceError { error: ImagingError::Stopped, .. }) => return Err(ImagingError::Stopped),
                Err(SourceError { error, .. }) => damaged.push((index, error)),
            }
        }
        Ok(damaged)
    }

    pub fn remove(&mut self, index: usize) {
        if index < self.0.len() {
            self.0.remove(index);
        }
    }

    /// Whether every source has an alpha channel.
    pub(super) fn all_have_alpha(&self) -> bool {
        (0..self.len()).all(|index| self.header(index).is_ok_and(|probe| probe.alpha))
    }

    /// Whether no source has a format that photos use. The combined picture is then a graphic, too.
    pub(super) fn are_graphics(&self) -> bool {
        let is_graphic = |format| matches!(format, Format::Png | Format::Gif | Format::Bmp | Format::Tiff);
        (0..self.len()).all(|index| self.header(index).is_ok_and(|probe| is_graphic(probe.format)))
    }

    fn header(&self, index: usize) -> Result<Probe, SourceError> {
        self.file(index).and_then(|bytes| probe(bytes)).map_err(SourceError::at(index))
    }

    fn file(&self, index: usize) -> Result<&Bytes, ImagingError> {
        self.0.get(index).ok_or_else(|| ImagingError::failed("no such source"))
    }
}
