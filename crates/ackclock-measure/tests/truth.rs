mod common;
use common::*;

#[test]
fn look() {
    for preset in ["ns2-2002", "rfc", "linux"] {
        for recovery in ["reno", "newreno", "sack"] {
            for loss in ["0 %", "0.5 %", "2 %", "10 %"] {
                let impairment =
                    format!("hops.forth.impairments=[{{ kind = \"iid_loss\", probability = \"{loss}\" }}]");
                let p = format!("flows.one.transport.preset=\"{preset}\"");
                let r = format!("flows.one.transport.recovery=\"{recovery}\"");
                let mut a = vec![impairment.as_str(), &p, &r];
                if recovery != "sack" && preset != "ns2-2002" {
                    a.push("flows.one.transport.after_timeout=\"go_back_n\"");
                }
                let scenario = scenario(PIPE, &a);
                for rep in 0..12 {
                    let ran = run(&scenario, rep);
                    let m = measure(&ran, &ran.at_senders);
                    let t = |name: &str| numbers(&ran.tables, "flows", name)[0];
                    let f = |name: &str| numbers(&m, "flows", name)[0];
                    let c = |name: &str| of(&m, "one", name);
                    let mss = if preset == "ns2-2002" {
                        1000.0
                    } else {
                        c("mss_bytes")
                    };
                    let acked = c("acknowledged_bytes") / mss;
                    let lost = ran.lost[0].iter().filter(|s| (**s as f64) < acked).count();
                    let bad = t("timeouts") != f("timeouts")
                        || t("fast_retransmits") != f("fast_retransmits")
                        || c("losses_lower") > lost as f64
                        || c("losses_upper") < lost as f64
                        || (t("rtt_mean_s") - f("rtt_mean_s")).abs() > 1e-5 && preset != "ns2-2002";
                    if bad {
                        println!(
                            "{rep} {preset} {recovery} {loss}: sent {} {} rtx {} {} deliv {} {} | fast {} {} to {} {} | rttmean {:.6} {:.6} ts {:.6} min {:.6} {:.6} | class f{} t{} a{} p{} u{} spur {} | lost {} [{} {} {}] | {} {:.2} {} out {:.0}/{}",
                            t("sent_packets"),
                            f("sent_packets"),
                            t("retransmitted_packets"),
                            f("retransmitted_packets"),
                            t("delivered_bytes"),
                            f("delivered_bytes"),
                            t("fast_retransmits"),
                            f("fast_retransmits"),
                            t("timeouts"),
                            f("timeouts"),
                            t("rtt_mean_s"),
                            f("rtt_mean_s"),
                            c("timestamp_rtt_mean_s"),
                            t("rtt_min_s"),
                            f("rtt_min_s"),
                            c("retransmissions_fast"),
                            c("retransmissions_timeout"),
                            c("retransmissions_after_timeout"),
                            c("retransmissions_tail_probe"),
                            c("retransmissions_unclear"),
                            c("retransmissions_spurious"),
                            lost,
                            c("losses_lower"),
                            c("losses_estimate"),
                            c("losses_upper"),
                            word_of(&m, "one", "limit"),
                            c("limit_share"),
                            word_of(&m, "one", "vantage"),
                            c("outstanding_mean_bytes"),
                            c("outstanding_max_bytes")
                        );
                    }
                }
            }
        }
    }
}
