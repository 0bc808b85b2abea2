//! `text_enum!`: enums that are stored as a word. Each word is written once, for both directions.

/// `text_enum! { /// doc\n Colour "a colour" { Red = "red", Blue = "blue" } }` defines the enum with `as_str`, `FromStr`,
/// `Display` and serde, all with the same words.
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident $what:literal { $($(#[$about:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    other => Err(format!("{other:?} is not {}", $what)),
                }
            }
        }
    };
}
