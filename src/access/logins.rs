//! Login links, browser logins and API tokens: creates and verifies them. Only their hashes are stored. `web/auth`
//! carries them over HTTP.

use super::{Access, Standing, Viewer};
use crate::{
    domain::{TokenId, UserId},
    store::{ApiToken, Login, LoginLink, Store, StoreError},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};
use std::{collections::HashSet, sync::Arc};
use tokio::sync::OnceCell;

/// How long a login link from the bot is valid.
pub const LINK_LIFETIME: TimeDelta = TimeDelta::minutes(5);
/// A browser that is not used for this long must log in again.
pub const LOGIN_LIFETIME: TimeDelta = TimeDelta::days(30);
/// A login in use is replaced by a new one after this time.
pub const LOGIN_RENEWAL_INTERVAL: TimeDelta = TimeDelta::hours(24);
/// A replaced login stays valid this long, for requests that are already under way.
pub const REPLACED_LOGIN_LIFETIME: TimeDelta = TimeDelta::minutes(1);
/// The last use of a token is stored at most this often, not with every request.
const TOKEN_USE_INTERVAL: TimeDelta = TimeDelta::minutes(1);

pub const MAX_TOKENS_PER_USER: i64 = 100;
const TOKEN_PREFIX: &str = "pt_";
const LINK_KEY: &str = "links";
const MAC_BYTES: usize = 32;
const SHA256_BLOCK_BYTES: usize = 64;

/// How people reach the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAccess {
    /// There is no page.
    Closed,
    /// At this address, from this machine, without a login.
    Local(String),
    /// With a login. Login links start with this address.
    Login(String),
}

/// What identified a request. Long requests verify it again while they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The request came from this machine; no login is needed.
    Local,
    /// The hash of a browser's login.
    Login(String),
    /// The hash of a program's token.
    Token(String),
}

/// A valid login.
#[derive(Debug, PartialEq, Eq)]
pub struct LoggedIn {
    pub viewer: Viewer,
    pub credential: Credential,
    /// The secret that replaces the login from now on.
    pub renewed: Option<String>,
}

pub struct Logins {
    store: Store,
    access: Arc<Access>,
    page_access: PageAccess,
    admins: HashSet<UserId>,
    key: OnceCell<String>,
}

impl Logins {
    pub fn new(
        store: Store,
        access: Arc<Access>,
        page_access: PageAccess,
        admins: impl IntoIterator<Item = UserId>,
    ) -> Self {
        Self { store, access, page_access, admins: admins.into_iter().collect(), key: OnceCell::new() }
    }

    pub fn page_access(&self) -> &PageAccess {
        &self.page_access
    }

    /// The viewer for a user; none if the user is not admitted any more.
    async fn viewer(&self, user: UserId) -> Result<Option<Viewer>, StoreError> {
        // "local" is the user of a page without login; it must not be reachable with one.
        if user == Viewer::local().user || !self.access.is_allowed(&user).await? {
            return Ok(None);
        }
        let standing = if self.admins.contains(&user) { Standing::Admin } else { Standing::Member };
        Ok(Some(Viewer { user, standing }))
    }

    /// Creates a login link; none if the page needs no login.
    pub async fn create_link(&self, user: &UserId, now: DateTime<Utc>) -> Result<Option<String>, StoreError> {
        let PageAccess::Login(base) = &self.page_access else { return Ok(None) };
        let expires_at = now + LINK_LIFETIME;
        let claim = format!("{user}:{}:{}", expires_at.timestamp(), new_secret());
        let mac = self.mac(claim.as_bytes()).await?.finalize().into_bytes();
        let token = URL_SAFE_NO_PAD.encode([&mac[..], claim.as_bytes()].concat());
        let link = LoginLink { link_hash: hash(&token), user_id: user.clone(), expires_at };
        self.store.add_login_link(&link).await?;
        Ok(Some(format!("{base}/login/{token}")))
    }

    /// Whether this link would log in now. Does not use it up: messengers fetch links for previews.
    pub async fn link_is_valid(&self, token: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Ok(self.is_signed(token, now).await? && self.store.login_link_is_valid(&hash(token), now).await?)
    }

