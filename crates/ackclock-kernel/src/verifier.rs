//! The verifier's text, of thousands of lines, as one sentence with the source line.

/// The verifier's reason against a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// File and line of the source, and its text, if the object has them.
    pub line: Option<String>,
    /// The verifier's sentence.
    pub sentence: String,
}

/// libbpf's words for a field that the kernel does not have.
const NO_FIELD: &str = "failed to resolve CO-RE relocation";

/// Finds the complaint in the verifier's text. None if the verifier said nothing.
pub fn complaint(log: &str) -> Option<Complaint> {
    if log.trim().is_empty() {
        return None;
    }
    let mut sentence = None;
    let mut read = 0;
    for line in log.split_inclusive('\n') {
        read += line.len();
        let line = line.trim();
        if line.starts_with(NO_FIELD) {
            sentence = Some(line);
            break;
        }
        if !line.is_empty() && !line.starts_with("; ") && !is_progress(line) {
            sentence = Some(line);
        }
    }
    Some(Complaint {
        line: last_source_line(&log[..read]),
        sentence: sentence.map_or("gives no reason".into(), clear),
    })
}

/// Returns the line of the source that a text names last.
pub fn last_source_line(log: &str) -> Option<String> {
    let mut lines = log.lines().rev();
    lines
        .find_map(|line| line.trim().strip_prefix("; "))
        .map(place)
}

/// Moves the place, which the kernel writes after the text, to the front: `mine.bpf.c:31: text`.
fn place(source: &str) -> String {
    match source.rsplit_once(" @ ") {
        Some((text, at)) => {
            let file = at.rsplit('/').next().unwrap_or(at);
            format!("{file}: {}", text.trim())
        }
        None => source.into(),
    }
}

/// True for lines that tell how far the verifier has come: instructions, states of registers,
/// totals.
fn is_progress(line: &str) -> bool {
    let number = line.split([':', ' ']).next().unwrap_or_default();
    let is_instruction = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let starts = [
        "from ",
        "func#",
        "Func#",
        "caller:",
        "callee:",
        "returning ",
        "to caller",
        "mark_precise",
        "last_idx",
        "first_idx",
        "parent ",
        "regs=",
        "processed ",
        "verification time",
        "stack depth",
        "reg type ",
        "arg#",
        "R0=",
        "R1=",
        "max_states",
        "peak_states",
        "propagating",
        "frame",
        "Live regs",
        "update_stack",
        "live regs",
    ];
    is_instruction || starts.iter().any(|start| line.starts_with(start))
}

/// Returns the verifier's words, or of a missing field the field's.
fn clear(sentence: &str) -> String {
    match sentence.strip_prefix(NO_FIELD) {
        Some(rest) => {
            let field = rest
                .split("] ")
                .nth(1)
                .and_then(|named| named.split([' ', '(']).nth(1))
                .unwrap_or(rest.trim());
            format!("this kernel has no field {field}")
        }
        None => sentence.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_source_line_and_the_last_sentence_are_told() {
        let log = "0: R1=ctx() R10=fp0\n; __u32 a = 1; @ mine.bpf.c:3\n0: (b4) w1 = 1\n\
            ; state->x[i] = 1; @ src/mine.bpf.c:31\n5: (63) *(u32 *)(r0 +0) = r1\n\
            R0 unbounded memory access, make sure to bounds check any such access\n\
            processed 6 insns (limit 1000000) max_states_per_insn 0 total_states 0";
        assert_eq!(
            complaint(log),
            Some(Complaint {
                line: Some("mine.bpf.c:31: state->x[i] = 1;".into()),
                sentence: "R0 unbounded memory access, make sure to bounds check any such access"
                    .into(),
            })
        );
    }

    #[test]
    fn a_field_that_the_kernel_lacks_is_named() {
        let log = "; tp->no_such = 1; @ mine.bpf.c:9\n4: <invalid CO-RE relocation>\n\
            failed to resolve CO-RE relocation <byte_off> [12] struct tcp_sock.no_such \
            (0:3 @ offset 8)\n\
            processed 4 insns (limit 1000000)";
        let refused = complaint(log).unwrap();
        assert_eq!(
            refused.sentence,
            "this kernel has no field tcp_sock.no_such"
        );
        assert_eq!(refused.line.unwrap(), "mine.bpf.c:9: tp->no_such = 1;");
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(complaint(""), None);
        let refused = complaint("0: (95) exit").unwrap();
        assert_eq!(
            (refused.line, &*refused.sentence),
            (None, "gives no reason")
        );
    }
}
