//! How people get in over HTTP: a link that works once, the login it gives a browser, and tokens for programs. Only
//! hashes of these are stored. What travels how is `web`'s business.

use super::{Access, Standing, Viewer};
use crate::{
    domain::{TokenId, UserId},
    store::{ApiToken, Login, LoginLink, Store, StoreError},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, Mac as _};
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};
use std::{collections::HashSet, sync::Arc};
use tokio::sync::OnceCell;

/// A link from the bot works this long.
pub const LINK_LASTS: TimeDelta = TimeDelta::minutes(5);
/// A browser that is not used for this long must log in again.
pub const LOGIN_LASTS: TimeDelta = TimeDelta::days(30);
/// A login in use is replaced by a new one this often.
pub const LOGIN_RENEWED: TimeDelta = TimeDelta::hours(24);
/// Requests that were under way when a login was replaced may still name it.
pub const REPLACED_LASTS: TimeDelta = TimeDelta::minutes(1);
/// When a token was used last is noted to the minute: not every request is worth a write.
const USE_NOTED: TimeDelta = TimeDelta::minutes(1);

pub const MOST_TOKENS: i64 = 100;
const TOKEN_PREFIX: &str = "pt_";
const LINK_KEY: &str = "links";
const MAC_BYTES: usize = 32;

/// How people get to the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayIn {
    /// There is no page.
    Closed,
    /// At this address, on this machine, without a login.
    Local(String),
    /// With a login; its address begins every link.
    Login(String),
}

/// What opened the door to somebody, to ask again later whether it still would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    /// They sit at this machine.
    Local,
    /// The hash of a browser's login.
    Login(String),
    /// The hash of a program's token.
    Token(String),
}

/// What came of showing a login: who it is, and what the browser should show from now on.
#[derive(Debug, PartialEq, Eq)]
pub struct LoggedIn {
    pub viewer: Viewer,
    pub pass: Pass,
    pub renewed: Option<String>,
}

pub struct Door {
    store: Store,
    access: Arc<Access>,
    way: WayIn,
    admins: HashSet<UserId>,
    key: OnceCell<String>,
}

impl Door {
    pub fn new(
        store: Store,
        access: Arc<Access>,
        way: WayIn,
        admins: impl IntoIterator<Item = UserId>,
    ) -> Self {
        Self { store, access, way, admins: admins.into_iter().collect(), key: OnceCell::new() }
    }

    pub fn way(&self) -> &WayIn {
        &self.way
    }

    /// Who this is on the page, if they are still let in at all.
    async fn viewer(&self, user: UserId) -> Result<Option<Viewer>, StoreError> {
        // Whoever sat at this machine before a login was required is nobody that can log in.
        if user == Viewer::local().user || !self.access.lets_in(&user).await? {
            return Ok(None);
        }
        let standing = if self.admins.contains(&user) { Standing::Admin } else { Standing::Member };
        Ok(Some(Viewer { user, standing }))
    }

    /// A new link for this person; none where nobody logs in.
    pub async fn link(&self, user: &UserId, now: DateTime<Utc>) -> Result<Option<String>, StoreError> {
        let WayIn::Login(base) = &self.way else { return Ok(None) };
        let expires_at = now + LINK_LASTS;
        let claim = format!("{user}:{}:{}", expires_at.timestamp(), secret());
        let mac = self.mac(claim.as_bytes()).await?.finalize().into_bytes();
        let token = URL_SAFE_NO_PAD.encode([&mac[..], claim.as_bytes()].concat());
        let link = LoginLink { link_hash: hash(&token), user_id: user.clone(), expires_at };
        self.store.add_login_link(&link).await?;
        Ok(Some(format!("{base}/login/{token}")))
    }

    /// Would this link log somebody in now? Looking does not use it up: messengers look at links, too.
    pub async fn is_open(&self, token: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Ok(self.is_ours(token, now).await? && self.store.login_link_is_open(&hash(token), now).await?)
    }

    /// Uses up a link; what the browser should show from now on.
    pub async fn log_in(&self, token: &str, now: DateTime<Utc>) -> Result<Option<String>, StoreError> {
        if !self.is_ours(token, now).await? {
            return Ok(None);
        }
        let login = secret();
        let user = self.store.log_in(&hash(token), &hash(&login), now, now + LOGIN_LASTS).await?;
        let Some(user) = user else { return Ok(None) };
        Ok(self.viewer(user).await?.map(|_| login))
    }