    /// Uses up a link and returns the secret of the new login.
    pub async fn log_in(&self, token: &str, now: DateTime<Utc>) -> Result<Option<String>, StoreError> {
        if !self.is_signed(token, now).await? {
            return Ok(None);
        }
        let login = new_secret();
        let user = self.store.log_in(&hash(token), &hash(&login), now, now + LOGIN_LIFETIME).await?;
        let Some(user) = user else { return Ok(None) };
        Ok(self.viewer(user).await?.map(|_| login))
    }

    /// Verifies a login. Replaces it once a day.
    pub async fn verify_login(
        &self,
        login: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<LoggedIn>, StoreError> {
        let login_hash = hash(login);
        let Some((known, viewer)) = self.login(&login_hash, now).await? else { return Ok(None) };
        let due = known.replaced_at.is_none() && now - known.created_at >= LOGIN_RENEWAL_INTERVAL;
        let fresh = new_secret();
        let renewed =
            due && self.store.renew_login(&login_hash, &hash(&fresh), now, now + LOGIN_LIFETIME).await?;
        Ok(Some(LoggedIn {
            viewer,
            credential: Credential::Login(login_hash),
            renewed: renewed.then_some(fresh),
        }))
    }

    async fn login(
        &self,
        login_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(Login, Viewer)>, StoreError> {
        let Some(known) = self.store.login(login_hash).await? else { return Ok(None) };
        let too_late = known.replaced_at.is_some_and(|at| now - at > REPLACED_LOGIN_LIFETIME);
        if known.expires_at <= now || too_late {
            return Ok(None);
        }
        let viewer = self.viewer(known.user_id.clone()).await?;
        Ok(viewer.map(|viewer| (known, viewer)))
    }

    pub async fn log_out(&self, login: &str) -> Result<(), StoreError> {
        self.store.log_out(&hash(login)).await
    }

    /// Ends all browser logins of this user. API tokens stay valid.
    pub async fn log_out_everywhere(&self, user: &UserId) -> Result<(), StoreError> {
        self.store.log_out_everywhere(user).await
    }

    /// Verifies an API token: the viewer is the user who created it.
    pub async fn verify_token(
        &self,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(Viewer, Credential)>, StoreError> {
        if !token.starts_with(TOKEN_PREFIX) {
            return Ok(None);
        }
        let token_hash = hash(token);
        let Some((known, viewer)) = self.token(&token_hash, now).await? else { return Ok(None) };
        if known.last_used_at.is_none_or(|at| now - at >= TOKEN_USE_INTERVAL) {
            self.store.record_token_use(known.token_id, now).await?;
        }
        Ok(Some((viewer, Credential::Token(token_hash))))
    }

    async fn token(
        &self,
        token_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(ApiToken, Viewer)>, StoreError> {
        let Some(known) = self.store.api_token(token_hash).await? else { return Ok(None) };
        if known.expires_at.is_some_and(|at| at <= now) {
            return Ok(None);
        }
        let viewer = self.viewer(known.user_id.clone()).await?;
        Ok(viewer.map(|viewer| (known, viewer)))
    }

    /// Whether the credential is still valid: a login may end, and a token expire or be revoked, while a request runs.
    pub async fn is_still_valid(
        &self,
        credential: &Credential,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        Ok(match credential {
            Credential::Local => true,
            Credential::Login(login_hash) => self.login(login_hash, now).await?.is_some(),
            Credential::Token(token_hash) => self.token(token_hash, now).await?.is_some(),
        })
    }

    /// Creates an API token and returns its secret, which is never shown again. None if the user has too many. Without
    /// a lifetime, the token is valid until it is revoked.
    pub async fn create_token(
        &self,
        user: &UserId,
        name: &str,
        lifetime: Option<TimeDelta>,
        now: DateTime<Utc>,
    ) -> Result<Option<(ApiToken, String)>, StoreError> {
        let token_secret = format!("{TOKEN_PREFIX}{}", new_secret());
        let token = ApiToken {
            token_id: TokenId::new(),
            user_id: user.clone(),
            name: name.to_owned(),
            created_at: now,
            last_used_at: None,
            expires_at: lifetime.map(|lifetime| now + lifetime),
        };
        let added = self.store.add_api_token(&token, &hash(&token_secret), MAX_TOKENS_PER_USER).await?;
        Ok(added.then_some((token, token_secret)))
    }

    /// Checks the signature and the expiry in the token. Whether it was used, only the store knows.
    async fn is_signed(&self, token: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return Ok(false) };
        let Some((mac, claim)) = bytes.split_at_checked(MAC_BYTES) else { return Ok(false) };
        // A comparison in constant time.
        if self.mac(claim).await?.verify_slice(mac).is_err() {
            return Ok(false);
        }
        let claim = String::from_utf8_lossy(claim);
        let expires: Option<i64> = claim.split(':').nth(1).and_then(|at| at.parse().ok());
        Ok(expires.is_some_and(|at| at > now.timestamp()))
    }

    async fn mac(&self, claim: &[u8]) -> Result<Hmac<Sha256>, StoreError> {
        let key = self
            .key
            .get_or_try_init(|| async { self.store.ensure_web_key(LINK_KEY, &new_secret()).await })
            .await?;
        // A key of SHA-256's block size: a constructor that cannot fail takes it.
        let mut block = [0; SHA256_BLOCK_BYTES];
        block[..MAC_BYTES].copy_from_slice(&Sha256::digest(key));
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(claim);
        Ok(mac)
    }
}

/// 256 random bits.
fn new_secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>())
}

/// The stored form of a secret. The secret is long and random, so a fast hash is enough. A lookup by hash leaks nothing
/// about the secret through its timing.
fn hash(secret: &str) -> String {
    Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> UserId {
        UserId("100".into())
    }

    async fn logins(folder: &std::path::Path, allowed: &[UserId]) -> Logins {
        let store = Store::open(&format!("sqlite://{}", folder.join("test.db").display())).await.unwrap();
        let access = Access::open(store.clone(), allowed.iter().cloned(), false).await.unwrap();
        let way = PageAccess::Login("https://photos.example.org".into());
        Logins::new(store, Arc::new(access), way, [UserId("300".into())])
    }

    async fn token(logins: &Logins, now: DateTime<Utc>) -> String {
        let link = logins.create_link(&ann(), now).await.unwrap().unwrap();
        link.strip_prefix("https://photos.example.org/login/").unwrap().to_owned()
    }

    #[tokio::test]
    async fn links_work_once_within_five_minutes() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let link = token(&logins, now).await;
        let later = |seconds| now + TimeDelta::seconds(seconds);
        assert!(logins.link_is_valid(&link, later(290)).await.unwrap());
        assert!(!logins.link_is_valid(&link, later(300)).await.unwrap());
        assert_eq!(logins.log_in(&link, later(301)).await.unwrap(), None);
        assert!(logins.log_in(&link, later(290)).await.unwrap().is_some());
        assert_eq!(logins.log_in(&link, later(291)).await.unwrap(), None);
        assert!(!logins.link_is_valid(&link, later(291)).await.unwrap());
    }

