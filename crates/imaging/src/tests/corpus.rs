//! The expected result for every file in tests/images.

use image::DynamicImage;
use image::imageops::FilterType;

use super::read;
use crate::ops::*;
use crate::*;

enum Expect {
    /// Opens with this upright size.
    Opens(Format, u32, u32),
    /// May open in part; must never panic.
    MayOpen,
    NotAnImage,
    Damaged,
    TooLarge,
    NotEditable,
}
use Expect::*;

const FILES: [(&str, Expect); 31] = [
    ("exif_landscape_1.jpg", Opens(Format::Jpeg, 1800, 1200)),
    ("exif_landscape_3.jpg", Opens(Format::Jpeg, 1800, 1200)),
    ("exif_landscape_6.jpg", Opens(Format::Jpeg, 1800, 1200)),
    ("exif_landscape_8.jpg", Opens(Format::Jpeg, 1800, 1200)),
    ("photo_astronaut.png", Opens(Format::Png, 512, 512)),
    ("photo_chelsea.png", Opens(Format::Png, 451, 300)),
    ("photo_rocket.jpg", Opens(Format::Jpeg, 640, 427)),
    ("photo_page.png", Opens(Format::Png, 384, 191)),
    ("photo_flower.jpg", Opens(Format::Jpeg, 640, 427)),
    ("png_16bit_gray_trns.png", Opens(Format::Png, 64, 64)),
    ("png_palette8.png", Opens(Format::Png, 162, 150)),
    ("anim.gif", Opens(Format::Gif, 245, 245)),
    ("webp_orientation_6.webp", Opens(Format::WebP, 128, 128)),
    ("webp_alpha.webp", Opens(Format::WebP, 200, 150)),
    ("jpeg_cmyk.jpg", Opens(Format::Jpeg, 100, 100)),
    ("jpeg_gray.jpg", Opens(Format::Jpeg, 128, 128)),
    ("jpeg_exif_gps.jpg", Opens(Format::Jpeg, 8, 8)),
    ("photo.tif", Opens(Format::Tiff, 128, 128)),
    ("photo.bmp", Opens(Format::Bmp, 128, 128)),
    ("wide_40MP_1bit.png", Opens(Format::Png, 20000, 2000)),
    ("photo.avif", NotEditable),
    #[cfg(feature = "heic")]
    ("photo_arrow.heic", Opens(Format::Heic, 3024, 4032)),
    #[cfg(not(feature = "heic"))]
    ("photo_arrow.heic", NotEditable),
    ("bad_corrupted.heic", Damaged),
    ("bad_truncated.jpg", MayOpen),
    ("bad_truncated.png", Damaged),
    // Its first chunk is not a header, so nothing in it is used, not even the absurd size.
    ("bad_header_size.png", Damaged),
    ("bad_zero_width.gif", Damaged),
    ("bomb.gif", TooLarge),
    ("bomb_900MP_1bit.png", TooLarge),
    ("bad_empty.jpg", NotAnImage),
    ("bad_html.png", NotAnImage),
];

#[test]
fn every_file_gives_the_expected_result() {
    let manifest = String::from_utf8(read("manifest.tsv")).unwrap();
    let listed: Vec<_> = manifest.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(listed.len(), FILES.len(), "each file of the manifest has an expectation");
    for (name, expect) in FILES {
        assert!(listed.contains(&name), "{name} is in the manifest");
        let bytes = read(name);
        let opened = decode(&bytes, &EditContext::default());
        match (expect, opened) {
            (Opens(format, width, height), Ok(picture)) => {
                assert_eq!((picture.width(), picture.height()), (width, height), "{name}");
                let probe = probe(&bytes).unwrap();
                assert_eq!((probe.format, probe.width, probe.height), (format, width, height), "{name}");
                assert_eq!(probe.alpha, picture.has_alpha(), "{name}");
                assert_eq!(probe.animated, name == "anim.gif", "{name}");
            }
            (NotAnImage, Err(ImagingError::NotAnImage))
            | (Damaged, Err(ImagingError::Damaged { .. }))
            | (TooLarge, Err(ImagingError::TooLarge { .. }))
            | (NotEditable, Err(ImagingError::NotEditableYet { .. }))
            | (MayOpen, Ok(_) | Err(ImagingError::Damaged { .. })) => {}
            (_, other) => panic!("{name}: {:?}", other.map(|p| (p.width(), p.height()))),
        }
    }
}

