//! Edited pictures keep their colours and carry no metadata about where and with what they were taken.

use std::io::Cursor;

use super::read;
use crate::ops::*;
use crate::*;

#[test]
fn an_edited_picture_carries_no_gps_position() {
    let original = read("jpeg_exif_gps.jpg");
    let exif = exif::Reader::new()
        .continue_on_error(true)
        .read_from_container(&mut Cursor::new(&original))
        .or_else(|error| error.distill_partial_result(|_| ()))
        .expect("the source has Exif");
    assert!(
        exif.fields().any(|field| field.tag.context() == exif::Context::Gps),
        "the source has a position"
    );

    let picture = decode(&original, &EditContext::default()).unwrap();
    let flipped = encode(&flip(picture, FlipAxis::Horizontal).unwrap()).unwrap().bytes;
    let viewed = view_file(&original, &View::whole(64), &EditContext::default()).unwrap().bytes;
    let closer = View { grid: true, region: Region::new(0.0, 0.0, 500.0, 500.0).ok(), longest: 64 };
    let closer = view_file(&original, &closer, &EditContext::default()).unwrap().bytes;
    for output in [flipped, viewed, closer] {
        assert!(
            exif::Reader::new().read_from_container(&mut Cursor::new(&output)).is_err(),
            "no Exif at all"
        );
    }
}

#[test]
fn no_output_carries_exif_or_xmp() {
    let contains = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|w| w == word);
    for name in
        ["exif_landscape_6.jpg", "jpeg_cmyk.jpg", "photo_chelsea.png", "webp_orientation_6.webp", "photo.tif"]
    {
        let output = encode(&decode(&read(name), &EditContext::default()).unwrap()).unwrap().bytes;
        for word in
            [&b"Exif\0\0"[..], b"eXIf", b"http://ns.adobe.com/xap", b"XML:com.adobe.xmp", b"Photoshop"]
        {
            assert!(!contains(&output, word), "{name} leaks {}", String::from_utf8_lossy(word));
        }
    }
}

fn profile_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let reader = image::ImageReader::new(Cursor::new(bytes)).with_guessed_format().unwrap();
    image::ImageDecoder::icc_profile(&mut reader.into_decoder().unwrap()).unwrap()
}

#[test]
fn the_colour_profile_is_kept() {
    for name in ["photo_rocket.jpg", "photo_flower.jpg", "photo_astronaut.png"] {
        let original = read(name);
        let profile = profile_of(&original).expect("the source has a profile");
        assert_eq!(&profile[16..20], b"RGB ", "{name}");
        let edited = flip(decode(&original, &EditContext::default()).unwrap(), FlipAxis::Horizontal).unwrap();
        assert_eq!(profile_of(&encode(&edited).unwrap().bytes), Some(profile), "{name}");
    }
}

#[test]
fn a_profile_that_no_longer_fits_the_pixels_is_dropped() {
    let gray = filter(
        decode(&read("photo_rocket.jpg"), &EditContext::default()).unwrap(),
        Filter::Grayscale,
        &EditContext::default(),
    )
    .unwrap();
    assert_eq!(profile_of(&encode(&gray).unwrap().bytes), None);

    let mut cmyk = vec![0; 200];
    cmyk[16..20].copy_from_slice(b"CMYK");
    cmyk[36..40].copy_from_slice(b"acsp");
    let photo = decode(&read("photo_rocket.jpg"), &EditContext::default()).unwrap().with_icc(Some(cmyk));
    assert_eq!(profile_of(&encode(&photo).unwrap().bytes), None);
}
