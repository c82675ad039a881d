//! Web pages: a main object, the objects embedded in it, and a time of reading.

use super::dialogue::{Exchange, Habit, Pause, Server, Wish, check_request};
use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind};
use crate::size::Size;
use ackclock_spec::prelude::*;
use serde_json::{Value, json};

parameters! {
    /// Parameters. A client asks for the main object of a page, parses it, asks for the embedded
    /// objects, and reads the page. All objects come over the one connection of the flow.
    pub struct Pages {
        /// Size of the main object: an amount, or a distribution.
        #[schemars(schema_with = "crate::size::schema", extend("examples" = ["10 kB"]))]
        pub main_object: Value = json!({
            "kind": "lognormal", "mean": "10710 bytes", "sigma": 1.366,
            "minimum": "100 bytes", "maximum": "2 MB",
        }),
        /// Size of an embedded object: an amount, or a distribution.
        #[schemars(schema_with = "crate::size::schema", extend("examples" = ["8 kB"]))]
        pub embedded_object: Value = json!({
            "kind": "lognormal", "mean": "7758 bytes", "sigma": 2.3625,
            "minimum": "50 bytes", "maximum": "2 MB",
        }),
        /// Shape of the number of embedded objects, which is a Pareto variable less its scale.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub embedded_shape: f64 = 1.1,
        /// Scale of that variable, its smallest value.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub embedded_scale: f64 = 2.0,
        /// Bound of that variable, at which it is drawn again; the scale for no embedded objects.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub embedded_bound: f64 = 55.0,
        /// Embedded objects that the client asks for at the same time.
        #[schemars(extend("minimum" = 1))]
        pub outstanding: u32 = 1,
        /// Mean of the exponential time from the arrival of the main object to the first request
        /// for an embedded one.
        pub mean_parsing: Span = Span::from_millis(130),
        /// Mean of the exponential time from the arrival of a page to the request for the next.
        pub mean_reading: Span = Span::from_millis(30_000),
        /// Payload of a request, at most 1400 bytes.
        pub request: Bytes = Bytes(328),
        /// Number of pages after which it ends; without one it goes on.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("minimum" = 1))]
        pub pages: Option<u64> = None,
        /// The parsed sizes of main and embedded objects.
        #[serde(skip)]
        pub chosen: Option<[Size; 2]> = None,
    }
}

/// Most embedded objects of a page.
const MOST: f64 = 1e5;

impl Element<TrafficKind> for Pages {
    const NAME: &'static str = "pages";
    const LABEL: &'static str = "web pages";
    const SUMMARY: &'static str = "A client fetches web pages: a main object, the objects embedded \
        in it, then a time of reading; over TCP only.";
    const REFERENCE: &'static str = "3GPP TR 25.892 annex A.3.2.1, HTTP traffic model; numbers of \
        ns-3's three-gpp-http";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let main = Size::check("main_object", &mut self.main_object, files)?;
        let embedded = Size::check("embedded_object", &mut self.embedded_object, files)?;
        self.chosen = Some([main, embedded]);
        every([
            check_request(self.request),
            check_positive("embedded_shape", self.embedded_shape, "1.1"),
            check_positive("embedded_scale", self.embedded_scale, "2"),
            in_range(
                self.embedded_bound >= self.embedded_scale && self.embedded_bound <= MOST,
                "embedded_bound",
                &self.embedded_bound,
                "is below the scale or above 100000; for example 55",
            ),
            check_at_least_one("outstanding", self.outstanding, "1"),
            in_range(
                self.pages != Some(0),
                "pages",
                &self.pages,
                "is less than 1; for example 100, or remove it",
            ),
        ])
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts::asked_for(self.pages.is_some())
    }
}

