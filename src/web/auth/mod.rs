//! Authentication of HTTP requests. `middleware` runs before every route; `identity` finds out who sent the request;
//! `login` holds the login pages; `rate_limit` slows down guessing.

mod cookie;
mod identity;
mod login;
mod middleware;
mod rate_limit;

pub use cookie::clear as cleared_cookie;
pub use identity::Identity;
pub use login::routes;
pub use middleware::authenticate;
pub use rate_limit::FailedAttempts;
