//! TLS 1.3 of both sides, with a certificate in the repository that is not secret.

use quinn_proto::TimeSource;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::rustls::client::Resumption;
use quinn_proto::rustls::crypto::ring::default_provider;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use quinn_proto::rustls::server::ServerSessionMemoryCache;
use quinn_proto::rustls::time_provider::TimeProvider;
use quinn_proto::rustls::version::TLS13;
use quinn_proto::rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Name in the certificate.
pub const SERVER_NAME: &str = "ackclock.invalid";
const CERTIFICATE: &[u8] = include_bytes!("../../keys/not-secret.certificate.der");
const KEY: &[u8] = include_bytes!("../../keys/not-secret.key.der");

/// A second in 2030, when the certificate is valid: the time of day in every run.
const NOW: Duration = Duration::from_secs(1_900_000_000);

/// The same time of day for ever.
#[derive(Debug)]
pub struct Fixed;

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(NOW))
    }
}

impl TimeSource for Fixed {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + NOW
    }
}

/// The configuration of clients and servers.
pub struct Tls {
    pub client: Arc<QuicClientConfig>,
    pub server: Arc<QuicServerConfig>,
}

impl Tls {
    /// Reads certificate and key.
    pub fn new() -> Result<Self, String> {
        let (client, server) = (client()?, server()?);
        Ok(Tls {
            client: Arc::new(QuicClientConfig::try_from(client).map_err(wrong)?),
            server: Arc::new(QuicServerConfig::try_from(server).map_err(wrong)?),
        })
    }
}

fn wrong(error: impl Display) -> String {
    format!("has no TLS: {error}")
}

/// A client resumes no session: a run must not depend on those before it.
fn client() -> Result<ClientConfig, String> {
    let mut trusted = RootCertStore::empty();
    trusted
        .add(CertificateDer::from(CERTIFICATE))
        .map_err(wrong)?;
    let provider = Arc::new(default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(Fixed));
    let config = config.with_protocol_versions(&[&TLS13]).map_err(wrong)?;
    let mut client = config.with_root_certificates(trusted).with_no_client_auth();
    client.resumption = Resumption::disabled();
    client.enable_early_data = true; // quinn's default
    Ok(client)
}

/// A server sends its tickets, as by default. That it forgets them changes nothing.
fn server() -> Result<ServerConfig, String> {
    let provider = Arc::new(default_provider());
    let config = ServerConfig::builder_with_details(provider, Arc::new(Fixed));
    let config = config.with_protocol_versions(&[&TLS13]).map_err(wrong)?;
    let chain = vec![CertificateDer::from(CERTIFICATE)];
    let key = PrivatePkcs8KeyDer::from(KEY).into();
    let config = config.with_no_client_auth();
    let mut server = config.with_single_cert(chain, key).map_err(wrong)?;
    server.session_storage = ServerSessionMemoryCache::new(1);
    server.max_early_data_size = u32::MAX; // quinn's default
    Ok(server)
}