    /// Who shows this login; a new one is due every day.
    pub async fn by_login(&self, login: &str, now: DateTime<Utc>) -> Result<Option<LoggedIn>, StoreError> {
        let login_hash = hash(login);
        let Some((known, viewer)) = self.login(&login_hash, now).await? else { return Ok(None) };
        let due = known.replaced_at.is_none() && now - known.created_at >= LOGIN_RENEWED;
        let fresh = secret();
        let renewed =
            due && self.store.renew_login(&login_hash, &hash(&fresh), now, now + LOGIN_LASTS).await?;
        Ok(Some(LoggedIn { viewer, pass: Pass::Login(login_hash), renewed: renewed.then_some(fresh) }))
    }

    async fn login(
        &self,
        login_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(Login, Viewer)>, StoreError> {
        let Some(known) = self.store.login(login_hash).await? else { return Ok(None) };
        let too_late = known.replaced_at.is_some_and(|at| now - at > REPLACED_LASTS);
        if known.expires_at <= now || too_late {
            return Ok(None);
        }
        let viewer = self.viewer(known.user_id.clone()).await?;
        Ok(viewer.map(|viewer| (known, viewer)))
    }

    pub async fn log_out(&self, login: &str) -> Result<(), StoreError> {
        self.store.log_out(&hash(login)).await
    }

    /// Who made the token that a program shows.
    pub async fn by_token(
        &self,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(Viewer, Pass)>, StoreError> {
        if !token.starts_with(TOKEN_PREFIX) {
            return Ok(None);
        }
        let token_hash = hash(token);
        let Some((known, viewer)) = self.token(&token_hash).await? else { return Ok(None) };
        if known.last_used_at.is_none_or(|at| now - at >= USE_NOTED) {
            self.store.note_token_use(known.token_id, now).await?;
        }
        Ok(Some((viewer, Pass::Token(token_hash))))
    }

    async fn token(&self, token_hash: &str) -> Result<Option<(ApiToken, Viewer)>, StoreError> {
        let Some(known) = self.store.api_token(token_hash).await? else { return Ok(None) };
        let viewer = self.viewer(known.user_id.clone()).await?;
        Ok(viewer.map(|viewer| (known, viewer)))
    }

    /// Would this still open the door? Whoever stays longer than for one answer is asked again.
    pub async fn still_opens(&self, pass: &Pass, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Ok(match pass {
            Pass::Local => true,
            Pass::Login(login_hash) => self.login(login_hash, now).await?.is_some(),
            Pass::Token(token_hash) => self.token(token_hash).await?.is_some(),
        })
    }

    /// A token, and what is shown once and never again. None if they have too many already.
    pub async fn make_token(
        &self,
        user: &UserId,
        name: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(ApiToken, String)>, StoreError> {
        let shown = format!("{TOKEN_PREFIX}{}", secret());
        let token = ApiToken {
            token_id: TokenId::new(),
            user_id: user.clone(),
            name: name.to_owned(),
            created_at: now,
            last_used_at: None,
        };
        let kept = self.store.add_api_token(&token, &hash(&shown), MOST_TOKENS).await?;
        Ok(kept.then_some((token, shown)))
    }

    /// Signed here, and not too old by its own word. Whether it was used only the store knows.
    async fn is_ours(&self, token: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return Ok(false) };
        let Some((mac, claim)) = bytes.split_at_checked(MAC_BYTES) else { return Ok(false) };
        // Takes the same time wherever the first difference is.
        if self.mac(claim).await?.verify_slice(mac).is_err() {
            return Ok(false);
        }
        let claim = String::from_utf8_lossy(claim);
        let expires: Option<i64> = claim.split(':').nth(1).and_then(|at| at.parse().ok());
        Ok(expires.is_some_and(|at| at > now.timestamp()))
    }

    async fn mac(&self, claim: &[u8]) -> Result<Hmac<Sha256>, StoreError> {
        let key =
            self.key.get_or_try_init(|| async { self.store.web_key(LINK_KEY, &secret()).await }).await?;
        // Hashed to a key of exactly one size, which HMAC always takes.
        let mut mac = Hmac::<Sha256>::new(&Sha256::digest(key).into_iter().chain([0; 32]).collect());
        mac.update(claim);
        Ok(mac)
    }
}

/// 256 bits that nobody can guess.
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>())
}