impl Factory<TrafficKind> for Pages {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let Some([main, embedded]) = self.chosen.clone() else {
            unreachable!("the check reads the sizes");
        };
        let reader = Reader {
            parameters: self.clone(),
            main,
            embedded,
            stream: context.place.stream(),
            page: 0,
            begun: Time::ZERO,
            main_due: Time::ZERO,
            embedded_due: Time::NEVER,
            left: 0,
            under_way: 0,
        };
        Box::new(Server::new(
            Box::new(reader),
            self.request,
            Pause::NONE,
            &context,
        ))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// The habit of a client that reads pages.
#[derive(Debug)]
struct Reader {
    parameters: Pages,
    main: Size,
    embedded: Size,
    stream: Stream,
    page: u64,
    /// Time of the first request of the page.
    begun: Time,
    main_due: Time,
    /// Time from which embedded objects may be asked for.
    embedded_due: Time,
    /// Embedded objects of the page to ask for, and those asked for that have not arrived.
    left: u64,
    under_way: u32,
}

impl Reader {
    /// Draws the number of embedded objects of a page. A fraction is rounded up as often as it
    /// says, so that the mean is that of the Pareto variable.
    fn draw_number(&mut self) -> u64 {
        let Pages {
            embedded_shape: shape,
            embedded_scale: scale,
            embedded_bound: bound,
            ..
        } = self.parameters;
        let cut = libm::pow(scale / bound, shape);
        let tail = 1.0 - self.stream.uniform() * (1.0 - cut);
        let number = scale * (libm::pow(tail, -1.0 / shape) - 1.0);
        (number + self.stream.uniform()) as u64
    }

