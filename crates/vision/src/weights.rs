//! Where the weights of the models come from: the program itself, or a folder of the operator.

use std::path::PathBuf;

use rten::Model;

use crate::VisionError;

/// Every model, in the order of [`ModelFile::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelFile {
    Faces,
    FaceProposals,
    Objects,
    Subject,
    Portrait,
    Inpaint,
    TextRegions,
    TextLines,
    Upscale2,
    Upscale4,
}

impl ModelFile {
    pub const ALL: [Self; 10] = [
        Self::Faces,
        Self::FaceProposals,
        Self::Objects,
        Self::Subject,
        Self::Portrait,
        Self::Inpaint,
        Self::TextRegions,
        Self::TextLines,
        Self::Upscale2,
        Self::Upscale4,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Faces => "centerface.onnx",
            Self::FaceProposals => "face_detection_yunet_2023mar.onnx",
            Self::Objects => "coco_ssd300.onnx",
            Self::Subject => "u2netp.onnx",
            Self::Portrait => "modnet.onnx",
            Self::Inpaint => "migan_core_512.onnx",
            Self::TextRegions => "ppocrv6_tiny_det.onnx",
            Self::TextLines => "ppocrv6_tiny_rec.onnx",
            Self::Upscale2 => "spanx2_ch48.onnx",
            Self::Upscale4 => "spanx4_ch48.onnx",
        }
    }

    #[cfg(feature = "built-in-models")]
    fn built_in(self) -> Option<&'static [u8]> {
        macro_rules! asset {
            ($name:literal) => {
                Some(include_bytes!(concat!("../../../assets/models/", $name)))
            };
        }
        match self {
            Self::Faces => asset!("centerface.onnx"),
            Self::FaceProposals => asset!("face_detection_yunet_2023mar.onnx"),
            Self::Objects => asset!("coco_ssd300.onnx"),
            Self::Subject => asset!("u2netp.onnx"),
            Self::Portrait => asset!("modnet.onnx"),
            Self::Inpaint => asset!("migan_core_512.onnx"),
            Self::TextRegions => asset!("ppocrv6_tiny_det.onnx"),
            Self::TextLines => asset!("ppocrv6_tiny_rec.onnx"),
            Self::Upscale2 => asset!("spanx2_ch48.onnx"),
            Self::Upscale4 => asset!("spanx4_ch48.onnx"),
        }
    }

    #[cfg(not(feature = "built-in-models"))]
    fn built_in(self) -> Option<&'static [u8]> {
        None
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Weights {
    /// Needs the feature `built-in-models`.
    #[default]
    BuiltIn,
    /// A folder with the files of `assets/models`.
    Folder(PathBuf),
}

impl Weights {
    /// The first file that is missing. `None` if every model can be loaded.
    pub fn missing(&self) -> Option<PathBuf> {
        ModelFile::ALL.into_iter().find_map(|file| match self {
            Self::BuiltIn => file.built_in().is_none().then(|| file.name().into()),
            Self::Folder(folder) => Some(folder.join(file.name())).filter(|path| !path.is_file()),
        })
    }

    pub(crate) fn load(&self, file: ModelFile) -> Result<Model, VisionError> {
        let loaded = match self {
            Self::BuiltIn => {
                let bytes = file.built_in();
                let missing = || VisionError::NotInstalled { file: file.name().into() };
                Model::load_static_slice(bytes.ok_or_else(missing)?)
            }
            Self::Folder(folder) => {
                let path = folder.join(file.name());
                if !path.is_file() {
                    return Err(VisionError::NotInstalled { file: path });
                }
                Model::load_file(path)
            }
        };
        loaded.map_err(|error| VisionError::failed(format!("{}: {error}", file.name())))
    }
}