/// What is stored of a secret. The secret is random and long, so a fast hash is enough; and a search for a hash tells
/// by its timing nothing about the secret.
fn hash(secret: &str) -> String {
    format!("{:x}", Sha256::digest(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> UserId {
        UserId("100".into())
    }

    async fn door(folder: &std::path::Path, allowed: &[UserId]) -> Door {
        let store = Store::open(&format!("sqlite://{}", folder.join("test.db").display())).await.unwrap();
        let access = Access::open(store.clone(), allowed.iter().cloned(), false).await.unwrap();
        let way = WayIn::Login("https://photos.example.org".into());
        Door::new(store, Arc::new(access), way, [UserId("300".into())])
    }

    async fn token(door: &Door, now: DateTime<Utc>) -> String {
        let link = door.link(&ann(), now).await.unwrap().unwrap();
        link.strip_prefix("https://photos.example.org/login/").unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_link_works_once_within_five_minutes_and_only_if_it_was_signed_here() {
        let folder = tempfile::tempdir().unwrap();
        let door = door(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let link = token(&door, now).await;
        let later = |seconds| now + TimeDelta::seconds(seconds);
        assert!(door.is_open(&link, later(290)).await.unwrap());
        assert!(!door.is_open(&link, later(300)).await.unwrap());
        assert_eq!(door.log_in(&link, later(301)).await.unwrap(), None);
        assert!(door.log_in(&link, later(290)).await.unwrap().is_some());
        assert_eq!(door.log_in(&link, later(291)).await.unwrap(), None);
        assert!(!door.is_open(&link, later(291)).await.unwrap());
    }

    #[tokio::test]
    async fn what_was_not_signed_here_is_not_even_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let door = door(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let link = token(&door, now).await;
        let mut bytes = URL_SAFE_NO_PAD.decode(&link).unwrap();
        bytes[MAC_BYTES + 1] ^= 1;
        let forged = URL_SAFE_NO_PAD.encode(&bytes);
        // Even one that is stored: the signature decides first.
        let stored = LoginLink { link_hash: hash(&forged), user_id: ann(), expires_at: now + LINK_LASTS };
        door.store.add_login_link(&stored).await.unwrap();
        for wrong in [forged.as_str(), "", "%", "AAAA", &link[..link.len() - 2], &link.to_uppercase()] {
            assert!(!door.is_open(wrong, now).await.unwrap(), "{wrong}");
            assert_eq!(door.log_in(wrong, now).await.unwrap(), None, "{wrong}");
        }
        assert!(door.is_open(&link, now).await.unwrap(), "the right one still works");
    }

    #[tokio::test]
    async fn a_login_is_replaced_every_day_and_the_old_one_lasts_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let door = door(folder.path(), &[ann()]).await;
        let start = Utc::now();
        let login = door.log_in(&token(&door, start).await, start).await.unwrap().unwrap();
        let at = |hours: i64| start + TimeDelta::hours(hours);
        assert_eq!(door.by_login(&login, at(23)).await.unwrap().unwrap().renewed, None);
        let fresh = door.by_login(&login, at(24)).await.unwrap().unwrap().renewed.expect("a new one");
        let again = door.by_login(&login, at(24) + TimeDelta::seconds(30)).await.unwrap().unwrap();
        assert_eq!((again.viewer.user, again.renewed), (ann(), None), "requests under way go on");
        assert_eq!(door.by_login(&login, at(24) + TimeDelta::seconds(61)).await.unwrap(), None);
        assert!(door.by_login(&fresh, at(24) + TimeDelta::days(29)).await.unwrap().is_some());
        let last = door.by_login(&fresh, at(25) + TimeDelta::days(30)).await.unwrap();
        assert_eq!(last, None, "the 29th day gave a newer one; and nothing lasts longer than a month");
    }

    #[tokio::test]
    async fn whoever_is_no_longer_let_in_is_refused_whatever_they_show() {
        let folder = tempfile::tempdir().unwrap();
        let before = door(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let login = before.log_in(&token(&before, now).await, now).await.unwrap().unwrap();
        let (_, shown) = before.make_token(&ann(), "script", now).await.unwrap().unwrap();
        assert_eq!(before.by_token(&shown, now).await.unwrap().unwrap().0.standing, Standing::Member);
        let link = token(&before, now).await;

        let after = door(folder.path(), &[UserId("200".into())]).await;
        assert_eq!(after.by_login(&login, now).await.unwrap(), None);
        assert_eq!(after.by_token(&shown, now).await.unwrap(), None);
        assert_eq!(after.log_in(&link, now).await.unwrap(), None);
    }

    #[tokio::test]
    async fn admins_see_all_and_the_local_user_cannot_come_from_outside() {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let access = Arc::new(Access::open(store.clone(), [], true).await.unwrap());
        let door = Door::new(store, access, WayIn::Login("http://x".into()), [UserId("300".into())]);
        let now = Utc::now();
        for (user, standing) in
            [("300", Some(Standing::Admin)), ("100", Some(Standing::Member)), ("local", None)]
        {
            let (_, shown) = door.make_token(&UserId(user.into()), "t", now).await.unwrap().unwrap();
            let viewer = door.by_token(&shown, now).await.unwrap();
            assert_eq!(viewer.map(|(viewer, _)| viewer.standing), standing, "{user}");
        }
    }
}
