//! Files and folders of the program can be read by its own user alone, in a new and in an existing installation, even
//! under the umask 022.

use crate::harness::{Program, Settings, World, jpeg, user};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The program under the usual umask, in the default folder `data`.
fn command(settings: &Settings, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_photothread");
    command.args(["-c", "umask 022 && exec \"$0\" \"$@\"", program]).args(arguments);
    command.current_dir(settings.folder()).envs(settings.variables());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn settings(world: &World) -> Settings {
    Settings::new(world)
        .with("PHOTOTHREAD_DATABASE__URL", "sqlite://data/photothread.db")
        .with("PHOTOTHREAD_ATTACHMENTS__URL", "file://data/attachments")
}

/// The folder and everything in it.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            found.extend(tree(&entry.unwrap().path()));
        }
    }
    found
}

fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    let is_open =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    tree(folder).into_iter().filter(is_open).collect()
}

async fn conversation(world: &World, settings: &Settings) -> Program {
    let program = Program::spawn(settings, &mut command(settings, &[]));
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(ann.next_message().await.photo.is_some());
    program
}

fn doctor(settings: &Settings) -> String {
    let done = command(settings, &["doctor"]).output().expect("doctor runs");
    String::from_utf8_lossy(&done.stdout).lines().find(|line| line.starts_with("privacy")).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_are_private() {
    let world = World::start().await;
    let settings = settings(&world);
    let data = settings.folder().join("data");
    let program = conversation(&world, &settings).await;
    assert!(tree(&data).len() > 8, "a database with its log, and blobs in folders: {:?}", tree(&data));
    assert_eq!(open_to_others(&data), [""; 0].map(PathBuf::from));
    program.kill();
    assert!(doctor(&settings).contains(" ok "), "{}", doctor(&settings));
    let exported = command(&settings, &["export", "--all", "--format", "zip", "--out", "exported"]).status();
    assert!(exported.unwrap().success());
    assert_eq!(open_to_others(&settings.folder().join("exported")), [""; 0].map(PathBuf::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_files_become_private_at_the_start() {
    let world = World::start().await;
    let settings = settings(&world);
    let data = settings.folder().join("data");
    conversation(&world, &settings).await.kill();
    // As an older version left them, and a file that is not ours.
    for path in tree(&data) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let stranger = data.join("notes.txt");
    fs::write(&stranger, "").unwrap();
    fs::set_permissions(&stranger, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(doctor(&settings).contains("PROBLEM"), "{}", doctor(&settings));

    let program = conversation(&world, &settings).await;
    let private = async {
        while open_to_others(&data) != [stranger.clone()] {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(crate::harness::WAIT_TIMEOUT, private).await;
    assert!(waited.is_ok(), "still open: {:?}", open_to_others(&data));
    program.kill();
    assert!(doctor(&settings).contains(" ok "), "{}", doctor(&settings));
}