    #[tokio::test]
    async fn unsigned_links_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let link = token(&logins, now).await;
        let mut bytes = URL_SAFE_NO_PAD.decode(&link).unwrap();
        bytes[MAC_BYTES + 1] ^= 1;
        let forged = URL_SAFE_NO_PAD.encode(&bytes);
        // Even one that is stored: the signature decides first.
        let stored = LoginLink { link_hash: hash(&forged), user_id: ann(), expires_at: now + LINK_LIFETIME };
        logins.store.add_login_link(&stored).await.unwrap();
        for wrong in [forged.as_str(), "", "%", "AAAA", &link[..link.len() - 2], &link.to_uppercase()] {
            assert!(!logins.link_is_valid(wrong, now).await.unwrap(), "{wrong}");
            assert_eq!(logins.log_in(wrong, now).await.unwrap(), None, "{wrong}");
        }
        assert!(logins.link_is_valid(&link, now).await.unwrap(), "the right one still works");
    }

    #[tokio::test]
    async fn logins_are_renewed_daily_and_the_old_one_lasts_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), &[ann()]).await;
        let start = Utc::now();
        let login = logins.log_in(&token(&logins, start).await, start).await.unwrap().unwrap();
        let at = |hours: i64| start + TimeDelta::hours(hours);
        assert_eq!(logins.verify_login(&login, at(23)).await.unwrap().unwrap().renewed, None);
        let fresh = logins.verify_login(&login, at(24)).await.unwrap().unwrap().renewed.expect("a new one");
        let again = logins.verify_login(&login, at(24) + TimeDelta::seconds(30)).await.unwrap().unwrap();
        assert_eq!((again.viewer.user, again.renewed), (ann(), None), "requests under way go on");
        assert_eq!(logins.verify_login(&login, at(24) + TimeDelta::seconds(61)).await.unwrap(), None);
        assert!(logins.verify_login(&fresh, at(24) + TimeDelta::days(29)).await.unwrap().is_some());
        let last = logins.verify_login(&fresh, at(25) + TimeDelta::days(30)).await.unwrap();
        assert_eq!(last, None, "the 29th day gave a newer one; and nothing lasts longer than a month");
    }

    #[tokio::test]
    async fn credentials_of_removed_users_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let before = logins(folder.path(), &[ann()]).await;
        let now = Utc::now();
        let login = before.log_in(&token(&before, now).await, now).await.unwrap().unwrap();
        let (_, shown) = before.create_token(&ann(), "script", None, now).await.unwrap().unwrap();
        assert_eq!(before.verify_token(&shown, now).await.unwrap().unwrap().0.standing, Standing::Member);
        let link = token(&before, now).await;

        let after = logins(folder.path(), &[UserId("200".into())]).await;
        assert_eq!(after.verify_login(&login, now).await.unwrap(), None);
        assert_eq!(after.verify_token(&shown, now).await.unwrap(), None);
        assert_eq!(after.log_in(&link, now).await.unwrap(), None);
    }

    #[tokio::test]
    async fn tokens_are_valid_until_they_expire() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), &[ann()]).await;
        let start = Utc::now();
        let (token, shown) =
            logins.create_token(&ann(), "script", Some(TimeDelta::days(7)), start).await.unwrap().unwrap();
        assert_eq!(token.expires_at, Some(start + TimeDelta::days(7)));
        let nearly = start + TimeDelta::days(7) - TimeDelta::seconds(1);
        let (_, credential) = logins.verify_token(&shown, nearly).await.unwrap().expect("still valid");
        assert!(logins.is_still_valid(&credential, nearly).await.unwrap());
        let over = start + TimeDelta::days(7);
        assert_eq!(logins.verify_token(&shown, over).await.unwrap(), None);
        assert!(!logins.is_still_valid(&credential, over).await.unwrap(), "a running stream ends, too");
        let (_, shown) = logins.create_token(&ann(), "for good", None, start).await.unwrap().unwrap();
        assert!(logins.verify_token(&shown, start + TimeDelta::days(36_500)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn admins_are_recognised_and_the_local_user_cannot_log_in() {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&format!("sqlite://{}", folder.path().join("test.db").display())).await.unwrap();
        let access = Arc::new(Access::open(store.clone(), [], true).await.unwrap());
        let logins = Logins::new(store, access, PageAccess::Login("http://x".into()), [UserId("300".into())]);
        let now = Utc::now();
        for (user, standing) in
            [("300", Some(Standing::Admin)), ("100", Some(Standing::Member)), ("local", None)]
        {
            let (_, shown) =
                logins.create_token(&UserId(user.into()), "t", None, now).await.unwrap().unwrap();
            let viewer = logins.verify_token(&shown, now).await.unwrap();
            assert_eq!(viewer.map(|(viewer, _)| viewer.standing), standing, "{user}");
        }
    }
}
