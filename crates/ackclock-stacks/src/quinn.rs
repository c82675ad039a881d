//! quinn-proto, the state machine of quinn, as it is: MTU discovery, pacing and controls are its
//! own, its defaults stay. Instead of one of its controls, one of the engine's can run inside it.
//!
//! It wants a wall clock and randomness. Time is that of the run, added to an instant that nobody
//! sees. Randomness comes from streams of the flow (`seeds.rs`) as far as it can be given: the keys
//! of TLS (`tls.rs`) and the offset of the cycle of its BBR cannot. Neither changes a size or a
//! time. Without encryption (`null.rs`) bytes repeat, too.
//!
//! Connections do not time out, since nobody would open them again; and the server gives no token
//! for a later connection (NEW_TOKEN), whose content would come from the system.

use crate::guard::Guarded;
use ackclock_core::congestion::ControlKind;
use ackclock_core::transport::EndpointContext;
use ackclock_core::transport::endpoint::Endpoint;
use ackclock_core::transport::quic::{Crypto, Quic};
use ackclock_core::transport::stack::Stack;
use ackclock_quinn::Control;
use ackclock_spec::error::Result;
use ackclock_spec::registry::{Selection, StreamScope};
use connection::Machine;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Endpoint as QuinnEndpoint, EndpointConfig, MtuDiscoveryConfig, QlogConfig,
    QlogStream, ServerConfig, TransportConfig, VarInt, crypto,
};
use seeds::Seeds;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use watch::{Seen, Watching};

mod connection;
mod null;
mod seeds;
mod sides;
#[cfg(test)]
mod tests;
mod tls;
mod watch;

/// The version in `Cargo.toml`.
const VERSION: &str = "quinn-proto 0.11.19";
const CONTROLS: &[&str] = &["cubic", "new_reno", "bbr"];
/// Both sides of a connection take 108 kB after the handshake with TLS (measured with 200 of them);
/// without, they take half of it.
const CONNECTION_BYTES: usize = 54_000;
/// Data that waits for a window or for an acknowledgement, in receive windows: quinn's default.
const SEND_WINDOWS: u64 = 8;

/// Returns the stack. All runs of the process share it.
pub fn stack() -> Arc<dyn Stack> {
    static STACK: LazyLock<Arc<Quinn>> = LazyLock::new(|| Arc::new(Quinn::new()));
    Arc::clone(&STACK) as Arc<dyn Stack>
}

struct Quinn {
    /// The instant that is time zero of every run.
    base: Instant,
    tls: tls::Tls,
}

impl std::fmt::Debug for Quinn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(VERSION)
    }
}

