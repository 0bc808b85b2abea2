//! What people ask about the things in their photos, with the offline provider and the on-device models.

use crate::harness::{BotUnderTest, Person, Received, Settings, World, user};
use image::GenericImageView as _;
use std::path::Path;

struct Scene {
    _world: World,
    _settings: Settings,
    bot: BotUnderTest,
    ann: Person,
}

impl Scene {
    async fn open() -> Self {
        let world = World::start().await;
        let settings = Settings::new(&world);
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Self { _world: world, _settings: settings, bot, ann }
    }

    async fn asks(&self, photo: &str, said: &str) -> Received {
        self.ann.sends_photo(jpeg_file(photo), said).await;
        self.ann.next_message().await
    }

    async fn close(self) {
        self.ann.has_nothing_more();
        self.bot.stop().await;
    }
}

/// A picture of the corpus as JPEG, as Telegram sends photos.
fn jpeg_file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name);
    let picture =
        image::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).into_rgb8();
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Jpeg).unwrap();
    bytes.into_inner()
}

fn words(message: &Received) -> String {
    format!("{}{}", message.text, message.caption)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cat_is_highlighted_and_everything_else_stays() {
    let scene = Scene::open().await;
    let answer = scene.asks("photo_chelsea.png", "can you highlight the kitten in red?").await;
    assert_eq!(words(&answer), "Here you go: highlighted the kitten in red.");
    assert!(answer.photo.is_some());
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faces_are_hidden_for_good_and_the_answer_says_to_check() {
    let scene = Scene::open().await;
    let answer = scene.asks("photo_astronaut.png", "hide everyone's face").await;
    let said = words(&answer);
    assert!(said.contains("hid the face") && said.contains("please check"), "{said}");
    let picture = image::load_from_memory(answer.photo.as_ref().unwrap()).unwrap();
    let (width, height) = picture.dimensions();
    let middle_of_the_face = picture.get_pixel(width * 44 / 100, height * 25 / 100);
    assert!(middle_of_the_face.0[..3].iter().all(|channel| *channel < 20), "{middle_of_the_face:?}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_about_a_photo_are_answered_from_what_was_found() {
    let scene = Scene::open().await;
    let answer = words(&scene.asks("photo_chelsea.png", "what is in this picture?").await);
    assert!(answer.contains("a cat ("), "{answer}");
    let answer = words(&scene.asks("vision/coffee.jpg", "how many cups are there?").await);
    assert!(answer.starts_with("I see one"), "{answer}");
    let answer = words(&scene.asks("photo_astronaut.png", "who is this?").await);
    assert!(answer.contains("never recognise"), "{answer}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_known_is_said_and_nothing_is_edited() {
    let scene = Scene::open().await;
    let answer = scene.asks("vision/coffee.jpg", "highlight the red mug").await;
    assert!(answer.photo.is_none() && words(&answer).contains("connect a model"), "{}", words(&answer));
    let answer = scene.asks("photo_flower.jpg", "highlight the dog").await;
    assert!(answer.photo.is_none() && words(&answer).contains("couldn't find “dog”"), "{}", words(&answer));
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_out_is_sent_as_a_file_with_transparency() {
    let scene = Scene::open().await;
    let answer = scene.asks("photo_astronaut.png", "remove the background").await;
    assert!(words(&answer).contains("removed the background"), "{}", words(&answer));
    let (name, bytes) = answer.document.as_ref().expect("a file");
    assert!(name.ends_with(".png"), "{name}");
    let picture = image::load_from_memory(bytes).unwrap().into_rgba8();
    let (width, height) = picture.dimensions();
    assert_eq!(picture.get_pixel(width * 44 / 100, height * 25 / 100).0[3], 255, "the face stays");
    assert_eq!(picture.get_pixel(width * 8 / 100, height * 12 / 100).0[3], 0, "the flag goes");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_photo_is_read() {
    let scene = Scene::open().await;
    let answer = words(&scene.asks("photo_page.png", "what does it say?").await);
    assert!(answer.to_lowercase().contains("region"), "{answer}");
    scene.close().await;
}