    fn end_page(&mut self, now: Time, exchange: &mut Exchange) {
        exchange.page_time = Some(now.since(self.begun));
        self.page += 1;
        if !self.has_asked_all() {
            let reading = Pause::exponential(self.parameters.mean_reading);
            self.main_due = now + reading.draw(&mut self.stream);
        }
    }
}

impl Habit for Reader {
    fn due(&self) -> Time {
        match self.left > 0 && self.under_way < self.parameters.outstanding {
            true => self.embedded_due,
            false => self.main_due,
        }
    }
    fn ask(&mut self, now: Time) -> Wish {
        let page = Some(self.page);
        if self.left > 0 {
            self.left -= 1;
            self.under_way += 1;
            let size = self.embedded.draw(&mut self.stream);
            return Wish {
                page,
                ..Wish::of("embedded_object", size)
            };
        }
        (self.begun, self.main_due) = (now, Time::NEVER);
        Wish {
            page,
            ..Wish::of("main_object", self.main.draw(&mut self.stream))
        }
    }
    fn on_answer(&mut self, now: Time, exchange: &mut Exchange) {
        if exchange.kind == "main_object" {
            self.left = self.draw_number();
            let parsing = Pause::exponential(self.parameters.mean_parsing);
            self.embedded_due = now + parsing.draw(&mut self.stream);
        } else {
            self.under_way -= 1;
            self.embedded_due = now;
        }
        if self.left == 0 && self.under_way == 0 {
            self.end_page(now, exchange);
        }
    }
    fn has_asked_all(&self) -> bool {
        self.parameters.pages == Some(self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialogue::Exchange;
    use super::super::dialogue::testing::played;
    use super::super::tests;
    use ackclock_spec::units::BitRate;
    use serde_json::{Value, json};

    fn pages(tree: Value, seed: u64, seconds: f64) -> Vec<Exchange> {
        played(tree, seed, BitRate::from_mbit_per_s(100.0), seconds)
    }
    fn sizes(exchanges: &[Exchange], kind: &str) -> Vec<f64> {
        let of_kind = exchanges.iter().filter(|object| object.kind == kind);
        of_kind
            .map(|object| object.request.response.as_f64())
            .collect()
    }
    fn mean(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        (mean, (squares.sum::<f64>() / n / n).sqrt())
    }

    /// The bounds, at which sizes are drawn again, move the means from 10,710 and 7,758 bytes to
    /// 10,733 and 8,212.
    #[test]
    fn objects_have_their_laws() {
        let exchanges = pages(json!({ "kind": "pages" }), 1, 200_000.0);
        for (kind, low, expected) in [
            ("main_object", 100.0, 10_733.0),
            ("embedded_object", 50.0, 8212.0),
        ] {
            let sizes = sizes(&exchanges, kind);
            assert!(sizes.iter().all(|size| (low..=2e6).contains(size)));
            let (mean, error) = mean(&sizes);
            assert!(
                (mean - expected).abs() < 4.0 * error,
                "{kind}: {mean} ± {error}"
            );
        }
    }

    /// Redrawn at the bound: 4.37, and not the 5.64 of mass at the bound.
    #[test]
    fn a_page_has_4_37_embedded_objects() {
        let exchanges = pages(json!({ "kind": "pages" }), 2, 400_000.0);
        let last = exchanges.last().unwrap().page.unwrap();
        let mut numbers = vec![0.0; last as usize];
        for exchange in exchanges
            .iter()
            .filter(|object| object.kind == "embedded_object")
        {
            if exchange.page < Some(last) {
                numbers[exchange.page.unwrap() as usize] += 1.0;
            }
        }
        let (mean, error) = mean(&numbers);
        assert!(
            (mean - 4.3725).abs() < 4.0 * error && error < 0.1,
            "{mean} ± {error}"
        );
        assert!(numbers.iter().all(|number| *number <= 53.0));
    }

    #[test]
    fn pages_are_read_and_parsed() {
        let exchanges = pages(json!({ "kind": "pages" }), 3, 400_000.0);
        let (mut reading, mut parsing) = (Vec::new(), Vec::new());
        for two in exchanges.windows(2) {
            let Some(answered) = two[0].answered else {
                continue;
            };
            let wait = two[1].asked.since(answered).as_seconds();
            match (two[0].page_time, two[0].kind) {
                (Some(_), _) => reading.push(wait),
                (None, "main_object") => parsing.push(wait),
                (None, _) => assert_eq!(wait, 0.0, "the next object is asked for at once"),
            }
        }
        let ((reading, error), (parsing, parsing_error)) = (mean(&reading), mean(&parsing));
        assert!((reading - 30.0).abs() < 4.0 * error, "{reading}");
        assert!((parsing - 0.130).abs() < 4.0 * parsing_error, "{parsing}");
    }

    #[test]
    fn a_page_lasts_to_its_last_object() {
        for outstanding in [1, 6] {
            let tree = json!({ "kind": "pages", "pages": 20, "outstanding": outstanding });
            let exchanges = pages(tree, 4, 1e5);
            let times = exchanges.iter().filter_map(|object| object.page_time);
            assert_eq!(times.count(), 20);
            for number in 0..20 {
                let page = exchanges
                    .iter()
                    .filter(|object| object.page == Some(number));
                let page: Vec<&Exchange> = page.collect();
                let time = page.last().unwrap().page_time.unwrap();
                let last = page
                    .iter()
                    .map(|object| object.answered.unwrap())
                    .max()
                    .unwrap();
                assert_eq!(page[0].asked + time, last);
                assert_eq!(page[0].kind, "main_object");
            }
        }
    }

    #[test]
    fn a_page_may_be_one_object() {
        let tree = json!({
            "kind": "pages", "main_object": "1 kB", "embedded_bound": 2.0, "pages": 5
        });
        let exchanges = pages(tree, 5, 1e4);
        assert_eq!(exchanges.len(), 5);
        assert!(exchanges.iter().all(|object| object.page_time.is_some()));
    }

    #[test]
    fn degenerate_pages_are_refused() {
        let refused = |field: &str, value: Value| {
            let mut tree = json!({ "kind": "pages" });
            tree[field] = value;
            tests::choose(tree).unwrap_err().key()
        };
        assert_eq!(
            refused("embedded_bound", json!(1.0)),
            "out-of-range embedded_bound"
        );
        assert_eq!(
            refused("embedded_shape", json!(0.0)),
            "out-of-range embedded_shape"
        );
        assert_eq!(refused("outstanding", json!(0)), "out-of-range outstanding");
        assert_eq!(refused("pages", json!(0)), "out-of-range pages");
        assert_eq!(
            refused("main_object", json!("0 bytes")),
            "out-of-range main_object"
        );
    }
}
