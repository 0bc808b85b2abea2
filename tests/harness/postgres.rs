//! A private PostgreSQL for tests: started once per test run, with one database per test, and removed afterwards.
//!
//! nextest runs every test in a process of its own. The first process that creates the run's folder starts the server;
//! the others wait for its address. A watchdog process stops the server when the test runner has ended.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    fs,
    io::ErrorKind,
    net::TcpListener,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};
use uuid::Uuid;

/// Not the temporary folder of the environment: socket paths must be short, and root's folder may be unreadable to others.
const HOME: &str = "/tmp";
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(120);
/// No fsync, which is safe except if the machine crashes. Commits stay synchronous: they must survive a stop of the
/// server.
const FORGETFUL: &str = "-c fsync=off -c full_page_writes=off";
const DURABLE: &str = "-c fsync=on";
const ABSENT: &str = "PostgreSQL is needed for these tests (initdb and pg_ctl, in PATH, /usr/lib/postgresql/*/bin or \
                      /usr/local/pgsql/bin). `make test` installs it.";

/// The URL of a fresh, empty database on the run's own server.
pub async fn database() -> String {
    static SERVER: OnceLock<String> = OnceLock::new();
    let server = SERVER.get_or_init(|| shared_server().unwrap_or_else(|trouble| panic!("{trouble}")));
    let name = format!("test_{}", Uuid::new_v4().simple());
    let mut conn =
        PgConnection::connect(&format!("{server}/postgres")).await.expect("the tests' PostgreSQL answers");
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    format!("{server}/{name}")
}

/// A server for one test, which can be stopped and started again.
pub struct PrivateServer(Cluster);

impl PrivateServer {
    pub fn start() -> Self {
        Self::start_with(FORGETFUL)
    }

    /// A server with fsync, for benchmarks.
    pub fn start_durable() -> Self {
        Self::start_with(DURABLE)
    }

    fn start_with(safety: &'static str) -> Self {
        let cluster = Cluster::create(new_folder(), std::process::id(), safety);
        Self(cluster.unwrap_or_else(|trouble| panic!("{trouble}")))
    }

    /// Over the socket: its file is gone when the server has stopped, so connecting fails at once.
    pub fn url(&self) -> String {
        let socket = self.0.folder.join("socket");
        format!("postgres://bot@localhost:{}/postgres?host={}", self.0.port, socket.display())
    }

    /// Stops at once, as in a crash, without ending sessions.
    pub fn stop(&self) {
        self.0.stop().unwrap();
    }

    pub fn start_again(&self) {
        self.0.start().unwrap();
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // It may be stopped already. The watchdog cleans up in any case.
        let _ = self.0.stop();
        let _ = fs::remove_dir_all(&self.0.folder);
    }
}

fn new_folder() -> PathBuf {
    let folder = Path::new(HOME).join(format!("photothread-pg-{}", Uuid::new_v4()));
    fs::create_dir(&folder).unwrap();
    folder
}