impl Quinn {
    #[expect(
        clippy::disallowed_methods,
        reason = "quinn can make no instant itself; only differences from it are used"
    )]
    fn new() -> Self {
        Quinn {
            base: Instant::now(),
            tls: tls::Tls::new().expect("the certificate in the repository is valid"),
        }
    }

    /// Opens the qlog file of a side, if one is asked for.
    fn qlog(&self, context: EndpointContext<'_>, side: &str) -> Option<QlogStream> {
        let side = format!("{}/{side}", context.place.name);
        let mut config = QlogConfig::default();
        config
            .writer(context.recording.logs?.open(&side)?)
            .title(Some(side))
            .start_time(self.base);
        config.into_stream()
    }

    fn client(&self, quic: &Quic, seeds: &mut Seeds, transport: TransportConfig) -> ClientConfig {
        let crypto: Arc<dyn crypto::ClientConfig> = match quic.crypto {
            Crypto::Tls => Arc::clone(&self.tls.client) as _,
            Crypto::Null => Arc::new(null::Null),
        };
        let mut client = ClientConfig::new(crypto);
        client
            .transport_config(Arc::new(transport))
            .token_store(Arc::new(quinn_proto::NoneTokenStore))
            .initial_dst_cid_provider(seeds.first_destination());
        client
    }

    fn server(&self, quic: &Quic, seeds: &mut Seeds, transport: TransportConfig) -> ServerConfig {
        let crypto: Arc<dyn crypto::ServerConfig> = match quic.crypto {
            Crypto::Tls => Arc::clone(&self.tls.server) as _,
            Crypto::Null => Arc::new(null::Null),
        };
        let mut server = ServerConfig::new(crypto, seeds.token_key());
        server
            .transport_config(Arc::new(transport))
            .time_source(Arc::new(tls::Fixed));
        server.validation_token.sent(0);
        server
    }

    /// Makes both sides, whose endpoints are configured as `adjust` leaves it.
    fn pair(
        &self,
        quic: &Quic,
        context: EndpointContext<'_>,
        adjust: impl Fn(&mut EndpointConfig),
    ) -> [Box<dyn Endpoint>; 2] {
        let place = context.place;
        let StreamScope { streams, name } = place;
        let seeds = |side| Seeds::new(streams.stream(&format!("{name}/{side}")));
        let machine = |mut seeds: Seeds, server| {
            let mut config = EndpointConfig::new(seeds.reset_key());
            config.rng_seed(Some(seeds.bytes()));
            config.cid_generator(seeds.connection_ids());
            adjust(&mut config);
            let allows_discovery = quic.mtu_discovery;
            let endpoint = QuinnEndpoint::new(Arc::new(config), server, allows_discovery, None);
            Machine::new(self.base, endpoint, quic)
        };
        let (seen, mut of_sender, mut of_receiver) =
            (Seen::default(), seeds("sender"), seeds("receiver"));
        let ours = quic.ours.as_ref().map(|chosen| ours(chosen, place));
        let control = control(quic, ours.as_ref(), &seen);
        let log = |side| self.qlog(context, side);
        let client = self.client(
            quic,
            &mut of_sender,
            transport(quic, control, log("sender")),
        );
        let receiving = Arc::new(NewRenoConfig::default());
        let server = self.server(
            quic,
            &mut of_receiver,
            transport(quic, receiving, log("receiver")),
        );
        let sender = sides::Sender::new(machine(of_sender, None), client, seen, ours);
        let receiver = sides::Receiver::new(machine(of_receiver, Some(Arc::new(server))));
        [
            Box::new(Guarded::new(sender)),
            Box::new(Guarded::new(receiver)),
        ]
    }
}

impl Stack for Quinn {
    fn version(&self) -> String {
        VERSION.into()
    }
    fn controls(&self) -> Vec<&str> {
        CONTROLS.to_vec()
    }
    fn check_control(&self, chosen: &Selection<ControlKind>) -> Result<()> {
        Control::chosen(chosen.clone()).map(|_| ())
    }
    fn refusal(&self, quic: &Quic) -> Option<String> {
        let option = quic.options.keys().next()?;
        Some(format!("quinn has no options, so no \"{option}\""))
    }
    fn connection_bytes(&self) -> usize {
        CONNECTION_BYTES
    }
    fn writes_qlog(&self) -> bool {
        true
    }
    fn connect(&self, quic: &Quic, context: EndpointContext<'_>) -> [Box<dyn Endpoint>; 2] {
        self.pair(quic, context, |_| ())
    }
}

/// A factory of the controls of a connection.
type Controls = Arc<dyn ControllerFactory + Send + Sync>;

/// Returns one of the engine's controls for a connection. What cannot run has been refused.
fn ours(chosen: &Selection<ControlKind>, place: StreamScope<'_>) -> Arc<Control> {
    let control = Control::chosen(chosen.clone()).expect("the check has made it");
    let name = &format!("{}/control", place.name);
    Arc::new(control.drawing_from(StreamScope { name, ..place }))
}

/// Returns the control of the sender, which is watched.
fn control(quic: &Quic, ours: Option<&Arc<Control>>, seen: &Seen) -> Controls {
    if let Some(ours) = ours {
        return Arc::new(Watching(Arc::clone(ours), seen.clone()));
    }
    match quic.own_control() {
        "new_reno" => Arc::new(Watching(Arc::new(NewRenoConfig::default()), seen.clone())),
        "bbr" => Arc::new(Watching(Arc::new(BbrConfig::default()), seen.clone())),
        _ => Arc::new(Watching(Arc::new(CubicConfig::default()), seen.clone())),
    }
}

fn transport(quic: &Quic, control: Controls, qlog: Option<QlogStream>) -> TransportConfig {
    let window = VarInt::from_u64(quic.receive_window.0).unwrap_or(VarInt::MAX);
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(None)
        .stream_receive_window(window)
        .send_window(quic.receive_window.0.saturating_mul(SEND_WINDOWS))
        .mtu_discovery_config(quic.mtu_discovery.then(MtuDiscoveryConfig::default))
        .congestion_controller_factory(control)
        .qlog_stream(qlog);
    config
}
