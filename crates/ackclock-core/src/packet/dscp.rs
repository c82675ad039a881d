//! The differentiated services codepoint of the IP header.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// A codepoint from 0 to 63 (RFC 2474). It is written as its name, or as a number if it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

impl Dscp {
    /// Lower effort (RFC 8622).
    pub const LE: Dscp = Dscp(1);
    /// Class selector 1, once the codepoint of lower effort (RFC 3662).
    pub const CS1: Dscp = Dscp(8);
    /// Voice admit (RFC 5865).
    pub const VA: Dscp = Dscp(44);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Dscp = Dscp(46);
    /// Class selector 6: network control (RFC 4594).
    pub const CS6: Dscp = Dscp(48);
    /// Class selector 7.
    pub const CS7: Dscp = Dscp(56);
    /// Minimal delay of the type-of-service octet that came before (RFC 1349).
    pub const TOS_DELAY: Dscp = Dscp(4);

    /// Names of codepoints (RFC 2474, 2597, 3246, 5865 and 8622).
    const NAMES: [(&'static str, Dscp); 23] = [
        ("CS0", Dscp(0)),
        ("LE", Dscp::LE),
        ("CS1", Dscp::CS1),
        ("AF11", Dscp(10)),
        ("AF12", Dscp(12)),
        ("AF13", Dscp(14)),
        ("CS2", Dscp(16)),
        ("AF21", Dscp(18)),
        ("AF22", Dscp(20)),
        ("AF23", Dscp(22)),
        ("CS3", Dscp(24)),
        ("AF31", Dscp(26)),
        ("AF32", Dscp(28)),
        ("AF33", Dscp(30)),
        ("CS4", Dscp(32)),
        ("AF41", Dscp(34)),
        ("AF42", Dscp(36)),
        ("AF43", Dscp(38)),
        ("CS5", Dscp(40)),
        ("VA", Dscp::VA),
        ("EF", Dscp::EF),
        ("CS6", Dscp::CS6),
        ("CS7", Dscp::CS7),
    ];
    const MOST: u64 = 63;

    /// Returns its six bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True for the codepoint of packets without one.
    pub fn is_default(&self) -> bool {
        *self == Dscp::default()
    }

    fn parse(value: &Value) -> Option<Dscp> {
        let number = match value {
            Value::String(text) => {
                let named = |(name, _): &&(&str, Dscp)| name.eq_ignore_ascii_case(text.trim());
                if let Some((_, codepoint)) = Dscp::NAMES.iter().find(named) {
                    return Some(*codepoint);
                }
                text.trim().parse().ok()
            }
            other => other.as_u64(),
        };
        let number = number.filter(|number| *number <= Dscp::MOST)?;
        u8::try_from(number).ok().map(Dscp)
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Dscp::NAMES.iter().find(|(_, codepoint)| codepoint == self) {
            Some((name, _)) => serializer.serialize_str(name),
            None => serializer.serialize_u8(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Dscp::parse(&value).ok_or_else(|| {
            D::Error::custom(format!(
                "{value} is not a codepoint; choose a name, for example \"EF\", or a number from 0 \
                 to {}",
                Dscp::MOST
            ))
        })
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Dscp::NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "description": "A differentiated services codepoint: its name, or a number.",
            "examples": ["CS1", "EF"],
            "anyOf": [
                { "enum": names },
                { "type": "integer", "minimum": 0, "maximum": Dscp::MOST },
                { "type": "string", "pattern": r"^\s*[0-9A-Za-z]+\s*$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn codepoints_are_read_by_name_and_by_number() {
        let read = |value: Value| serde_json::from_value::<Dscp>(value).map_err(|e| e.to_string());
        for (value, codepoint) in [
            (json!("EF"), Dscp::EF),
            (json!("ef"), Dscp::EF),
            (json!(46), Dscp::EF),
            (json!("46"), Dscp::EF),
            (json!(63), Dscp(63)),
        ] {
            assert_eq!(read(value), Ok(codepoint));
        }
        for wrong in [json!("XY"), json!(64), json!(-1), json!(1.5), json!(null)] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
        let written = [Dscp::EF, Dscp(63)].map(|codepoint| json!(codepoint));
        assert_eq!(written, [json!("EF"), json!(63)]);
    }
}
