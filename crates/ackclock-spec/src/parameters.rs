//! Structs of parameters that all have defaults, each with its default beside it.

/// Defines the parameters of an element, each with its default: `pub field: Type = default,`.
///
/// A scenario may leave out any of them and may not add others.
///
/// ```
/// use ackclock_spec::prelude::*;
///
/// parameters! {
///     /// Parameters.
///     pub struct Gentle {
///         /// Share of the window that is kept after a loss or a mark.
///         pub kept: f64 = 0.75,
///     }
/// }
///
/// assert_eq!(Gentle::default().kept, 0.75);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$of_field:meta])* pub $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        $(#[$attribute])*
        pub struct $name {
            $($(#[$of_field])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
    };
}