fn shared_server() -> Result<String, String> {
    let Ok(run) = std::env::var("NEXTEST_RUN_ID") else {
        return Cluster::create(new_folder(), std::process::id(), FORGETFUL).map(|cluster| cluster.address());
    };
    let folder = Path::new(HOME).join(format!("photothread-pg-{run}"));
    match fs::create_dir(&folder) {
        Ok(()) => {
            let outcome = Cluster::create(folder.clone(), std::os::unix::process::parent_id(), FORGETFUL);
            let (name, text) = match &outcome {
                Ok(cluster) => ("address", cluster.address()),
                Err(trouble) => ("trouble", trouble.clone()),
            };
            fs::write(folder.join("draft"), &text).unwrap();
            fs::rename(folder.join("draft"), folder.join(name)).unwrap();
            outcome.map(|_| text)
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => wait_for_the_first(&folder),
        Err(e) => Err(format!("{} cannot be made: {e}", folder.display())),
    }
}

fn wait_for_the_first(folder: &Path) -> Result<String, String> {
    let since = Instant::now();
    while since.elapsed() < SERVER_START_TIMEOUT {
        if let Ok(address) = fs::read_to_string(folder.join("address")) {
            return Ok(address);
        }
        if let Ok(trouble) = fs::read_to_string(folder.join("trouble")) {
            return Err(trouble);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("the test that was to start PostgreSQL in {} never did", folder.display()))
}

struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    /// The user that runs PostgreSQL, which refuses to run as root.
    as_root: bool,
    /// PostgreSQL's durability settings.
    safety: &'static str,
}

impl Cluster {
    /// Creates and starts a server in `folder` that ends with the process `lives_with`.
    fn create(folder: PathBuf, lives_with: u32, safety: &'static str) -> Result<Self, String> {
        let made = Self::prepare(&folder, safety).and_then(|cluster| cluster.start_on_a_free_port());
        // If it fails, the folder holds the error for the other tests.
        let stop = made.as_ref().map_or_else(|_| Command::new("true"), |cluster| cluster.command("pg_ctl"));
        watch(&folder, lives_with, &stop)?;
        made
    }

    fn prepare(folder: &Path, safety: &'static str) -> Result<Self, String> {
        let programs = programs().ok_or(ABSENT)?;
        let as_root = output(Command::new("id").arg("-u"))?.trim() == "0";
        let cluster = Self { folder: folder.to_owned(), programs, port: 0, as_root, safety };
        open_to(folder, 0o711)?;
        for part in ["data", "socket"] {
            let path = folder.join(part);
            fs::create_dir(&path).map_err(|e| format!("{} cannot be made: {e}", path.display()))?;
            open_to(&path, 0o700)?;
            if as_root {
                output(Command::new("chown").arg("postgres").arg(&path))?;
            }
        }
        let mut initdb = cluster.command("initdb");
        initdb.args(["-U", "bot", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"]);
        output(initdb.arg(folder.join("data")))?;
        Ok(cluster)
    }

    /// Tries another port if the chosen one was taken in the meantime.
    fn start_on_a_free_port(mut self) -> Result<Self, String> {
        let mut tries = 3;
        loop {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            self.port = free.map_err(|e| format!("no free port: {e}"))?.port();
            tries -= 1;
            match self.start() {
                Ok(()) => return Ok(self),
                Err(trouble) if tries == 0 => return Err(trouble),
                Err(_) => {}
            }
        }
    }

    fn address(&self) -> String {
        format!("postgres://bot@127.0.0.1:{}", self.port)
    }

    fn start(&self) -> Result<(), String> {
        let options = format!(
            "-k {} -h 127.0.0.1 -p {} {} -c max_connections=300",
            self.folder.join("socket").display(),
            self.port,
            self.safety
        );
        let mut start = self.command("pg_ctl");
        start.arg("-D").arg(self.folder.join("data")).arg("-l").arg(self.folder.join("data/log"));
        output(start.args(["-w", "-o", &options, "start"])).map(drop)
    }

    fn stop(&self) -> Result<(), String> {
        let mut stop = self.command("pg_ctl");
        output(stop.arg("-D").arg(self.folder.join("data")).args(["-w", "-m", "immediate", "stop"])).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if self.as_root {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(HOME);
        command
    }
}

/// Stops the server and removes its folder once the process `lives_with` is gone.
fn watch(folder: &Path, lives_with: u32, stop: &Command) -> Result<(), String> {
    let script = "runner=$1 folder=$2; shift 2; \
                  while kill -0 $runner || [ -d /proc/$runner ]; do sleep 0.5; done; \
                  \"$@\" -D $folder/data -m immediate stop; rm -rf $folder";
    let mut watchdog = Command::new("sh");
    watchdog.args(["-c", script, "watchdog", &lives_with.to_string()]).arg(folder);
    watchdog.arg(stop.get_program()).args(stop.get_args()).current_dir(HOME);
    watchdog.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In a process group of its own, so that it outlives an interrupted run and cleans up.
    let started = watchdog.process_group(0).spawn();
    started.map(drop).map_err(|e| format!("the watchdog of the tests' PostgreSQL cannot be started: {e}"))
}

fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut packaged: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<f32>().ok();
    packaged.sort_by(|a, b| version(b).partial_cmp(&version(a)).unwrap());
    places.extend(packaged.into_iter().map(|path| path.join("bin")));
    places.push("/usr/local/pgsql/bin".into());
    places.into_iter().find(|place| ["initdb", "pg_ctl"].iter().all(|program| place.join(program).is_file()))
}

fn open_to(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|e| format!("{}: {e}", path.display()))
}

fn output(command: &mut Command) -> Result<String, String> {
    let what = format!("{:?}", command.get_program());
    let done = command.stdin(Stdio::null()).output().map_err(|e| format!("{what} cannot be run: {e}"))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        return Ok(said);
    }
    Err(format!("{command:?} failed: {said}{}", String::from_utf8_lossy(&done.stderr)))
}