#[test]
fn formats_that_cannot_be_edited_can_be_probed() {
    let arrow = probe(&read("photo_arrow.heic")).unwrap();
    assert_eq!((arrow.format, arrow.width, arrow.height), (Format::Heic, 3024, 4032));
    let avif = probe(&read("photo.avif")).unwrap();
    assert_eq!((avif.format, avif.width, avif.height), (Format::Avif, 128, 128));
    assert!(!Format::Avif.is_editable() && Format::Jpeg.is_editable());
}

/// Mean difference of two pictures at a small size, 0 to 255.
fn difference(a: &DynamicImage, b: &DynamicImage) -> f64 {
    let small = |p: &DynamicImage| p.resize_exact(48, 32, FilterType::Triangle).to_rgb8();
    let (a, b) = (small(a), small(b));
    let sum: u64 = a.iter().zip(b.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.len() as f64
}

fn open(name: &str) -> Picture {
    decode(&read(name), &EditContext::default()).unwrap()
}

#[test]
fn every_orientation_is_upright_after_decoding() {
    let upright = open("exif_landscape_1.jpg");
    for turned in ["exif_landscape_3.jpg", "exif_landscape_6.jpg", "exif_landscape_8.jpg"] {
        let distance = difference(upright.pixels(), open(turned).pixels());
        assert!(distance < 12.0, "{turned}: {distance}");
    }
    let wrong = upright.pixels().rotate180();
    assert!(difference(upright.pixels(), &wrong) > 20.0, "the measure tells upright from upside down");
}

#[test]
fn the_orientation_of_webp_png_and_tiff_is_applied_too() {
    let webp = read("webp_orientation_6.webp");
    let stored = image::load_from_memory(&webp).unwrap();
    assert_eq!(decode(&webp, &EditContext::default()).unwrap().pixels(), &stored.rotate90());

    let pixels: DynamicImage =
        image::RgbImage::from_fn(4, 2, |x, y| image::Rgb([x as u8 * 60, y as u8 * 60, 7])).into();
    let mut png = Vec::new();
    let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    image::ImageEncoder::set_exif_metadata(&mut encoder, exif.to_vec()).unwrap();
    pixels.write_with_encoder(encoder).unwrap();
    assert_eq!(decode(&png, &EditContext::default()).unwrap().pixels(), &pixels.rotate90());
    assert_eq!((probe(&png).unwrap().width, probe(&png).unwrap().height), (2, 4));

    let mut tiff = read("photo.tif");
    let untouched = decode(&tiff, &EditContext::default()).unwrap();
    let tag = tiff.windows(8).position(|w| w == [0x12, 1, 3, 0, 1, 0, 0, 0]).expect("the orientation tag");
    tiff[tag + 8] = 3;
    assert_eq!(decode(&tiff, &EditContext::default()).unwrap().pixels(), &untouched.pixels().rotate180());
}

#[test]
fn cmyk_decodes_to_natural_colours() {
    let picture = open("jpeg_cmyk.jpg");
    let small = picture.pixels().resize_exact(4, 4, FilterType::Triangle).to_rgb8();
    // As Pillow shows it: a dark red form on black. Inverted it would be cyan on white.
    let [r, g, b] = small.get_pixel(1, 1).0;
    assert!(r > 70 && g < 40 && b < 40, "{r} {g} {b}");
    assert!(small.get_pixel(3, 3).0.iter().all(|c| *c < 40));
}

#[test]
fn sixteen_bits_and_alpha_survive_an_edit() {
    let turned =
        rotate(open("png_16bit_gray_trns.png"), 90.0, RotateCorners::Kept, &EditContext::default()).unwrap();
    let back = decode(&encode(&turned).unwrap().bytes, &EditContext::default()).unwrap();
    assert_eq!(back.pixels(), turned.pixels());
    assert_eq!(back.pixels().color(), image::ColorType::La16);
}

#[test]
fn a_file_cut_anywhere_never_panics() {
    for name in
        ["photo_rocket.jpg", "photo_chelsea.png", "webp_alpha.webp", "anim.gif", "photo.bmp", "photo.tif"]
    {
        let bytes = read(name);
        for part in 0..24 {
            let cut = &bytes[..bytes.len() * part / 24];
            let _ = probe(cut);
            match decode(cut, &EditContext::default()) {
                Ok(_) | Err(ImagingError::NotAnImage | ImagingError::Damaged { .. }) => {}
                Err(other) => panic!("{name} cut at {part}/24: {other:?}"),
            }
        }
    }
}

#[test]
fn every_file_goes_through_every_edit() {
    let region = Region::new(100.0, 100.0, 600.0, 700.0).unwrap();
    let labelled = |shape| [Highlight { label: Some("eagle".into()), shape, ..Highlight::new(region) }];
    let limits = EditContext::default();
    let square = CropTo::Aspect { aspect: "square".parse().unwrap(), center: CropCenter::default() };
    type Edit<'a> = (&'a str, Box<dyn Fn(Picture) -> Result<Picture, ImagingError> + 'a>);
    let edits: Vec<Edit> = vec![
        ("rectangle", Box::new(|p| highlight(p, &labelled(HighlightShape::Rectangle), &limits))),
        ("ellipse", Box::new(|p| highlight(p, &labelled(HighlightShape::Ellipse), &limits))),
        ("spotlight", Box::new(|p| highlight(p, &labelled(HighlightShape::Spotlight), &limits))),
        ("crop", Box::new(|p| crop(p, CropTo::Region(region), &limits))),
        ("square", Box::new(|p| crop(p, square, &limits))),
        ("rotate 90", Box::new(|p| rotate(p, 90.0, RotateCorners::Kept, &limits))),
        ("rotate 13", Box::new(|p| rotate(p, 13.0, RotateCorners::Kept, &limits))),
        ("flip", Box::new(|p| flip(p, FlipAxis::Vertical))),
        ("mirror", Box::new(|p| flip(p, FlipAxis::Horizontal))),
        ("resize", Box::new(|p| resize(p, ResizeTo::longest(77).unwrap(), &limits))),
        ("gray", Box::new(|p| filter(p, Filter::Grayscale, &limits))),
        ("sepia", Box::new(|p| filter(p, Filter::Sepia, &limits))),
        ("invert", Box::new(|p| filter(p, Filter::Invert, &limits))),
    ];
    for (name, expect) in FILES {
        // Large files prove nothing more here and are slow without optimisation.
        if !matches!(expect, Opens(..))
            || name.starts_with("wide_")
            || name.starts_with("exif_")
            || name.ends_with(".heic")
        {
            continue;
        }
        for (edit, apply) in &edits {
            let edited = apply(open(name)).unwrap_or_else(|error| panic!("{name} {edit}: {error:?}"));
            let encoded = encode(&edited).unwrap_or_else(|error| panic!("{name} {edit}: {error:?}"));
            let back = probe(&encoded.bytes).unwrap_or_else(|error| panic!("{name} {edit}: {error:?}"));
            assert_eq!((back.width, back.height), (edited.width(), edited.height()), "{name} {edit}");
            assert_eq!((back.format.mime(), back.format.extension()), (encoded.mime, encoded.extension));
            assert_eq!(back.format, edited.output_format(), "{name} {edit}");
        }
    }
}

#[test]
fn the_output_format_follows_the_source() {
    for (name, format) in [
        ("photo_rocket.jpg", Format::Jpeg),
        ("jpeg_gray.jpg", Format::Jpeg),
        ("photo_chelsea.png", Format::Png),
        ("anim.gif", Format::Png),
        ("photo.bmp", Format::Png),
        ("photo.tif", Format::Png),
        ("webp_alpha.webp", Format::Png),
        ("webp_orientation_6.webp", Format::Jpeg),
    ] {
        assert_eq!(probe(&encode(&open(name)).unwrap().bytes).unwrap().format, format, "{name}");
    }
    let gained_alpha = open("photo_rocket.jpg").into_alpha();
    assert_eq!(encode(&gained_alpha).unwrap().mime, "image/png");
}

#[test]
fn an_edited_jpeg_looks_like_its_source() {
    let source = open("photo_flower.jpg");
    let back = decode(&encode(&source).unwrap().bytes, &EditContext::default()).unwrap();
    assert!(difference(source.pixels(), back.pixels()) < 2.0);
    for side in [1, 2, 7, 17] {
        let dot = Picture::new(
            image::RgbImage::from_pixel(side, 1, image::Rgb([200, 30, 90])).into(),
            Format::Jpeg,
        );
        let back = decode(&encode(&dot).unwrap().bytes, &EditContext::default()).unwrap();
        assert!(back.pixels().to_rgb8().get_pixel(0, 0).0[0].abs_diff(200) < 8, "{side} wide");
    }
}

#[test]
fn views_are_small_and_never_enlarged() {
    let view =
        |name, longest| view_file(&read(name), &View::whole(longest), &EditContext::default()).unwrap();
    let landscape = view("exif_landscape_6.jpg", 300);
    let size = probe(&landscape.bytes).unwrap();
    assert_eq!((size.width, size.height, landscape.mime), (300, 200, "image/jpeg"));
    assert_eq!(probe(&view("photo_page.png", 9000).bytes).unwrap().width, 384);
    assert_eq!(view("webp_alpha.webp", 100).mime, "image/png");
    assert_eq!(view("photo_astronaut.png", 100).mime, "image/jpeg");
    assert!(view_file(b"", &View::whole(100), &EditContext::default()).is_err());
}
